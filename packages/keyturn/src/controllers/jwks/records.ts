// What people see of JWKSConfigs and JWKSs.
import { type CommandView, type NextStep, type ObjectRecord, type ObjectRef, shellCommand } from "@keyturn/dashboard/contract";
import {
  type Cache,
  ConfigMap,
  type DeepReadonly,
  earliest,
  findCondition,
  keyOf,
  type Kind,
  type KubeObject,
  nameOf,
  resourceOf,
  Secret,
  type Stored,
} from "@keyturn/runtime";
import {
  againAtMs,
  defined,
  earlierNext,
  factAt,
  factObject,
  factText,
  happened,
  type HealthReport,
  healthReportOf,
  inNamespace,
  laidOut,
  objectRef,
  objectReport,
  type ObjectStory,
  pauseCommands,
  readyHealth,
  type RecordBase,
  type Records,
  shortDigest,
  shownText,
  timeMs,
  unlessOverdue,
} from "../../feature/record.ts";
import { JWKS, JWKSConfig, type JwksStatus, type KeyStatus } from "./api.ts";
import { keyTracks, servedText } from "./tracks.ts";

/** An object of either kind, as far as it is shown. */
interface ShownJwks extends KubeObject {
  readonly spec: {
    readonly certificateSecret: string;
    readonly certificateSecrets?: readonly string[] | undefined;
    readonly configMapName: string;
    readonly endpoint?: string | undefined;
  };
  readonly status?: JwksStatus;
}

export type JwksObject = Stored<ShownJwks>;

/** A key of a JWKS, now or before. */
export interface KeyView {
  readonly kid: string;
  /** `Removed` keys are those that this process has seen go; it forgets them when it is restarted. */
  readonly state: "Active" | "Retiring" | "Removed";
  /** The first key that is `Active` is the one that signs. */
  readonly signs: boolean;
  /** The Secret that it came from; empty if that is not known. */
  readonly source: string;
  readonly algorithm: string;
  /** When it was first published. */
  readonly sinceMs: number;
  readonly replacedMs?: number;
  /** When it goes, or went. */
  readonly removeMs?: number;
  readonly certificateExpiresMs?: number;
}

/** A JWKSConfig or a JWKS, and its keys. */
export interface KeySet extends RecordBase {
  /** Where the JWKS document is published. */
  readonly configMap: string;
  /** The path that clients should use. */
  readonly endpoint: string;
  /** Active ones first, then retiring ones, then removed ones. */
  readonly keys: readonly KeyView[];
  /** Counts the changes of what is published. */
  readonly revision?: number;
  readonly updatedMs?: number;
  readonly nextRemovalMs?: number;
  /** The earliest end of a certificate whose key is active. */
  readonly nextExpiryMs?: number;
  /** Whether pods answer with the JWKS document; absent if none are asked for. */
  readonly served?: { readonly holds: boolean; readonly reason: string; readonly message: string };
}

/** Pods that are not there after this long do not come by themselves. */
const podPatienceMs = 300_000;

/** Certificates that expire later are nobody's concern today. */
const expiryHorizonMs = 30 * 86_400_000;

/** For a watch: the object without the certificates in its status, which can be many. */
export function keepShownJwks({ metadata: whole, spec, status }: Stored<ShownJwks>): Stored<ShownJwks> {
  const { managedFields: _, ...metadata } = whole;
  if (!status?.keys) return { metadata, spec, ...(status && { status }) };
  return { metadata, spec, status: { ...status, keys: status.keys.map(({ certificates: _c, publicKey: _k, ...key }) => key) } };
}

/** What is known of one object: when keys go is what the plan has written into its status. `removed` are the keys that were seen to go. */
export function keySetOf(
  kind: Kind,
  object: DeepReadonly<JwksObject>,
  { removed, nowMs }: { readonly removed: readonly KeyView[]; readonly nowMs: number },
): { readonly keySet: KeySet; readonly againAtMs: number | undefined } {
  const { metadata, spec, status } = object;
  const { next: removal, ...checked } = unlessOverdue(
    objectReport(kind, object, {
      ...jwksHealth(object, nowMs),
      detail:
        status?.keyCount === undefined
          ? "nothing published"
          : `${status.keyCount} ${status.keyCount === 1 ? "key" : "keys"} in ${spec.configMapName}`,
      about: [...new Set([metadata.name, spec.certificateSecret, ...(spec.certificateSecrets ?? []), spec.configMapName])],
      next: nextRemoval(object),
    }),
    nowMs,
  );
  const report = { ...checked, ...defined("next", earlierNext(removal, nextExpiry(object, nowMs))) };
  const served = findCondition(status?.conditions, "Served");
  const keys = keyViews(object);
  const expiries = keys.filter(({ state }) => state === "Active").map(({ certificateExpiresMs }) => certificateExpiresMs);
  const keySet: KeySet = {
    id: keySetId(kind, metadata),
    step: "jwks",
    ...report,
    ...defined("createdMs", timeMs(metadata.creationTimestamp)),
    configMap: spec.configMapName,
    endpoint: spec.endpoint ?? "/jwks.json",
    keys: [...keys, ...removed.filter(({ kid }) => !keys.some((key) => key.kid === kid))],
    ...defined("revision", status?.revision),
    ...defined("updatedMs", timeMs(status?.lastUpdateTime)),
    ...defined("nextRemovalMs", timeMs(status?.nextRemoval)),
    ...defined("nextExpiryMs", earliest(expiries)),
    ...(served && { served: { holds: served.status === "True", reason: served.reason, message: shownText(served.message) } }),
  };
  return { keySet, againAtMs: againAtMs(report, nowMs) };
}

