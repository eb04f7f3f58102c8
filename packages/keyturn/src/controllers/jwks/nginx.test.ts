// The objects that serve: what Pod Security demands, what rolls them, and what does not.
import { describe, expect, test } from "vitest";
import { nginxConfigMap, nginxDeployment, type NginxOptions, nginxService, renderNginxConfig } from "./nginx.ts";

const config = renderNginxConfig({ cacheSeconds: 3600, corsOrigins: ["*"] });
const options: NginxOptions = {
  name: { namespace: "shop", name: "site" },
  configMapName: "nginx",
  documentConfigMapName: "keys",
  documentRevision: "1",
  config,
  answers: { cacheSeconds: 3600, corsOrigins: ["*"] },
  tls: undefined,
  pods: { image: "nginx:x", replicas: 2, resources: { requests: { cpu: "50m" } } },
  owner: { apiVersion: "keyturn.io/v1alpha1", kind: "JWKSConfig", name: "site", uid: "u", controller: true },
};

describe("the Deployment", () => {
  test("is what it should be, all of it", () => {
    const { spec } = nginxDeployment(options);
    expect(spec?.template.spec).toMatchInlineSnapshot(`
      {
        "automountServiceAccountToken": false,
        "containers": [
          {
            "command": [
              "nginx",
              "-g",
              "daemon off;",
            ],
            "image": "nginx:x",
            "lifecycle": {
              "preStop": {
                "sleep": {
                  "seconds": 5,
                },
              },
            },
            "livenessProbe": {
              "httpGet": {
                "path": "/healthz",
                "port": "http",
              },
              "periodSeconds": 10,
            },
            "name": "nginx",
            "ports": [
              {
                "containerPort": 8080,
                "name": "http",
              },
            ],
            "readinessProbe": {
              "httpGet": {
                "path": "/jwks.json",
                "port": "http",
              },
              "periodSeconds": 5,
            },
            "resources": {
              "requests": {
                "cpu": "50m",
              },
            },
            "securityContext": {
              "allowPrivilegeEscalation": false,
              "capabilities": {
                "drop": [
                  "ALL",
                ],
              },
              "readOnlyRootFilesystem": true,
            },
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "volumeMounts": [
              {
                "mountPath": "/etc/nginx/conf.d",
                "name": "config",
                "readOnly": true,
              },
              {
                "mountPath": "/usr/share/nginx/html",
                "name": "document",
                "readOnly": true,
              },
              {
                "mountPath": "/tmp",
                "name": "tmp",
              },
            ],
          },
        ],
        "enableServiceLinks": false,
        "securityContext": {
          "runAsNonRoot": true,
          "seccompProfile": {
            "type": "RuntimeDefault",
          },
        },
        "topologySpreadConstraints": [
          {
            "labelSelector": {
              "matchLabels": {
                "app": "site",
                "jwks-config": "site",
              },
            },
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
          },
        ],
        "volumes": [
          {
            "configMap": {
              "name": "nginx",
            },
            "name": "config",
          },
          {
            "configMap": {
              "items": [
                {
                  "key": "jwks.json",
                  "path": "jwks.json",
                },
              ],
              "name": "keys",
            },
            "name": "document",
          },
          {
            "emptyDir": {},
            "name": "tmp",
          },
        ],
      }
    `);
  });

  test("mounts no single file: such mounts are never updated", () => {
    expect(JSON.stringify(nginxDeployment(options))).not.toContain("subPath");
  });

  test("its pods change with nginx's configuration, and with nothing about keys", () => {
    const template = (changed: Partial<NginxOptions>) => nginxDeployment({ ...options, ...changed }).spec?.template;
    expect(template({})).toEqual(template({}));
    expect(template({ config: renderNginxConfig({ cacheSeconds: 60, corsOrigins: ["*"] }) })).not.toEqual(template({}));
  });

  test("image, replicas and resources reach it", () => {
    const { spec } = nginxDeployment({ ...options, pods: { image: "other:1", replicas: 3, resources: { limits: { memory: "1Gi" } } } });
    expect(spec).toMatchObject({ replicas: 3, template: { spec: { containers: [{ image: "other:1", resources: { limits: { memory: "1Gi" } } }] } } });
  });
});

test("the Service leads to the container's port by its name", () => {
  expect(nginxService(options).spec).toEqual({
    type: "ClusterIP",
    selector: { app: "site", "jwks-config": "site" },
    ports: [{ name: "http", port: 80, targetPort: "http", protocol: "TCP" }],
  });
});

test("the ConfigMap holds the configuration", () => {
  expect(nginxConfigMap(options)).toMatchObject({ metadata: { namespace: "shop", name: "nginx" }, data: { "default.conf": config } });
});

test("browsers leave default ports out, and so do the origins that they are compared with", () => {
  const corsOrigins = ["https://a.b:443", "http://c.d:80", "https://e.f:80", "https://G.h:0443", "https://a.b"];
  const matched = renderNginxConfig({ cacheSeconds: 1, corsOrigins }).match(/"~\*[^"]*" "[^"]*"/g);
  expect(matched).toEqual([
    '"~*^https://a[.]b$" "https://a.b"',
    '"~*^http://c[.]d$" "http://c.d"',
    '"~*^https://e[.]f:80$" "https://e.f:80"',
    '"~*^https://g[.]h$" "https://g.h"',
  ]);
});

test("an origin that could break out of the configuration is refused", () => {
  const render = (origin: string) => () => renderNginxConfig({ cacheSeconds: 1, corsOrigins: [origin] });
  for (const origin of ['https://a.b";return 200 "x', "https://a.b$host", "https://a.b\nlisten 1", "https://", "javascript:1"]) {
    expect(render(origin)).toThrow("is not an origin such as https://example.com");
  }
});
