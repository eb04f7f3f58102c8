// What of a pod is the sidecar, and whether a live one is what a new pod would get.
import { hash } from "node:crypto";
import { canonicalJson, type Container, type DeepReadonly, LruMap, type Pod, type Volume } from "@keyturn/runtime";
import * as z from "zod";
import { imageToInject, isRunnableImage, parseImage, sameImage } from "./image-reference.ts";

/** The sidecar of a pod, live or expected: little enough to be kept for every pod of a cluster. */
export interface Sidecar {
  readonly image: string;
  /** The revision of the control plane that injected it; undefined if the pod does not say. */
  readonly revision: string | undefined;
  /** Digests of everything else about it; undefined if only the image and revision are compared. */
  readonly parts: Parts | undefined;
}

/** What is compared besides image and revision, in words for people. */
export const sidecarParts = ["resources", "env", "volumes", "init containers", "settings"] as const;

/** A digest for each part: equal digests, equal parts. One that is undefined is not known, and not compared. */
type Parts = Readonly<Record<(typeof sidecarParts)[number], string | undefined>>;

/** What is wrong with a live sidecar; also used for Events, metrics and docs. */
export type OutdatedReason = "SidecarMissing" | "SidecarUnwanted" | "ImageDiffers" | "RevisionDiffers" | "SidecarDiffers";

/** What came out. The message is for people and has no more than what the pod's spec says in the open. */
type SidecarComparison = { readonly type: "current" } | { readonly type: "outdated"; readonly reason: OutdatedReason; readonly message: string };

/** How strictly to compare. */
export interface ComparisonOptions {
  /** Whether images of the same name and tag in different registries differ. */
  readonly compareHub: boolean;
  /** Differences of other sorts do not count. Default: all count. */
  readonly reasons?: ReadonlySet<OutdatedReason>;
}

/** The pods of a workload have equal sidecars, and mostly all pods of a cluster do: one object serves them all. */
const knownSidecars = new LruMap<string, Sidecar>(5000);

/** The sidecar, or undefined if the pod has none. `whole` also takes digests of its parts. Equal sidecars are mostly the same object. */
export function sidecarOf(pod: DeepReadonly<Pod>, { whole }: { readonly whole: boolean }): Sidecar | undefined {
  const container = containersOf(pod).find(isSidecar);
  if (!container) return undefined;
  const sidecar = { image: container.image ?? "", revision: revisionOf(pod), parts: whole ? digestParts(pod) : undefined };
  const id = sidecarDigest(sidecar);
  const same = knownSidecars.get(id) ?? sidecar;
  knownSidecars.set(id, same);
  return same;
}

/** A short name for a sidecar, or for having none: the same for equal ones, also in another process. */
export function sidecarDigest(sidecar: Sidecar | undefined): string {
  return hash("sha256", canonicalJson(sidecar ?? null)).slice(0, 16);
}

/** The same as far as webhooks can know it: what they leave out of resources, a LimitRange fills in afterwards. */
export function withoutResources(sidecar: Sidecar | undefined): Sidecar | undefined {
  return sidecar?.parts ? { ...sidecar, parts: { ...sidecar.parts, resources: undefined } } : sidecar;
}

const current: SidecarComparison = { type: "current" };

/**
 * Compares the sidecar of a live pod with that of a pod that would be made now. Undefined stands for a pod without one.
 * Revisions are compared if both pods say theirs; parts if both were taken.
 */
export function compareSidecar(live: Sidecar | undefined, expected: Sidecar | undefined, options: ComparisonOptions): SidecarComparison {
  const counts = (reason: OutdatedReason): boolean => options.reasons?.has(reason) ?? true;
  if (!live) {
    return expected && counts("SidecarMissing") ? outdated("SidecarMissing", `has no sidecar; a new pod would get ${expected.image}`) : current;
  }
  if (!expected) return counts("SidecarUnwanted") ? outdated("SidecarUnwanted", `has the sidecar ${live.image}; a new pod would get none`) : current;
  if (counts("ImageDiffers") && !sameImage(live.image, expected.image, options)) {
    return outdated("ImageDiffers", `has the sidecar ${live.image}; a new pod would get ${expected.image}`);
  }
  if (counts("RevisionDiffers") && live.revision !== undefined && expected.revision !== undefined && live.revision !== expected.revision) {
    return outdated("RevisionDiffers", `was injected by revision ${live.revision}; a new pod would be by ${expected.revision}`);
  }
  const [liveParts, expectedParts] = [live.parts, expected.parts];
  const different =
    liveParts && expectedParts ? sidecarParts.filter((part) => expectedParts[part] !== undefined && liveParts[part] !== expectedParts[part]) : [];
  if (different.length > 0 && counts("SidecarDiffers"))
    return outdated("SidecarDiffers", `has a sidecar that differs from a new pod's in ${different.join(", ")}`);
  return current;
}

