// The records of JWKSConfigs and JWKSs.
import type { KeySetRecord, KeyView } from "@keyturn/dashboard/contract";
import { type Cache, type DeepReadonly, earliest, findCondition, keyOf, type Kind, nameOf, resourceOf, type Stored } from "@keyturn/runtime";
import { JWKS, JWKSConfig, type KeyStatus } from "../../controllers/jwks/api.ts";
import { jwksSummary, keepShownJwks, type ShownJwks } from "../../controllers/jwks/summary.ts";
import { timeMs } from "../../feature/summary.ts";
import { defined, type Made, recordBase, type RecordSource, shownText, type SourceScope, summaryAgainAtMs } from "../record-source.ts";

/** An object of either kind. */
export type JwksObject = Stored<ShownJwks & { readonly spec: { readonly endpoint?: string | undefined } }>;

/** The record of one object; `removed` are the keys that were seen to go. */
export function keySetRecord(
  kind: Kind,
  object: DeepReadonly<JwksObject>,
  { removed, nowMs }: { readonly removed: readonly KeyView[]; readonly nowMs: number },
): Made {
  const { metadata, spec, status } = object;
  const summary = jwksSummary(kind, object, nowMs);
  const served = findCondition(status?.conditions, "Served");
  const keys = keyViews(object);
  const expiries = keys.filter(({ state }) => state === "Active").map(({ certificateExpiresMs }) => certificateExpiresMs);
  const record: KeySetRecord = {
    type: "keySet",
    id: keySetId(kind, metadata),
    step: "jwks",
    ...recordBase(kind, object, summary),
    configMap: spec.configMapName,
    endpoint: spec.endpoint ?? "/jwks.json",
    keys: [...keys, ...removed.filter(({ kid }) => !keys.some((key) => key.kid === kid))],
    ...defined("revision", status?.revision),
    ...defined("updatedMs", timeMs(status?.lastUpdateTime)),
    ...defined("nextRemovalMs", timeMs(status?.nextRemoval)),
    ...defined("nextExpiryMs", earliest(expiries)),
    ...(served && { served: { holds: served.status === "True", reason: served.reason, message: shownText(served.message) } }),
  };
  return { record, againAtMs: summaryAgainAtMs(summary, nowMs) };
}

function keySetId(kind: Pick<Kind, "kind">, { namespace = "", name }: { readonly namespace?: string | undefined; readonly name: string }): string {
  return `jwks/${kind.kind}/${namespace}/${name}`;
}

/** The keys that are published, as the status has them. */
export function keyViews({ status }: Pick<DeepReadonly<JwksObject>, "status">): readonly KeyView[] {
  return (status?.keys ?? []).map((key) => keyView(key, status?.lastKeyID));
}

/** Never more of a key than its name and its times. */
function keyView({ kid, state, source, since, algorithm, ...times }: DeepReadonly<KeyStatus>, signing: string | undefined): KeyView {
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

// Watches the objects of the step "publish".

export function jwksSource({ watch, touch, clock }: SourceScope): RecordSource {
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
    make(id, nowMs) {
      const [, kind = "", namespace = "", name = ""] = id.split("/");
      const cache = caches.get(kind);
      const object = cache?.get(keyOf({ namespace, name }));
      return cache && object && keySetRecord(cache.kind, object, { removed: removed.get(id) ?? [], nowMs });
    },
    find(resource, name) {
      const kind = kinds.find((candidate) => resourceOf(candidate) === resource);
      return kind && { kind, id: keySetId(kind, name) };
    },
  };
}
