// The parts of an injected sidecar besides its image and revision, each as a digest: equal digests, equal parts.
import { hash } from "node:crypto";
import { canonicalJson, type Container, type DeepReadonly, LruMap, type Pod, type Volume } from "@keyturn/runtime";
import { parseImage } from "./image-reference.ts";
import { injectedNames, isSidecar } from "./injection-status.ts";

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
