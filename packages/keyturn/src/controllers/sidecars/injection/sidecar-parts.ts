// The parts of an injected sidecar besides its image and revision, each as a digest: equal digests, equal parts.
import { hash } from "node:crypto";
import { canonicalJson, type Container, type DeepReadonly, type Pod } from "@keyturn/runtime";
import { parseImage } from "./image-reference.ts";
import { injectedNames, isSidecar } from "./injection-status.ts";

/** What is told apart, in words for people. */
export const sidecarParts = ["resources", "env", "volumes", "init containers", "settings"] as const;
export type SidecarPart = (typeof sidecarParts)[number];

/** The digests of a pod's sidecar. What the API server fills in and what ServiceAccount tokens add make no difference. */
export function digestParts(pod: DeepReadonly<Pod>): Readonly<Record<SidecarPart, string>> {
  const { containers = [], initContainers = [], volumes = [] } = pod.spec ?? {};
  const sidecar = [...containers, ...initContainers].find(isSidecar);
  const { resources, env, envFrom, volumeMounts, name: _name, image: _image, ...settings } = plain(sidecar);
  const mounts = listOf(volumeMounts).filter((mount) => memberOf(mount, "mountPath") !== tokenPath);
  const mounted = new Set(mounts.map((mount) => memberOf(mount, "name")));
  const injected = injectedNames(pod);
  return {
    resources: digest(withRequests(resources)),
    env: digest({ env, envFrom }),
    volumes: digest({ mounts: sorted(mounts), volumes: sorted(volumes.filter(({ name }) => mounted.has(name)).map(withoutDefaults)) }),
    "init containers": digest(initContainers.filter((container) => injected.has(container.name) && !isSidecar(container)).map(withoutTokens)),
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

/** A container's fields. Its pull policy has a default that depends on the tag. */
function plain(container: DeepReadonly<Container> | undefined): Readonly<Record<string, unknown>> {
  const usual = parseImage(container?.image ?? "").tag === "latest" ? "Always" : "IfNotPresent";
  const { imagePullPolicy, ...rest }: Readonly<Record<string, unknown>> = { ...container };
  return { ...Object(withoutDefaults(rest)), ...(imagePullPolicy !== undefined && imagePullPolicy !== usual && { imagePullPolicy }) };
}

function withoutTokens(container: DeepReadonly<Container>): object {
  const { volumeMounts, resources, ...rest } = plain(container);
  const mounts = listOf(volumeMounts).filter((mount) => memberOf(mount, "mountPath") !== tokenPath);
  return { ...rest, resources: withRequests(resources), mounts: sorted(mounts) };
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

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
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
