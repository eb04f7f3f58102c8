import type { Condition, Stored } from "@keyturn/runtime";
import { describe, expect, it } from "vitest";
import type { JwksStatus, KeyStatus } from "./api.ts";
import type { ConditionReason } from "./reasons.ts";
import { jwksSummary, keepShownJwks, type ShownJwks } from "./summary.ts";

const nowMs = Date.parse("2026-01-02T03:04:05Z");
const kind = { kind: "JWKSConfig" };

function condition(type: string, status: "True" | "False", reason: ConditionReason, since = "2026-01-02T03:00:00Z"): Condition {
  return { type, status, reason, message: `because of ${reason}`, lastTransitionTime: since };
}

function key(changes: Partial<KeyStatus> = {}): KeyStatus {
  const times = { since: "2026-01-01T00:00:00Z", certificateExpires: "2026-01-10T00:00:00Z" };
  return { kid: "k", state: "Active", source: "signer", algorithm: "RS256", certificates: ["MIIsecretlooking"], ...times, ...changes };
}

function config(status: JwksStatus): Stored<ShownJwks> {
  return {
    metadata: { namespace: "shop", name: "tokens", uid: "u", resourceVersion: "1" },
    spec: { certificateSecret: "signer", certificateSecrets: ["signer-next"], configMapName: "tokens-jwks" },
    status,
  };
}

describe("the health of a JWKSConfig", () => {
  it.each([
    ["healthy Ready", [condition("Ready", "True", "Ready")]],
    ["failed SecretNotFound", [condition("Ready", "False", "SecretNotFound")]],
    ["progressing UpdateDeferred", [condition("Ready", "False", "UpdateDeferred")]],
    ["progressing PodsNotAvailable", [condition("Ready", "False", "PodsNotAvailable")]],
    ["failed PodsNotAvailable", [condition("Ready", "False", "PodsNotAvailable", "2026-01-02T02:00:00Z")]],
    ["degraded DocumentTooLarge", [condition("Ready", "True", "Ready"), condition("Truncated", "True", "DocumentTooLarge")]],
    ["paused Paused", [{ ...condition("Ready", "True", "Ready"), reason: "Paused" }]],
  ])("is %s", (expected, conditions) => {
    const { health, reason } = jwksSummary(kind, config({ conditions }), nowMs);
    expect(`${health} ${reason}`).toBe(expected);
  });
});

describe("what comes next", () => {
  const status = { conditions: [condition("Ready", "True", "Ready")], keyCount: 2 };
  const nextOf = (changes: Partial<JwksStatus>) => jwksSummary(kind, config({ ...status, ...changes }), nowMs).next;

  it("is the removal of a key or the end of a certificate, whichever comes first", () => {
    const keys = [key(), key({ kid: "old", state: "Retiring", certificateExpires: "2026-01-03T00:00:00Z" })];
    expect(nextOf({ keys, nextRemoval: "2026-01-05T00:00:00Z" })?.what).toBe("withdraws a key that was replaced");
    expect(nextOf({ keys, nextRemoval: "2026-01-15T00:00:00Z" })).toEqual({
      atMs: Date.parse("2026-01-10T00:00:00Z"),
      what: "has an expired certificate unless Secret signer is renewed",
    });
  });

  it("is nothing while certificates hold for long", () => {
    expect(nextOf({ keys: [key({ certificateExpires: "2027-01-01T00:00:00Z" })] })).toBeUndefined();
  });

  it("is overdue if a key that should be gone is still there", () => {
    const late = jwksSummary(kind, config({ ...status, nextRemoval: "2026-01-02T03:00:00Z" }), nowMs);
    expect(late).toMatchObject({ health: "degraded", reason: "Overdue", detail: "2 keys in tokens-jwks" });
  });
});

it("keeps no certificates, and is found by its Secrets", () => {
  const kept = keepShownJwks(config({ keys: [key()] }));
  expect(JSON.stringify(kept)).not.toContain("MIIsecretlooking");
  expect(jwksSummary(kind, kept, nowMs).names).toEqual(["tokens", "signer", "signer-next", "tokens-jwks"]);
});
