// What is drawn of a JWKS: its keys now and before, and never what they are made of.
import { expect, it } from "vitest";
import { JWKSConfig } from "./api.ts";
import { type JwksObject, keySetOf, keyViews, removedKeys } from "./records.ts";

const now = Date.UTC(2026, 5, 1);
const hour = 3_600_000;
const iso = (hours: number): string => new Date(now + hours * hour).toISOString();
const certificate = "MIIBcontentOfACertificate";

const object: JwksObject = {
  metadata: { namespace: "shop", name: "tokens", uid: "1", resourceVersion: "1", creationTimestamp: iso(-100) },
  spec: { certificateSecret: "tls", configMapName: "tokens-jwks", endpoint: "/keys" },
  status: {
    conditions: [
      { type: "Ready", status: "True", reason: "Ready", message: "2 keys", lastTransitionTime: iso(-3) },
      { type: "Served", status: "False", reason: "PodsNotAvailable", message: "no pod", lastTransitionTime: iso(-3) },
    ],
    lastKeyID: "new",
    revision: 4,
    lastUpdateTime: iso(-2),
    nextRemoval: iso(5),
    keys: [
      { kid: "new", state: "Active", source: "tls", since: iso(-2), certificateExpires: iso(900), algorithm: "ES256", certificates: [certificate] },
      {
        kid: "old",
        state: "Retiring",
        source: "tls",
        since: iso(-90),
        replacedAt: iso(-2),
        removeAt: iso(5),
        certificateExpires: iso(10),
        algorithm: "ES256",
        certificates: [certificate],
      },
    ],
  },
};

it("has its keys as bars, with what comes next", () => {
  const { keySet: record, againAtMs } = keySetOf(JWKSConfig, object, { removed: [], nowMs: now });
  expect(record).toMatchObject({
    id: "jwks/JWKSConfig/shop/tokens",
    health: "healthy",
    configMap: "tokens-jwks",
    endpoint: "/keys",
    revision: 4,
    nextRemovalMs: now + 5 * hour,
    nextExpiryMs: now + 900 * hour,
    served: { holds: false, reason: "PodsNotAvailable", message: "no pod" },
    keys: [
      { kid: "new", state: "Active", signs: true, sinceMs: now - 2 * hour },
      { kid: "old", state: "Retiring", signs: false, sinceMs: now - 90 * hour, replacedMs: now - 2 * hour, removeMs: now + 5 * hour },
    ],
  });
  expect(againAtMs).toBe(now + 5 * hour);
  expect(JSON.stringify(record)).not.toContain(certificate);
});

it("remembers keys that went, until they are back", () => {
  const before = keyViews(object);
  const after = before.slice(0, 1);
  const removed = removedKeys([], { before, after, nowMs: now });
  expect(removed).toMatchObject([{ kid: "old", state: "Removed", signs: false, removeMs: now }]);
  const gone = { ...object, status: { ...object.status, keys: (object.status?.keys ?? []).slice(0, 1) } };
  expect(keySetOf(JWKSConfig, gone, { removed, nowMs: now }).keySet).toMatchObject({ keys: [{ kid: "new" }, { kid: "old", state: "Removed" }] });
  expect(removedKeys(removed, { before: after, after: before, nowMs: now })).toEqual([]);
});
