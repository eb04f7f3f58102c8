import { expect, it } from "vitest";
import type { KeySet, KeyView } from "./records.ts";
import { keyTracks } from "./tracks.ts";

const ref = { apiVersion: "v1", namespace: "shop", kind: "JWKSConfig", resource: "jwksconfigs.keyturn.io", name: "tokens" };
const fine = { health: "healthy", reason: "Ready", message: "all is well", detail: "", about: [], conditions: [] } as const;

function key(kid: string, changes: Partial<KeyView> = {}): KeyView {
  return { kid, state: "Active", signs: false, source: "tls", algorithm: "RS256", sinceMs: 1000, ...changes };
}

function keySet(changes: Partial<KeySet> = {}): KeySet {
  const place = { configMap: "tokens-jwks", endpoint: "/jwks.json" };
  return { id: "jwks/JWKSConfig/shop/tokens", step: "jwks", ref, ...fine, ...place, keys: [], ...changes };
}

it("a key is active, then retiring, then removed", () => {
  const tracks = keyTracks(
    keySet({
      keys: [
        key("aaaaaaaaaaaa", { signs: true, certificateExpiresMs: 9000 }),
        key("bbbbbbbbbbbb", { state: "Retiring", replacedMs: 2000, removeMs: 5000, certificateExpiresMs: 4000 }),
        key("cccccccccccc", { state: "Removed", replacedMs: 1500, removeMs: 1800, source: "" }),
      ],
    }),
  );
  const [group, ...lanes] = tracks;
  expect(group).toMatchObject({ type: "group", title: "tokens", note: "shop · JWKSConfig · 1 active, 1 retiring · in ConfigMap tokens-jwks" });
  const drawn = lanes.map((track) =>
    track.type === "lane"
      ? {
          bars: track.bars.map(({ look, label, fromMs, toMs }) => [look, label, fromMs, toMs]),
          marks: track.marks.map(({ kind, atMs, health }) => [kind, atMs, health]),
        }
      : undefined,
  );
  expect(drawn).toEqual([
    { bars: [["live", "signs · tls", 1000, undefined]], marks: [["expiry", 9000, "degraded"]] },
    {
      bars: [
        ["past", "tls", 1000, 2000],
        ["retiring", "retiring", 2000, 5000],
      ],
      marks: [
        ["expiry", 4000, "unknown"],
        ["end", 5000, "unknown"],
      ],
    },
    { bars: [["removed", "cccccccc", 1000, 1800]], marks: [["end", 1800, "unknown"]] },
  ]);
});

it("says whether it is served", () => {
  const [served] = keyTracks(keySet({ served: { holds: true, reason: "Serving", message: "" } }));
  expect(served).toMatchObject({ note: expect.stringContaining("served by nginx") });
  const [notServed] = keyTracks(keySet({ served: { holds: false, reason: "PodsNotAvailable", message: "" } }));
  expect(notServed).toMatchObject({ warning: "not served: PodsNotAvailable" });
});
