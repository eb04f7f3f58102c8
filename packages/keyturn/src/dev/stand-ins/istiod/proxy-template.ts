// The containers and volumes of Istio's sidecar template, with the fields that matter to those who compare sidecars.
import type { Container, Pod, Volume } from "@keyturn/runtime";
import { type ProxySettings, proxyImage, revisionSuffix } from "./proxy-settings.ts";

/** What the template is filled in with. */
export interface TemplateData {
  readonly pod: Pod;
  readonly apps: readonly Container[];
  readonly namespace: string;
  readonly settings: ProxySettings;
  readonly proxyEnv: Readonly<Record<string, string>>;
}

/** Containers have more fields than those that are typed. */
type AnyContainer = Container & Readonly<Record<string, unknown>>;

/** Sets up the redirection of the pod's traffic. */
export function initContainer(settings: ProxySettings): AnyContainer {
  return {
    name: "istio-init",
    image: proxyImage(settings),
    args: ["istio-iptables", "-p", "15001", "-z", "15006", "-u", "1337", "-m", "REDIRECT", "-i", "*", "-x", "", "-b", "*", "-d", "15090,15021,15020"],
    resources: settings.resources,
    securityContext: { allowPrivilegeEscalation: false, capabilities: { add: ["NET_ADMIN", "NET_RAW"], drop: ["ALL"] }, runAsUser: 0 },
  };
}

/** The proxy itself. */
export function proxyContainer({ pod, apps, namespace, settings, proxyEnv }: TemplateData): AnyContainer {
  const owner = ownerOf(pod);
  const ports = apps.flatMap((container) => container.ports ?? []);
  return {
    name: "istio-proxy",
    image: proxyImage(settings),
    args: ["proxy", "sidecar", "--domain", "$(POD_NAMESPACE).svc.cluster.local", "--proxyLogLevel=warning", "--log_output_level=default:info"],
    ports: [{ containerPort: 15090, name: "http-envoy-prom", protocol: "TCP" }],
    env: [
      { name: "PILOT_CERT_PROVIDER", value: "istiod" },
      { name: "CA_ADDR", value: `istiod${revisionSuffix(settings)}.${settings.namespace}.svc:15012` },
      { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "POD_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
      { name: "INSTANCE_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
      { name: "GOMAXPROCS", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "0" } } },
      { name: "ISTIO_META_POD_PORTS", value: JSON.stringify(ports) },
      { name: "ISTIO_META_APP_CONTAINERS", value: apps.map(({ name }) => name).join(",") },
      { name: "ISTIO_META_WORKLOAD_NAME", value: owner.name },
      { name: "ISTIO_META_OWNER", value: `kubernetes://apis/apps/v1/namespaces/${namespace}/${owner.plural}/${owner.name}` },
      ...Object.entries({ ...settings.env, ...proxyEnv }).map(([name, value]) => ({ name, value })),
    ],
    readinessProbe: { httpGet: { path: "/healthz/ready", port: 15021 }, periodSeconds: 15, timeoutSeconds: 3, failureThreshold: 4 },
    resources: settings.resources,
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, runAsGroup: 1337, runAsNonRoot: true, runAsUser: 1337 },
    volumeMounts: [
      { name: "istiod-ca-cert", mountPath: "/var/run/secrets/istio" },
      { name: "istio-data", mountPath: "/var/lib/istio/data" },
      { name: "istio-envoy", mountPath: "/etc/istio/proxy" },
      { name: "istio-token", mountPath: "/var/run/secrets/tokens" },
      { name: "istio-podinfo", mountPath: "/etc/istio/pod" },
    ],
  };
}

/** What the proxy mounts. */
export function proxyVolumes(): readonly (Volume & Readonly<Record<string, unknown>>)[] {
  const fields = ["labels", "annotations"].map((field) => ({ path: field, fieldRef: { fieldPath: `metadata.${field}` } }));
  return [
    { name: "istio-envoy", emptyDir: { medium: "Memory" } },
    { name: "istio-data", emptyDir: {} },
    { name: "istio-podinfo", downwardAPI: { items: fields } },
    { name: "istio-token", projected: { sources: [serviceAccountToken] } },
    { name: "istiod-ca-cert", configMap: { name: "istio-ca-root-cert" } },
  ];
}

const serviceAccountToken: object = { serviceAccountToken: { audience: "istio-ca", expirationSeconds: 43_200, path: "istio-token" } };

/** The workload as istiod finds it: behind a ReplicaSet whose name ends with the template's hash is a Deployment. */
function ownerOf({ metadata }: Pod): { readonly name: string; readonly plural: string } {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  const suffix = `-${metadata.labels?.["pod-template-hash"] ?? metadata.labels?.["rollouts-pod-template-hash"] ?? ""}`;
  if (!owner) return { name: metadata.name ?? metadata.generateName ?? "", plural: "pods" };
  if (owner.kind === "ReplicaSet" && owner.name.endsWith(suffix)) return { name: owner.name.slice(0, -suffix.length), plural: "deployments" };
  return { name: owner.name, plural: `${owner.kind.toLowerCase()}s` };
}
