import type { Pod, Volume } from "@keyturn/runtime";
import { describe, expect, test } from "vitest";
import { digestParts, sidecarParts } from "./sidecar-parts.ts";

/** A proxy as istiod writes it. */
const proxy = {
  name: "istio-proxy",
  image: "istio/proxyv2:1.27.0",
  args: ["proxy", "sidecar"],
  env: [
    { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
    { name: "MODE", value: "a" },
  ],
  ports: [{ containerPort: 15090, name: "prom" }],
  readinessProbe: { httpGet: { path: "/healthz/ready", port: 15021 }, periodSeconds: 15 },
  resources: { limits: { cpu: "2", memory: "1Gi" }, requests: { cpu: "100m" } },
  volumeMounts: [{ name: "token", mountPath: "/var/run/secrets/tokens" }],
};
const init = { name: "istio-init", image: "istio/proxyv2:1.27.0", args: ["istio-iptables"] };
const tokenSource = (more: object = {}): object => ({ serviceAccountToken: { path: "token", audience: "istio-ca", ...more } });
const volumes: readonly Volume[] = [{ name: "token", projected: { sources: [tokenSource()] } }];

type AnyObject = Readonly<Record<string, unknown>>;

function podWith({
  proxy: proxyChange = {},
  init: initChange = {},
  volumes: otherVolumes = volumes,
}: { proxy?: AnyObject; init?: AnyObject; volumes?: readonly Volume[] } = {}): Pod {
  return {
    metadata: {},
    spec: {
      containers: [
        { name: "app", image: "app:1" },
        { ...proxy, ...proxyChange },
      ],
      initContainers: [{ ...init, ...initChange }],
      volumes: otherVolumes,
    },
  };
}

/** The same pod after the API server and the ServiceAccount plugin have had it. */
const token = { name: "kube-api-access-x1", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", readOnly: true };
const filledIn = { terminationMessagePath: "/dev/termination-log", terminationMessagePolicy: "File", imagePullPolicy: "IfNotPresent" };
const stored: Pod = podWith({
  proxy: {
    ...filledIn,
    env: [
      { name: "POD_NAME", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } },
      { name: "MODE", value: "a" },
    ],
    ports: [{ containerPort: 15090, name: "prom", protocol: "TCP" }],
    readinessProbe: {
      httpGet: { path: "/healthz/ready", port: 15021, scheme: "HTTP" },
      periodSeconds: 15,
      timeoutSeconds: 1,
      successThreshold: 1,
      failureThreshold: 3,
    },
    resources: { limits: { cpu: "2000m", memory: "1024Mi" }, requests: { cpu: "0.1", memory: "1Gi" } },
    volumeMounts: [token, ...proxy.volumeMounts],
    securityContext: {},
  },
  init: { ...filledIn, resources: {}, volumeMounts: [token] },
  volumes: [
    { name: "kube-api-access-x1", projected: { sources: [] } },
    { name: "token", projected: Object.assign({ sources: [tokenSource({ expirationSeconds: 3600 })] }, { defaultMode: 420 }) },
  ],
});

function differences(left: Pod, right: Pod): readonly string[] {
  const [one, other] = [digestParts(left), digestParts(right)];
  return sidecarParts.filter((part) => one[part] !== other[part]);
}

test("what the API server fills in, and tokens, make no difference", () => expect(differences(podWith(), stored)).toEqual([]));

describe("a difference shows in its part", () => {
  test.each<readonly [string, AnyObject]>([
    ["resources", { resources: { ...proxy.resources, requests: { cpu: "200m" } } }],
    ["resources", { resources: {} }],
    ["env", { env: [{ name: "MODE", value: "b" }] }],
    ["env", { env: [...proxy.env, { name: "MORE", value: "x" }] }],
    ["settings", { args: ["proxy", "router"] }],
    ["settings", { imagePullPolicy: "Always" }],
    ["settings", { securityContext: { runAsUser: 1 } }],
    ["settings", { readinessProbe: { ...proxy.readinessProbe, periodSeconds: 2 } }],
    ["volumes", { volumeMounts: [] }],
  ])("%s", (part, change) => expect(differences(podWith({ proxy: change }), stored)).toEqual([part]));

  test("init containers", () => {
    expect(differences(podWith({ init: { image: "istio/proxyv2:1.26.0" } }), stored)).toEqual(["init containers"]);
  });

  test("volumes that are mounted, and no others", () => {
    const other = { name: "own", projected: { sources: [] } };
    expect(differences(podWith({ volumes: [...volumes, other] }), stored)).toEqual([]);
    expect(differences(podWith({ volumes: [{ name: "token", projected: { sources: [] } }] }), stored)).toEqual(["volumes"]);
  });
});

test("the image is not a part, nor are other containers", () => {
  const other = podWith({ proxy: { image: "istio/proxyv2:2" } });
  expect(differences(other, stored)).toEqual([]);
  expect(differences({ ...other, spec: { ...other.spec, containers: other.spec?.containers.slice(1) ?? [] } }, stored)).toEqual([]);
});

test("init containers that the status names are the sidecar's too", () => {
  const annotations = { "sidecar.istio.io/status": JSON.stringify({ initContainers: ["warm-up"] }) };
  const warm = (image: string): Pod => ({ metadata: { annotations }, spec: { containers: [proxy], initContainers: [{ name: "warm-up", image }] } });
  expect(differences(warm("a"), warm("b"))).toEqual(["init containers"]);
});
