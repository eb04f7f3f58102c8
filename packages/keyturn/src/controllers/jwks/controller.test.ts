// How often one object is worked on: the first never waits, later ones are spaced, and no window of a minute is ever overfull. And its numbers, which come and go with it.
import { createMetrics, keyOf } from "@keyturn/runtime";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { JWKS, JWKSConfig, type JwksStatus } from "./api.ts";
import { keyMetrics, nextWriteAt, rememberWrite } from "./controller.ts";

const limits = { intervalMs: 5000, perMinute: 12 };

describe("writes for one object", () => {
  test("the first is at once, the second 5 s later", () => {
    expect(nextWriteAt([], limits, 100)).toBe(100);
    expect(nextWriteAt([100], limits, 101)).toBe(5100);
  });

  test("0 switches a limit off", () => {
    expect(nextWriteAt([100, 100, 100], { intervalMs: 0, perMinute: 0 }, 100)).toBe(100);
    expect(nextWriteAt([0, 1, 2], { intervalMs: 0, perMinute: 3 }, 2)).toBe(60_000);
    expect(nextWriteAt([0, 1, 2], { intervalMs: 10, perMinute: 0 }, 2)).toBe(12);
  });

  test("whenever somebody asks, writes keep their distance and their number, and none waits for nothing", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20_000), { maxLength: 60 }), fc.record({ intervalMs: fc.nat(8000), perMinute: fc.nat(15) }), (pauses, limits) => {
        const all: number[] = [];
        let remembered: readonly number[] = [];
        let nowMs = 0;
        for (const pause of pauses) {
          nowMs += pause;
          const at = Math.max(nowMs, nextWriteAt(remembered, limits, nowMs));
          const waited = at > nowMs;
          nowMs = at;
          const isAllowed = (time: number): boolean =>
            (all.length === 0 || time - (all.at(-1) ?? 0) >= limits.intervalMs) &&
            (limits.perMinute === 0 || all.filter((earlier) => earlier > time - 60_000).length < limits.perMinute);
          expect(isAllowed(at)).toBe(true);
          expect(waited && isAllowed(at - 1)).toBe(false);
          all.push(at);
          remembered = rememberWrite(remembered, at);
        }
      }),
    );
  });
});

const key = keyOf({ namespace: "shop", name: "site" });
const keyOfState = (state: "Active" | "Retiring", certificateExpires: string): NonNullable<JwksStatus["keys"]>[number] => ({
  kid: `${state}-${certificateExpires}`,
  state,
  source: "signer",
  since: "2026-01-01T00:00:00Z",
  algorithm: "ES256",
  certificates: [],
  certificateExpires,
});
const status: JwksStatus = {
  keys: [keyOfState("Active", "2026-03-01T00:00:00Z"), keyOfState("Active", "2026-02-01T00:00:00Z"), keyOfState("Retiring", "2026-01-15T00:00:00Z")],
};

test("an object's keys are counted by state, and its first expiry among active keys is reported", async () => {
  const metrics = createMetrics();
  // Both controllers share the metrics.
  keyMetrics(metrics, JWKS);
  const view = keyMetrics(metrics, JWKSConfig);
  const shown = async (): Promise<readonly string[]> => (await metrics.text()).split("\n").filter((line) => line.startsWith("keyturn_jwks"));

  view.show(key, status);
  expect(await shown()).toEqual([
    'keyturn_jwks_keys{kind="JWKSConfig",namespace="shop",name="site",state="Active"} 2',
    'keyturn_jwks_keys{kind="JWKSConfig",namespace="shop",name="site",state="Retiring"} 1',
    `keyturn_jwks_certificate_expiry_timestamp_seconds{kind="JWKSConfig",namespace="shop",name="site"} ${Date.parse("2026-02-01T00:00:00Z") / 1000}`,
  ]);
  view.hide(key);
  expect(await shown()).toEqual([]);
});
