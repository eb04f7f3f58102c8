// What of a pod is the sidecar.
import { hash } from "node:crypto";
import { canonicalJson, type Container, type DeepReadonly, LruMap, type Pod, type Volume } from "@keyturn/runtime";
import * as z from "zod";

// What istiod writes down in a pod about what it injected.

/** The annotation: JSON with the revision and the names of what was injected. */
export const statusAnnotation = "sidecar.istio.io/status";
const revisionKey = "istio.io/rev";

/** The container that Istio injects, among the containers or, as a native sidecar, among the init containers. */
const sidecarContainer = "istio-proxy";

/** Injected by every version of Istio, whatever the status says. */
const usualInitContainers = ["istio-init", "istio-validation", "enable-core-dump"];

const statusSchema = z.object({ revision: z.string().optional().catch(undefined), initContainers: z.array(z.string()).nullish().catch(undefined) });

/** True for the sidecar's container. */
export function isSidecar({ name }: DeepReadonly<Container>): boolean {
  return name === sidecarContainer;
}

/** The names of init containers that Istio injects. */
export function injectedNames(pod: DeepReadonly<Pod>): ReadonlySet<string> {
  return new Set([...usualInitContainers, ...(statusOf(pod).initContainers ?? [])]);
}

/**
 * The revision of the control plane that injected the pod; undefined if it does not say.
 * The status names the revision itself. The annotation and label may name a tag, so they count only where the status is silent, as before Istio 1.10.
 */
export function revisionOf(pod: DeepReadonly<Pod>): string | undefined {
  const { annotations = {}, labels = {} } = pod.metadata;
  return statusOf(pod).revision ?? annotations[revisionKey] ?? labels[revisionKey];
}

function statusOf({ metadata }: DeepReadonly<Pod>): z.infer<typeof statusSchema> {
  try {
    return statusSchema.parse(JSON.parse(metadata.annotations?.[statusAnnotation] ?? "{}"));
  } catch {
    // Anybody can write this annotation; one that cannot be read says nothing.
    return {};
  }
}

// References to container images, and when two of them mean the same image.