function outdated(reason: OutdatedReason, message: string): SidecarComparison {
  return { type: "outdated", reason, message };
}

/** A container of a new pod, and its image, which cannot be run. */
export interface InvalidImage {
  readonly container: string;
  readonly image: string;
}

/**
 * The first image of a new pod that cannot be run, of the sidecar or of any other container that injection has added to the draft or changed; and
 * where nobody injects, of one that waits for it. What else a template says is not injection's, and somebody else may fill it in.
 */
export function invalidImageIn(pod: DeepReadonly<Pod>, draft: DeepReadonly<Pod>): InvalidImage | undefined {
  const before = new Map(containersOf(draft).map((container) => [container.name, container]));
  const invalid = containersOf(pod).filter((container) => {
    const { name, image = "" } = container;
    if (isRunnableImage(image)) return false;
    return isSidecar(container) || image === imageToInject || canonicalJson(plain(before.get(name))) !== canonicalJson(plain(container));
  });
  const first = invalid.find(isSidecar) ?? invalid[0];
  return first && { container: first.name, image: first.image ?? "" };
}

/** Both sorts; the sidecar may be of either. */
function containersOf({ spec }: DeepReadonly<Pod>): readonly DeepReadonly<Container>[] {
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
}

// What istiod writes down in a pod about what it injected.

/** The annotation: JSON with the revision and the names of what was injected. */
const statusAnnotation = "sidecar.istio.io/status";
const revisionKey = "istio.io/rev";

/** The container that Istio injects, among the containers or, as a native sidecar, among the init containers. */
const sidecarContainer = "istio-proxy";

/** Injected by every version of Istio, whatever the status says. */
const usualInitContainers = ["istio-init", "istio-validation", "enable-core-dump"];

const statusSchema = z.object({ revision: z.string().optional().catch(undefined), initContainers: z.array(z.string()).nullish().catch(undefined) });

/** True for the sidecar's container. */
function isSidecar({ name }: DeepReadonly<Container>): boolean {
  return name === sidecarContainer;
}

/** The names of init containers that Istio injects. */
function injectedNames(pod: DeepReadonly<Pod>): ReadonlySet<string> {
  return new Set([...usualInitContainers, ...(statusOf(pod).initContainers ?? [])]);
}

/**
 * The revision of the control plane that injected the pod; undefined if it does not say.
 * The status names the revision itself. The annotation and label may name a tag, so they count only where the status is silent, as before Istio 1.10.
 */
function revisionOf(pod: DeepReadonly<Pod>): string | undefined {
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

// The parts of a sidecar.

/** The digests of a pod's sidecar. What the API server fills in and what ServiceAccount tokens add make no difference. */
export function digestParts(pod: DeepReadonly<Pod>): Parts {
  const pieces = piecesOf(pod);
  // Taking digests is slow next to reading pods, and nearly all pods of a cluster have one of a few sidecars. The volume with the token has a name of its own in each pod.
  const id = hash("sha256", JSON.stringify(pieces).replaceAll(/"kube-api-access-[^"]*"/g, '""'));
  const parts = knownParts.get(id) ?? digestPieces(pieces);
  knownParts.set(id, parts);
  return parts;
}

const knownParts = new LruMap<string, Parts>(2000);

/** What Istio has injected. */
interface Pieces {
  readonly sidecar: DeepReadonly<Container> | undefined;
  readonly initContainers: readonly DeepReadonly<Container>[];
  /** Those that the sidecar mounts. */
  readonly volumes: readonly DeepReadonly<Volume>[];
}

function piecesOf(pod: DeepReadonly<Pod>): Pieces {
  const { initContainers = [], volumes = [] } = pod.spec ?? {};
  const sidecar = containersOf(pod).find(isSidecar);
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
  const inits = initContainers.map((container) => {
    const { resources: own, ...rest } = plain(container);
    return { own, rest: { ...rest, image: withoutHub(container.image ?? "") } };
  });
  return {
    resources: digest([resources, ...inits.map(({ own }) => own)]),
    env: digest({ env, envFrom }),
    volumes: digest({ mounts, volumes: sorted(volumes.map(withoutDefaults)) }),
    // Where the sidecar's own image may come from another registry, theirs may too; one that is compared moves both.
    "init containers": digest(inits.map(({ rest }) => rest)),
    settings: digest(settings),
  };
}

function withoutHub(image: string): string {
  const { repository, tag, digest: pinned } = parseImage(image);
  return [repository.slice(repository.lastIndexOf("/") + 1), tag, pinned].join(" ");
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
