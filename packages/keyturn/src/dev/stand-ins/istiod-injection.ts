// How istiod injects a pod: whether it does at all, and the JSON patch if so.
import type { ConfigMap, Container, JsonPatchOperation, Pod, Volume } from "@keyturn/runtime";

/** The settings of a revision, as its installation has them. */
export interface ProxySettings {
  /** Empty for an installation without a revision, whose pods then say `default`. */
  readonly revision: string;
  /** Where it is installed. */
  readonly namespace: string;
  /** The registry and path of the proxy's image. */
  readonly hub: string;
  /** The version of the proxy. */
  readonly tag: string;
  /** Injects the proxy as an init container that goes on running. */
  readonly nativeSidecars: boolean;
  readonly resources: { readonly requests?: Readonly<Record<string, string>>; readonly limits?: Readonly<Record<string, string>> };
  /** More variables for the proxy, as ProxyConfig sets them. */
  readonly env: Readonly<Record<string, string>>;
}

/** As Istio installs itself when nothing is said. */
export const defaultProxySettings: ProxySettings = {
  revision: "",
  namespace: "istio-system",
  hub: "docker.io/istio",
  tag: "1.27.0",
  nativeSidecars: false,
  resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { cpu: "2", memory: "1Gi" } },
  env: {},
};

/** Who asks: the namespace of the pod, and what the path of the webhook says about its cluster. */
interface InjectionContext {
  readonly namespace: string;
  readonly settings: ProxySettings;
  readonly proxyEnv: Readonly<Record<string, string>>;
}

/** Where istiod never injects. */
const ignoredNamespaces = new Set(["kube-system", "kube-public", "kube-node-lease", "local-path-storage"]);
const injectKey = "sidecar.istio.io/inject";
const injectingValues = new Set(["", "y", "yes", "true", "on"]);
const statusKey = "sidecar.istio.io/status";
const proxyName = "istio-proxy";

/** True unless the pod has opted out or cannot be injected. The label counts before the annotation. */
export function wantsInjection({ metadata, spec }: Pod, namespace: string): boolean {
  if ((spec && "hostNetwork" in spec && spec.hostNetwork === true) || ignoredNamespaces.has(namespace)) return false;
  return injectingValues.has((metadata.labels?.[injectKey] ?? metadata.annotations?.[injectKey] ?? "").toLowerCase());
}

/** The patch that injects the pod. A pod that was injected before gets what it would have got the first time. */
export function injectionPatch(pod: Pod, { namespace, settings, proxyEnv }: InjectionContext): readonly JsonPatchOperation[] {
  const { containers = [], initContainers = [], volumes = [] } = pod.spec ?? {};
  const again = pod.metadata.annotations?.[statusKey] !== undefined;
  const own = again ? undefined : [...containers, ...initContainers].find(({ name }) => name === proxyName);
  const apps = containers.filter(({ name }) => name !== proxyName);
  const proxy = withOverrides(proxyContainer({ pod, apps, namespace, settings, proxyEnv }), own);
  const init = initContainer(settings);
  const otherInits = initContainers.filter(({ name }) => name !== proxyName && name !== init.name);
  const injectedVolumes = proxyVolumes();
  const otherVolumes = volumes.filter(({ name }) => !injectedVolumes.some((injected) => injected.name === name));
  return [
    // iptables last, so that other init containers are not cut off; before a native sidecar first, since that must run before the others.
    put("/spec/initContainers", settings.nativeSidecars ? [init, { ...proxy, restartPolicy: "Always" }, ...otherInits] : [...otherInits, init]),
    put("/spec/containers", settings.nativeSidecars ? apps : [...apps, proxy]),
    put("/spec/volumes", [...injectedVolumes, ...otherVolumes]),
    ...members("/metadata/annotations", pod.metadata.annotations, {
      "istio.io/rev": settings.revision || "default",
      "kubectl.kubernetes.io/default-container": apps[0]?.name ?? proxyName,
      "kubectl.kubernetes.io/default-logs-container": apps[0]?.name ?? proxyName,
      "prometheus.io/path": "/stats/prometheus",
      "prometheus.io/port": "15020",
      "prometheus.io/scrape": "true",
      [statusKey]: statusOf(settings, { init, volumes: injectedVolumes }),
    }),
    ...members("/metadata/labels", pod.metadata.labels, {
      "security.istio.io/tlsMode": "istio",
      "service.istio.io/canonical-name": pod.metadata.labels?.["app.kubernetes.io/name"] ?? pod.metadata.labels?.["app"] ?? "unknown",
      "service.istio.io/canonical-revision": pod.metadata.labels?.["version"] ?? "latest",
      ...(proxyEnv["ISTIO_META_NETWORK"] !== undefined && { "topology.istio.io/network": proxyEnv["ISTIO_META_NETWORK"] }),
    }),
  ];
}

/** By what a strategic merge distinguishes the entries of a container's lists. */
const mergeKeys: Readonly<Record<string, string>> = { env: "name", ports: "containerPort", volumeMounts: "mountPath" };

/** A container of that name in the template is merged over the proxy; the image `auto` stands for the injected one, and empty fields change nothing. */
function withOverrides(proxy: Container, own: Container | undefined): Container {
  const overrides = Object.entries(own ?? {}).filter(([field, value]) => !(field === "image" && value === "auto") && !isEmpty(value));
  const merged = overrides.map(([field, value]) => [field, mergedField(Reflect.get(proxy, field), value, mergeKeys[field])] as const);
  return { ...proxy, ...Object.fromEntries(merged) };
}