/** A reference in parts, with Docker Hub's shorthands written out. */
export interface ImageReference {
  /** With its port, such as `registry.example:5000`. */
  readonly registry: string;
  /** Such as `istio/proxyv2`. */
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

const dockerHub = "docker.io";
/** Names under which Docker Hub also goes. */
const dockerHubAliases = new Set(["docker.io", "index.docker.io", "registry-1.docker.io"]);

/**
 * Reads a reference as container runtimes do: the part before the first slash is a registry if it has a dot or a port or is `localhost`; a colon is
 * before a tag only after the last slash. Without tag and digest the tag is `latest`.
 */
export function parseImage(image: string): ImageReference {
  const [named = "", digest] = image.split("@", 2);
  const colon = named.lastIndexOf(":");
  const tagged = colon > named.lastIndexOf("/");
  const path = tagged ? named.slice(0, colon) : named;
  const tag = tagged ? named.slice(colon + 1) : digest === undefined ? "latest" : undefined;
  const [first = "", ...rest] = path.split("/");
  const hasRegistry = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  const registry = hasRegistry && !dockerHubAliases.has(first) ? first : dockerHub;
  const repository = hasRegistry ? rest.join("/") : path;
  return { registry, repository: registry === dockerHub && !repository.includes("/") ? `library/${repository}` : repository, tag, digest };
}

/** In templates of gateways: whatever istiod injects. It stays there if istiod does not. */
const injectedImage = "auto";

/** The grammar of https://github.com/distribution/reference/blob/v0.6.0/regexp.go, part by part. */
const registryForm = /^(?:[\w.-]+|\[[0-9A-Fa-f:]+\])(?::\d+)?$/;
const nameForm = /^[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*$/;
const tagForm = /^\w[\w.-]{0,127}$/;
const digestForm = /^[A-Za-z][\w+.-]*:[0-9A-Fa-f]{32,}$/;

/** True if a node can be told to run it: a reference to an image, and not one that injection was to replace. */
export function isRunnableImage(image: string): boolean {
  if (image === injectedImage) return false;
  const { registry, repository, tag, digest } = parseImage(image);
  return (
    registryForm.test(registry) &&
    repository.split("/").every((name) => nameForm.test(name)) &&
    (tag === undefined || tagForm.test(tag)) &&
    (digest === undefined || digestForm.test(digest))
  );
}

/**
 * True if both mean the same image: by the digest if they have one, otherwise by the tag.
 * Without `compareHub` only the last part of the repository counts, so that a mirror of the same image is the same.
 */
export function sameImage(left: string, right: string, { compareHub }: { readonly compareHub: boolean }): boolean {
  if (left === right) return true;
  const [one, other] = [parseImage(left), parseImage(right)];
  const sameName = compareHub ? one.registry === other.registry && one.repository === other.repository : lastPart(one) === lastPart(other);
  return sameName && one.digest === other.digest && (one.digest !== undefined || one.tag === other.tag);
}

function lastPart({ repository }: ImageReference): string {
  return repository.slice(repository.lastIndexOf("/") + 1);
}

// The parts of an injected sidecar besides its image and revision, each as a digest: equal digests, equal parts.

/** What is told apart, in words for people. */
export const sidecarParts = ["resources", "env", "volumes", "init containers", "settings"] as const;
export type SidecarPart = (typeof sidecarParts)[number];

/** The digests of a pod's sidecar. What the API server fills in and what ServiceAccount tokens add make no difference. */
export function digestParts(pod: DeepReadonly<Pod>): Parts {
  const pieces = piecesOf(pod);
  // Taking digests is slow next to reading pods, and nearly all pods of a cluster have one of a few sidecars. The volume with the token has a name of its own in each pod.
  const id = hash("sha256", JSON.stringify(pieces).replaceAll(/"kube-api-access-[^"]*"/g, '""'));
  const parts = known.get(id) ?? digestPieces(pieces);
  known.set(id, parts);
  return parts;
}

type Parts = Readonly<Record<SidecarPart, string>>;
const known = new LruMap<string, Parts>(2000);

/** What Istio has injected. */
interface Pieces {
  readonly sidecar: DeepReadonly<Container> | undefined;
  readonly initContainers: readonly DeepReadonly<Container>[];
  /** Those that the sidecar mounts. */
  readonly volumes: readonly DeepReadonly<Volume>[];
}

function piecesOf(pod: DeepReadonly<Pod>): Pieces {
  const { containers = [], initContainers = [], volumes = [] } = pod.spec ?? {};
  const sidecar = containers.find(isSidecar) ?? initContainers.find(isSidecar);
  const mounted = new Set(sidecar?.volumeMounts?.filter(isNoToken).map(({ name }) => name));
  const injected = injectedNames(pod);
  return {
    sidecar,
    initContainers: initContainers.filter((container) => injected.has(container.name) && !isSidecar(container)),
    volumes: volumes.filter(({ name }) => mounted.has(name)),
  };
}

function digestPieces({ sidecar, initContainers, volumes }: Pieces): Parts {
  const { resources, env, envFrom, mounts, name: _name, image: _image, ...settings } = plain(sidecar);
  return {
    resources: digest(resources),
    env: digest({ env, envFrom }),
    volumes: digest({ mounts, volumes: sorted(volumes.map(withoutDefaults)) }),
    "init containers": digest(initContainers.map(plain)),
    settings: digest(settings),
  };
}

/** Where every container gets its ServiceAccount's token. */
const tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * The values that the API server fills in for fields that are left out, in containers and volumes
 * (https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/v1/defaults.go). No two of those fields share a name with another meaning.
 */
const defaults: Readonly<Record<string, unknown>> = {
  apiVersion: "v1",
  defaultMode: 0o644,
  expirationSeconds: 3600,
  failureThreshold: 3,
  periodSeconds: 10,
  protocol: "TCP",
  readOnly: false,
  scheme: "HTTP",
  successThreshold: 1,
  terminationMessagePath: "/dev/termination-log",
  terminationMessagePolicy: "File",
  timeoutSeconds: 1,
};

/** The value without defaults and without what is empty, at any depth. Empty and absent are the same to the API server. */
function withoutDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDefaults);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([key, member]) => [key, withoutDefaults(member)] as const);
  return Object.fromEntries(members.filter(([key, member]) => !isEmpty(member) && member !== defaults[key]));
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

function isNoToken({ mountPath }: { readonly mountPath: string }): boolean {
  return mountPath !== tokenPath;
}

/** A container's fields, in one form. Its pull policy has a default that depends on the tag. */
function plain(container: DeepReadonly<Container> | undefined): Readonly<Record<string, unknown>> {
  const usual = parseImage(container?.image ?? "").tag === "latest" ? "Always" : "IfNotPresent";
  const { imagePullPolicy, resources, volumeMounts: _mounts, ...rest }: Readonly<Record<string, unknown>> = { ...container };
  return {
    ...Object(withoutDefaults(rest)),
    resources: withRequests(resources),
    mounts: sorted((container?.volumeMounts ?? []).filter(isNoToken).map(withoutDefaults)),
    ...(imagePullPolicy !== undefined && imagePullPolicy !== usual && { imagePullPolicy }),
  };
}

/** A limit without a request is a request of the same size. Quantities are written in one way. */
function withRequests(resources: unknown): object {
  const limits = quantitiesIn(memberOf(resources, "limits"));
  return { limits, requests: { ...limits, ...quantitiesIn(memberOf(resources, "requests")) } };
}

function quantitiesIn(list: unknown): Readonly<Record<string, number | string>> {
  if (typeof list !== "object" || list === null) return {};
  return Object.fromEntries(Object.entries(list).map(([name, quantity]) => [name, quantityOf(String(quantity))]));
}

const decimal = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"].map((suffix, index) => [suffix, 10 ** (3 * (index - 3))] as const);
const binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].map((suffix, index) => [suffix, 2 ** (10 * (index + 1))] as const);
const factors: ReadonlyMap<string, number> = new Map([...decimal, ...binary]);

