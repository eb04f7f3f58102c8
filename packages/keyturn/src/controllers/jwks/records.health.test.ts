import type { Condition } from "@keyturn/runtime";
import { describe, expect, it } from "vitest";
import { JWKSConfig, type JwksStatus, type KeyStatus } from "./api.ts";
import type { ConditionReason } from "./reasons.ts";
import { type JwksObject, keepShownJwks, keySetOf } from "./records.ts";

const nowMs = Date.parse("2026-01-02T03:04:05Z");

function condition(type: string, status: "True" | "False", reason: ConditionReason, since = "2026-01-02T03:00:00Z"): Condition {
  return { type, status, reason, message: `because of ${reason}`, lastTransitionTime: since };
}

function key(changes: Partial<KeyStatus> = {}): KeyStatus {
  const times = { since: "2026-01-01T00:00:00Z", certificateExpires: "2026-01-10T00:00:00Z" };
  return { kid: "k", state: "Active", source: "signer", algorithm: "RS256", certificates: ["MIIsecretlooking"], ...times, ...changes };
}

function config(status: JwksStatus): JwksObject {
  return {
    metadata: { namespace: "shop", name: "tokens", uid: "u", resourceVersion: "1" },
    spec: { certificateSecret: "signer", certificateSecrets: ["signer-next"], configMapName: "tokens-jwks" },
    status,
  };
}

function recordOf(object: JwksObject) {
  return keySetOf(JWKSConfig, object, { removed: [], nowMs }).keySet;
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
    const { health, reason } = recordOf(config({ conditions }));
    expect(`${health} ${reason}`).toBe(expected);
  });
});

describe("what comes next", () => {
  const status = { conditions: [condition("Ready", "True", "Ready")], keyCount: 2 };
  const nextOf = (changes: Partial<JwksStatus>) => recordOf(config({ ...status, ...changes })).next;

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
    const late = recordOf(config({ ...status, nextRemoval: "2026-01-02T03:00:00Z" }));
    expect(late).toMatchObject({ health: "degraded", reason: "Overdue", detail: "2 keys in tokens-jwks" });
  });
});

it("keeps no certificates, and is found by its Secrets", () => {
  const kept = keepShownJwks(config({ keys: [key()] }));
  expect(JSON.stringify(kept)).not.toContain("MIIsecretlooking");
  expect(recordOf(kept).about).toEqual(["tokens", "signer", "signer-next", "tokens-jwks"]);
});
