// How istiod injects a pod: whether it does at all, and the JSON patch if so.
import type { Container, JsonPatchOperation, Pod } from "@keyturn/runtime";
import { type ProxySettings } from "./proxy-settings.ts";
import { initContainer, proxyContainer, proxyVolumes } from "./proxy-template.ts";

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

/** Who asks: the namespace of the pod, and what the path of the webhook says about its cluster. */
export interface InjectionContext {
  readonly namespace: string;
  readonly settings: ProxySettings;
  readonly proxyEnv: Readonly<Record<string, string>>;
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

/** By what a strategic merge tells the entries of a container's lists apart. */
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