/** `1000m` and `1` are the same; what is no quantity is left as it is. */
function quantityOf(text: string): number | string {
  const [, digits = "", suffix = ""] = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([A-Za-z]*)$/.exec(text) ?? [];
  const value = Number(digits) * (factors.get(suffix) ?? NaN);
  return digits === "" || Number.isNaN(value) ? text : Number(value.toPrecision(12));
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** In an order that does not depend on who put what in first. */
function sorted(values: readonly unknown[]): readonly string[] {
  return values.map(canonicalJson).sort();
}

function digest(value: unknown): string {
  return hash("sha256", canonicalJson(value)).slice(0, 16);
}

// What is known of a pod's sidecar: little enough to be kept for every pod of a cluster.

/** The sidecar of a pod, live or expected. */
export interface Sidecar {
  readonly image: string;
  /** The revision of the control plane that injected it; undefined if the pod does not say. */
  readonly revision: string | undefined;
  /** Digests of everything else about it; undefined if only the image and revision are compared. */
  readonly parts: Readonly<Record<SidecarPart, string>> | undefined;
}

/** The pods of a workload have equal sidecars, and mostly all pods of a cluster do: one object serves them all. */
const knownSidecar = new LruMap<string, Sidecar>(5000);

/** The sidecar, or undefined if the pod has none. `whole` also takes digests of its parts. Equal sidecars are mostly the same object. */
export function sidecarOf(pod: DeepReadonly<Pod>, { whole }: { readonly whole: boolean }): Sidecar | undefined {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const container = containers.find(isSidecar) ?? initContainers.find(isSidecar);
  if (!container) return undefined;
  const sidecar = { image: container.image ?? "", revision: revisionOf(pod), parts: whole ? digestParts(pod) : undefined };
  const id = sidecarDigest(sidecar);
  const same = knownSidecar.get(id) ?? sidecar;
  knownSidecar.set(id, same);
  return same;
}

/** A short name for a sidecar, or for having none: the same for equal ones, also in another process. */
export function sidecarDigest(sidecar: Sidecar | undefined): string {
  return hash("sha256", canonicalJson(sidecar ?? null)).slice(0, 16);
}