function jwksHealth(object: DeepReadonly<JwksObject>, nowMs: number): HealthReport {
  const report = readyHealth(object, ({ status, reason, lastTransitionTime }) => {
    if (status === "True") return "healthy";
    return isPassing(reason, nowMs - (timeMs(lastTransitionTime) ?? 0)) ? "progressing" : "failed";
  });
  const truncated = findCondition(object.status?.conditions, "Truncated");
  const revoked = findCondition(object.status?.conditions, "Revoked");
  if (report.health === "failed") return report;
  if (revoked?.status === "False") return healthReportOf(revoked, "degraded");
  return truncated?.status === "True" ? healthReportOf(truncated, "degraded") : report;
}

function isPassing(reason: string, lastedMs: number): boolean {
  return reason === "UpdateDeferred" || reason === "Publishing" || (reason === "PodsNotAvailable" && lastedMs < podPatienceMs);
}

function nextRemoval({ status }: DeepReadonly<JwksObject>): NextStep | undefined {
  const atMs = timeMs(status?.nextRemoval);
  return atMs === undefined ? undefined : { atMs, what: "withdraws a key that was replaced" };
}

/** Of the certificates that are in use: the one that expires first, if it still holds and that is not far off. */
function nextExpiry({ status }: DeepReadonly<JwksObject>, nowMs: number): NextStep | undefined {
  const active = (status?.keys ?? []).filter(({ state }) => state === "Active");
  const [first] = active
    .flatMap((key: DeepReadonly<KeyStatus>) => ({ atMs: timeMs(key.certificateExpires) ?? 0, source: key.source }))
    .filter(({ atMs }) => atMs > nowMs && atMs - nowMs < expiryHorizonMs)
    .sort((left, right) => left.atMs - right.atMs);
  return first && { atMs: first.atMs, what: `has an expired certificate unless Secret ${first.source} is renewed` };
}

function keySetId(kind: Pick<Kind, "kind">, { namespace = "", name }: { readonly namespace?: string | undefined; readonly name: string }): string {
  return `jwks/${kind.kind}/${namespace}/${name}`;
}

/** The keys that are published, as the status has them. */
export function keyViews({ status }: Pick<DeepReadonly<JwksObject>, "status">): readonly KeyView[] {
  return (status?.keys ?? []).flatMap((key) => (key.state === "Pending" ? [] : keyView(key, key.state, status?.lastKeyID)));
}

/** Never more of a key than its name and its times. */
function keyView(
  { kid, source, since, algorithm = "", ...times }: DeepReadonly<KeyStatus>,
  state: "Active" | "Retiring",
  signing: string | undefined,
): KeyView {
  return {
    kid,
    state,
    signs: state === "Active" && kid === signing,
    source,
    algorithm,
    sinceMs: timeMs(since) ?? 0,
    ...defined("replacedMs", timeMs(times.replacedAt)),
    ...defined("removeMs", timeMs(times.removeAt)),
    ...defined("certificateExpiresMs", timeMs(times.certificateExpires)),
  };
}

/** Keys that went are remembered for a while, the last ones first. */
const maxRemoved = 16;

/** What is remembered of keys that went, after a change. */
export function removedKeys(
  remembered: readonly KeyView[],
  { before, after, nowMs }: { readonly before: readonly KeyView[]; readonly after: readonly KeyView[]; readonly nowMs: number },
): readonly KeyView[] {
  const present = new Set(after.map(({ kid }) => kid));
  const gone = before.filter(({ kid }) => !present.has(kid)).map((key) => removedKey(key, nowMs));
  return [...gone, ...remembered].filter(({ kid }) => !present.has(kid)).slice(0, maxRemoved);
}

function removedKey(key: KeyView, nowMs: number): KeyView {
  return { ...key, state: "Removed", signs: false, removeMs: nowMs };
}