function mergedField(injected: unknown, own: unknown, key: string | undefined): unknown {
  if (key === undefined || !Array.isArray(injected) || !Array.isArray(own)) return own;
  const keyOf = (entry: unknown): unknown => (typeof entry === "object" && entry !== null ? Reflect.get(entry, key) : undefined);
  const taken = new Set(own.map(keyOf));
  return [...own, ...injected.filter((entry) => !taken.has(keyOf(entry)))];
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function statusOf(
  settings: ProxySettings,
  { init, volumes }: { readonly init: Container; readonly volumes: readonly { readonly name: string }[] },
): string {
  return JSON.stringify({
    initContainers: settings.nativeSidecars ? [init.name, proxyName] : [init.name],
    containers: settings.nativeSidecars ? null : [proxyName],
    volumes: volumes.map(({ name }) => name),
    imagePullSecrets: null,
    revision: settings.revision || "default",
  });
}

/** `add` replaces a member that is there. */
function put(path: string, value: unknown): JsonPatchOperation {
  return { op: "add", path, value };
}

/** Sets members one by one, so that those of others stay; or all at once where there are none. */
function members(path: string, there: object | undefined, added: Readonly<Record<string, string>>): readonly JsonPatchOperation[] {
  if (!there) return [put(path, added)];
  return Object.entries(added).map(([key, value]) => put(`${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`, value));
}

// The containers and volumes of Istio's sidecar template, with the fields that matter to those who compare sidecars.

/** What the template is filled in with. */
interface TemplateData {
  readonly pod: Pod;
  readonly apps: readonly Container[];
  readonly namespace: string;
  readonly settings: ProxySettings;
  readonly proxyEnv: Readonly<Record<string, string>>;
}

/** Containers have more fields than those that are typed. */
type AnyContainer = Container & Readonly<Record<string, unknown>>;

/** `-canary`, or nothing without a revision: how Istio ends the names of what belongs to a revision. */
export function revisionSuffix({ revision }: Pick<ProxySettings, "revision">): string {
  return revision === "" ? "" : `-${revision}`;
}

/** The image of the proxy. */
function proxyImage({ hub, tag }: ProxySettings): string {
  return `${hub}/proxyv2:${tag}`;
}

/** Sets up the redirection of the pod's traffic. */
function initContainer(settings: ProxySettings): AnyContainer {
  return {
    name: "istio-init",
    image: proxyImage(settings),
    args: ["istio-iptables", "-p", "15001", "-z", "15006", "-u", "1337", "-m", "REDIRECT", "-i", "*", "-x", "", "-b", "*", "-d", "15090,15021,15020"],
    resources: settings.resources,
    securityContext: { allowPrivilegeEscalation: false, capabilities: { add: ["NET_ADMIN", "NET_RAW"], drop: ["ALL"] }, runAsUser: 0 },
  };
}

/** The proxy itself. */
function proxyContainer({ pod, apps, namespace, settings, proxyEnv }: TemplateData): AnyContainer {
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
      { name: "workload-socket", mountPath: "/var/run/secrets/workload-spiffe-uds" },
      { name: "credential-socket", mountPath: "/var/run/secrets/credential-uds" },
      { name: "workload-certs", mountPath: "/var/run/secrets/workload-spiffe-credentials" },
      { name: "istio-ca-crl", mountPath: "/var/run/secrets/istio/crl" },
      { name: "istiod-ca-cert", mountPath: "/var/run/secrets/istio" },
      { name: "istio-data", mountPath: "/var/lib/istio/data" },
      { name: "istio-envoy", mountPath: "/etc/istio/proxy" },
      { name: "istio-token", mountPath: "/var/run/secrets/tokens" },
      { name: "istio-podinfo", mountPath: "/etc/istio/pod" },
    ],
  };
}

/** What the proxy mounts. */
function proxyVolumes(): readonly (Volume & Readonly<Record<string, unknown>>)[] {
  const fields = ["labels", "annotations"].map((field) => ({ path: field, fieldRef: { fieldPath: `metadata.${field}` } }));
  return [
    { name: "workload-socket", emptyDir: {} },
    { name: "credential-socket", emptyDir: {} },
    { name: "workload-certs", emptyDir: {} },
    { name: "istio-envoy", emptyDir: { medium: "Memory" } },
    { name: "istio-data", emptyDir: {} },
    { name: "istio-podinfo", downwardAPI: { items: fields } },
    { name: "istio-token", projected: { sources: [serviceAccountToken] } },
    { name: "istiod-ca-cert", configMap: { name: "istio-ca-root-cert" } },
    { name: "istio-ca-crl", configMap: { name: "istio-ca-crl", optional: true } },
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

// The ConfigMap that a control plane reads what it injects from.

/** The ConfigMap of a revision, as far as anybody looks at it. */
export function injectorConfigMap(settings: ProxySettings): ConfigMap {
  const { namespace, revision, hub, tag, resources, nativeSidecars, env } = settings;
  const values = {
    revision,
    global: { hub, tag, istioNamespace: namespace, proxy: { image: "proxyv2", resources } },
    pilot: { nativeSidecars, env },
  };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      namespace,
      name: `istio-sidecar-injector${revisionSuffix(settings)}`,
      labels: { "istio.io/rev": revision || "default", release: "istio" },
    },
    data: { config: "policy: enabled\n", values: JSON.stringify(values, undefined, 2) },
  };
}
