// Prints all that an installation needs: `npm run --silent manifests -- IMAGE | kubectl apply --server-side -f -`.
import { crdOf, managerAccess, rbacObjects, yamlDocuments } from "@keyturn/runtime";
import { greetings } from "./controller.ts";
import { Greeting, operator } from "./greeting.ts";

const { name } = operator;
const namespace = `${name}-system`;
const labels = { "app.kubernetes.io/name": name };
const image = process.argv[2] ?? `${name}:latest`;

const { access, accessIn } = managerAccess({ operatorNamespace: namespace, controllerAccess: greetings.access });
const container = {
  name,
  image,
  env: [{ name: "POD_UID", valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } }],
  ports: [
    { name: "metrics", containerPort: 8080 },
    { name: "health", containerPort: 8081 },
  ],
  readinessProbe: { httpGet: { path: "/readyz", port: "health" } },
  livenessProbe: { httpGet: { path: "/healthz", port: "health" } },
  securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
};
const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { namespace, name, labels },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        serviceAccountName: name,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
        containers: [container],
      },
    },
  },
};

process.stdout.write(
  yamlDocuments([
    crdOf(Greeting),
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name, labels } },
    ...rbacObjects({ name, serviceAccount: { namespace, name }, access: [...greetings.access, ...access], accessIn, labels }),
    deployment,
  ]),
);
