// Random sequences of API requests, for running the same script on the simulated and on a real API server.
import type { TransportRequest } from "../../src/client/transport.ts";
import { collectionPath, defineKind, objectPath, apiVersionOf } from "../../src/client/kind.ts";
import type { Kind } from "../../src/client/kind.ts";
import type { Random } from "../../src/random.ts";

/** A custom kind with a status subresource and conditions that merge by type. */
export const widgets = defineKind({ group: "sim.keyturn.io", version: "v1", kind: "Widget", plural: "widgets", namespaced: true });
export const configMaps = defineKind({ group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
export const secrets = defineKind({ group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true });
export const leases = defineKind({ group: "coordination.k8s.io", version: "v1", kind: "Lease", plural: "leases", namespaced: true });

/** What one server told about an object the last time: its identity differs between servers, so scripts name it by role. */
export interface KnownObject {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly staleVersion: string;
}

/** A step of a script: makes its request from what the server at hand has told so far. */
export interface ScriptStep {
  readonly kind: Kind;
  readonly name: string;
  readonly title: string;
  request(known: KnownObject | undefined): TransportRequest;
}

/** Draws one of the items. */
function pick<T>(random: Random, items: readonly [T, ...T[]]): T {
  return items[Math.floor(random() * items.length)] ?? items[0];
}

const kinds: readonly [Kind, ...Kind[]] = [configMaps, configMaps, widgets, widgets, secrets, leases];

/** Asks for an answer in metadata. */
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/** A script of `length` random steps in one namespace. */
export function randomScript(random: Random, length: number, namespace: string): readonly ScriptStep[] {
  return Array.from({ length }, () => randomStep(random, namespace));
}

function randomStep(random: Random, namespace: string): ScriptStep {
  const kind = pick(random, kinds);
  const name = pick(random, ["a", "b", "c"]);
  const method = pick(random, ["create", "apply", "apply", "apply", "merge", "merge", "strategic", "json", "replace", "replace", "delete", "get"]);
  const identity = pick(random, ["none", "none", "none", "uid", "wrong uid", "version", "stale version", "no version"]);
  const subresource = kind === widgets && method !== "json" && random() < 0.4 ? "status" : undefined;
  const dryRun = random() < 0.08 ? "&dryRun=All" : "";
  const manager = pick(random, ["alpha", "beta"]);
  const force = random() < 0.5 ? "&force=true" : "";
  const content = subresource === "status" ? { status: randomStatus(random) } : randomContent(random, kind);
  const finalizers = pick(random, [undefined, undefined, ["x.keyturn.io/one"], ["x.keyturn.io/one", "x.keyturn.io/two"], []]);
  const labels = pick(random, [undefined, undefined, { app: "x" }, { app: "y", tier: "db" }]);
  const patch = randomJsonPatch(random);
  const policy = pick(random, [undefined, undefined, "Background"]);
  const accept = pick(random, ["application/json", metadataOnly]);

  const identityOf = (known: KnownObject | undefined): object => {
    if (identity === "wrong uid") return { uid: "00000000-0000-4000-8000-000000000000" };
    // The version that no object has: an apply with it creates, or fails.
    if (identity === "no version") return method === "apply" ? { resourceVersion: "1" } : {};
    if (!known || identity === "none") return {};
    if (identity === "uid") return { uid: known.uid };
    return { resourceVersion: identity === "version" ? known.resourceVersion : known.staleVersion };
  };
  const metadataOf = (known: KnownObject | undefined): object =>
    subresource === "status" ? identityOf(known) : { ...identityOf(known), ...(finalizers && { finalizers }), ...(labels && { labels }) };
  const objectFor = (known: KnownObject | undefined): string =>
    JSON.stringify({ apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { name, namespace, ...metadataOf(known) }, ...content });
  const path = objectPath(kind, { namespace, name }, subresource);
  const query = `?fieldManager=${manager}${dryRun}`;
  const patchWith = (type: string, body: string, more = ""): TransportRequest => ({
    method: "PATCH",
    path: `${path}${query}${more}`,
    headers: { "content-type": `application/${type}`, accept },
    body,
  });
  const json = { "content-type": "application/json", accept };

  const request = (known: KnownObject | undefined): TransportRequest => {
    switch (method) {
      case "create":
        return {
          method: "POST",
          path: `${collectionPath(kind, namespace)}${query}`,
          headers: json,
          body: objectFor(identity.includes("version") ? undefined : known),
        };
      case "apply":
        return patchWith("apply-patch+yaml", objectFor(known), force);
      case "merge":
        return patchWith("merge-patch+json", JSON.stringify({ metadata: metadataOf(known), ...content }));
      case "strategic":
        return patchWith("strategic-merge-patch+json", JSON.stringify({ metadata: { ...identityOf(known), labels }, ...content }));
      case "json":
        return patchWith("json-patch+json", JSON.stringify(patch));
      case "replace":
        return { method: "PUT", path: `${path}${query}`, headers: json, body: objectFor(known) };
      case "delete": {
        const body = JSON.stringify({ preconditions: identityOf(known), ...(policy && { propagationPolicy: policy }) });
        return { method: "DELETE", path: objectPath(kind, { namespace, name }) + (dryRun && "?dryRun=All"), headers: json, body };
      }
      default:
        return { method: "GET", path: objectPath(kind, { namespace, name }), headers: json };
    }
  };
  return { kind, name, title: `${method} ${subresource ?? ""} ${kind.plural}/${name} as ${manager} with ${identity}, accepting ${accept}`, request };
}

function randomJsonPatch(random: Random): readonly object[] {
  return pick<readonly object[]>(random, [
    [{ op: "add", path: "/metadata/finalizers", value: ["x.keyturn.io/one"] }],
    [
      { op: "test", path: "/metadata/finalizers/0", value: "x.keyturn.io/one" },
      { op: "remove", path: "/metadata/finalizers/0" },
    ],
    [{ op: "remove", path: "/metadata/finalizers" }],
    [{ op: "add", path: "/metadata/finalizers/-", value: `x.keyturn.io/n${Math.floor(random() * 1e9)}` }],
    [
      { op: "test", path: "/metadata/labels/app", value: "x" },
      { op: "replace", path: "/metadata/labels/app", value: "y" },
    ],
    [{ op: "add", path: "/metadata/annotations", value: { "keyturn.io/note": "1" } }],
    [{ op: "replace", path: "/data/one", value: "Mw==" }],
  ]);
}

function randomContent(random: Random, kind: Kind): object {
  const values = (): Record<string, string> =>
    Object.fromEntries(["one", "two", "three"].filter(() => random() < 0.5).map((key) => [key, pick(random, ["MQ==", "Mg=="])]));
  if (kind === leases) {
    const holder = pick(random, ["alpha", "beta", "gamma", ""]);
    const renewTime = pick(random, ["2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:05.000001Z", "2026-01-01T00:00:05.001Z"]);
    return { spec: { holderIdentity: holder, renewTime, leaseDurationSeconds: pick(random, [15, 30, 0]) } };
  }
  if (kind !== widgets) return random() < 0.2 ? {} : { data: values() };
  const nested = { ...values(), always: "1" };
  return {
    spec: { ...values(), some: "1", ...(random() < 0.4 && { list: pick(random, [["a"], ["a", "b"]]) }), ...(random() < 0.3 && { nested }) },
    status: randomStatus(random),
  };
}

function randomStatus(random: Random): object {
  const conditions = ["Ready", "Synced"].filter(() => random() < 0.5).map((type) => randomCondition(random, type));
  return { ...(random() < 0.6 && { conditions }), count: pick(random, [1, 2]) };
}

function randomCondition(random: Random, type: string): object {
  return { type, status: pick(random, ["True", "False"]), ...(random() < 0.5 && { reason: "Because" }) };
}
