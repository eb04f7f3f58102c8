// Watches the objects of the step "publish".
import type { KeyView } from "@keyturn/dashboard/contract";
import { type Cache, type Kind, keyOf, nameOf, resourceOf } from "@keyturn/runtime";
import { JWKS, JWKSConfig } from "../../controllers/jwks/api.ts";
import { keepShownJwks } from "../../controllers/jwks/summary.ts";
import type { RecordSource, SourceScope } from "../record-source.ts";
import { type JwksObject, keySetId, keySetRecord, keyViews, removedKeys } from "../records/key-set.ts";

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