export function keySetRecord(keySet: KeySet): ObjectRecord {
  const { configMap, endpoint, keys, revision, updatedMs, nextRemovalMs, nextExpiryMs, next } = keySet;
  const sources = [...new Set(keys.flatMap(({ source, state }) => (source === "" || state === "Removed" ? [] : [source])))];
  return laidOut(keySet, {
    table: "keySets",
    cells: {},
    texts: [configMap, ...keys.flatMap(({ kid, source }) => [kid, source])],
    facts: [
      ...factObject("published in", objectRef(ConfigMap, { namespace: keySet.ref.namespace, name: configMap })),
      ...sources.flatMap((name) =>
        factObject(sources.length > 1 ? `from ${name}` : "from", objectRef(Secret, { namespace: keySet.ref.namespace, name })),
      ),
      ...factText("endpoint", endpoint),
      ...factText("served", servedText(keySet)),
      ...factText("revision", revision === undefined ? undefined : String(revision)),
      ...factAt("updated", updatedMs),
      ...factAt("next removal", nextRemovalMs),
      ...factAt("next certificate expires", nextExpiryMs),
      ...factAt("next", next?.atMs),
    ],
    tracks: keyTracks(keySet),
  });
}

/** `keyturn revoke` adds a name to those that are there: what was revoked before stays so, also if this page has not seen it. */
function revokeCommand(ref: ObjectRef, kid: string): CommandView {
  // After `--` a dash begins no option.
  const key = kid.startsWith("-") ? ["--", kid] : [kid];
  return { what: `withdraw key ${shortDigest(kid)} at once`, command: shellCommand`keyturn revoke ${inNamespace(ref)} ${key}` };
}

export function keySetStory(ref: ObjectRef, { keys, createdMs, configMap, reason }: KeySet): ObjectStory {
  const where = inNamespace(ref);
  return {
    history: [
      ...happened(createdMs, "was created"),
      ...keys.flatMap(({ kid, sinceMs, replacedMs, removeMs, state }) => [
        ...happened(sinceMs, `key ${shortDigest(kid)} was published`),
        ...happened(replacedMs, `key ${shortDigest(kid)} was replaced`),
        ...(state === "Removed" ? happened(removeMs, `key ${shortDigest(kid)} went`) : []),
      ]),
    ],
    commands: [
      { what: "see the document", command: shellCommand`kubectl get configmap ${configMap} ${where} -o jsonpath=${"{.data.jwks\\.json}"}` },
      ...keys.filter(({ state }) => state !== "Removed").map(({ kid }) => revokeCommand(ref, kid)),
      ...pauseCommands(ref, reason),
    ],
  };
}

export const jwksRecords: Records = {
  layout: {
    title: "Publish",
    about: "The public keys of certificates as a JWKS. A replaced key stays for as long as tokens need it.",
    tables: [
      {
        id: "keySets",
        title: "Keys over time",
        empty: {
          title: "No keys are published yet",
          text: "A JWKSConfig names a Secret with a certificate and the ConfigMap to publish its public key in.",
          command: "kubectl get jwksconfigs,jwks -A",
        },
        timeline: {
          legend: [
            { look: "bar live hue-0", meaning: "active" },
            { look: "bar retiring", meaning: "retiring: verifies, signs no more" },
            { look: "bar removed", meaning: "removed" },
            { look: "mark expiry tone-degraded", meaning: "certificate expires" },
            { look: "mark end", meaning: "removal" },
          ],
        },
      },
    ],
  },
  watch({ watch, touch, clock }) {
    const kinds: readonly Kind[] = [JWKSConfig, JWKS];
    const removed = new Map<string, readonly KeyView[]>();
    const caches = new Map(
      [watch<JWKSConfig, JwksObject>(JWKSConfig, { keep: keepShownJwks }), watch<JWKS, JwksObject>(JWKS, { keep: keepShownJwks })].map(
        (cache): readonly [string, Cache<JwksObject>] => [cache.kind.kind, cache],
      ),
    );
    for (const cache of caches.values()) {
      cache.subscribe((change) => {
        const id = keySetId(cache.kind, nameOf(change.key));
        if (change.type === "deleted" || change.type === "replaced") removed.delete(id);
        if (change.type === "updated") {
          const keys = removedKeys(removed.get(id) ?? [], { before: keyViews(change.previous), after: keyViews(change.value), nowMs: clock.now() });
          if (keys.length > 0) removed.set(id, keys);
          else removed.delete(id);
        }
        touch(id);
      });
    }
    return {
      step: "jwks",
      resources: kinds.map(resourceOf),
      caches: () => [...caches.values()],
      ids: () => [...caches.values()].flatMap((cache) => Array.from(cache.entries(), ([key]) => keySetId(cache.kind, nameOf(key)))),
      make(id, nowMs) {
        const [, kind = "", namespace = "", name = ""] = id.split("/");
        const cache = caches.get(kind);
        const object = cache?.get(keyOf({ namespace, name }));
        if (!cache || !object) return undefined;
        const { keySet, againAtMs: laterMs } = keySetOf(cache.kind, object, { removed: removed.get(id) ?? [], nowMs });
        return { record: keySetRecord(keySet), againAtMs: laterMs, story: (ref) => keySetStory(ref, keySet) };
      },
      find(resource, name) {
        const kind = kinds.find((candidate) => resourceOf(candidate) === resource);
        return kind && { kind, id: keySetId(kind, name) };
      },
    };
  },
};
