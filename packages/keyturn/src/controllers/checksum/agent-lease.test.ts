import type { Lease, Stored } from "@keyturn/runtime";
import { expect, it } from "vitest";
import { agentAnnotations, agentOf } from "./agent-lease.ts";

const nowMs = Date.parse("2026-01-02T03:04:05Z");

function agent(notes: Partial<Record<keyof typeof agentAnnotations, string>>, renewTime = "2026-01-02T03:04:00.000000Z"): Stored<Lease> {
  const annotations = Object.fromEntries(
    Object.entries(notes).map(([name, text]) => [agentAnnotations[name as keyof typeof agentAnnotations], text]),
  );
  const metadata = { namespace: "gateway", name: "keyturn-agent-edge-1", uid: "u", resourceVersion: "1", annotations };
  return { metadata, spec: { holderIdentity: "edge-1", leaseDurationSeconds: 180, renewTime } };
}

function recordOf(lease: Stored<Lease>) {
  return agentOf(lease, { counting: undefined, nowMs }).agent;
}

it("is healthy while what it serves is verified", () => {
  expect(recordOf(agent({ state: "verified", checksum: "0123456789abcdef", secrets: "3" }))).toMatchObject({
    called: { kind: "Agent", name: "edge-1" },
    ref: { kind: "Lease", namespace: "gateway", name: "keyturn-agent-edge-1" },
    health: "healthy",
    detail: "3 Secrets, checksum 0123456789ab",
  });
});

it("needs attention when it raises an alarm, and when it is silent", () => {
  expect(recordOf(agent({ state: "holding", alarms: "Mismatch,RollBack", differences: "missing=1" }))).toMatchObject({
    health: "degraded",
    reason: "Mismatch",
    message: "keeps the last verified set: Mismatch, RollBack (missing=1)",
  });
  expect(recordOf(agent({ state: "verified" }, "2026-01-02T03:00:00.000000Z"))).toMatchObject({
    health: "failed",
    reason: "AgentSilent",
  });
});

it.each([
  ["CommandFailed", "missing=0,unexpected=0,changed=0", "has promoted the set, but the gateway was not reloaded: CommandFailed"],
  ["PromotionFailed,CommandFailed", "", "cannot write the verified set, and keeps the last one: PromotionFailed, CommandFailed"],
  ["SecretsGone", "missing=10,unexpected=0,changed=0", "keeps the last verified set: SecretsGone (missing=10,unexpected=0,changed=0)"],
])("says of %s what the gateway serves", (alarms, differences, message) => {
  expect(recordOf(agent({ state: "verified", alarms, differences }))).toMatchObject({ health: "degraded", message });
});

it("is on its way while it has nothing to say yet", () => {
  expect(recordOf(agent({ state: "holding" }))).toMatchObject({
    health: "progressing",
    message: "is holding",
    detail: "0 Secrets, nothing promoted yet",
  });
});
