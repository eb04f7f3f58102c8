import type { Condition } from "@keyturn/runtime";
import { describe, expect, it } from "vitest";
import { type CheckSumStatus, SecretCheckSum } from "./api.ts";
import type { ConditionReason } from "./reasons.ts";
import { namespaceChecksums, keepShownCheckSum, type ShownCheckSum } from "./records.ts";

const nowMs = Date.parse("2026-01-02T03:04:05Z");

function current(reason: ConditionReason): Condition {
  return { type: "Current", status: "False", reason, message: `because of ${reason}`, lastTransitionTime: "2026-01-02T03:00:00Z" };
}

function checksum(name: string, changes: Partial<ShownCheckSum["spec"]> = {}, status?: CheckSumStatus): ShownCheckSum {
  return {
    metadata: { namespace: "gateway", name, uid: name, resourceVersion: "1", creationTimestamp: "2026-01-02T03:00:00Z" },
    spec: { timestamp: "2026-01-02T03:00:00Z", checksum: "0123456789abcdef", count: 2, ids: ["1", "2"], ...changes },
    ...(status && { status }),
  };
}

function recordOf(...checksums: readonly ShownCheckSum[]) {
  return namespaceChecksums(SecretCheckSum, { namespace: "gateway", checksums, leases: [] }, nowMs)?.checksums;
}

function judged(status: CheckSumStatus | undefined, changes: Partial<ShownCheckSum["spec"]> = {}): string {
  const record = recordOf(checksum("a", changes, status));
  return `${record?.health} ${record?.reason}`;
}

describe("the health of a namespace's checksum", () => {
  it.each([
    ["healthy Published", { conditions: [current("Published")] }],
    ["healthy Reached", { conditions: [current("Reached")] }],
    ["progressing Awaited", { conditions: [current("Awaited")] }],
    ["degraded EmptySet", { conditions: [current("EmptySet")] }],
    ["paused Paused", { conditions: [current("Paused")] }],
    ["degraded VersionMissing", { conditions: [current("Published")], problemCount: 1, problems: [{ name: "x", reason: "VersionMissing" }] }],
    ["unknown NotReported", undefined],
  ])("is %s", (expected, status) => {
    expect(judged(status)).toBe(expected);
  });
});

it("is that of the newest one", () => {
  const older = checksum("older", { timestamp: "2026-01-01T00:00:00Z" }, { conditions: [current("Superseded")] });
  const newer = checksum("newer", {}, { conditions: [current("Published")] });
  expect(recordOf(older, newer)).toMatchObject({ ref: { namespace: "gateway", name: "newer" }, detail: "2 objects, checksum 0123456789ab" });
});

it("tells until when an announced state is awaited, and when that is over", () => {
  const announcement = { expires: "2026-01-02T03:10:00Z" };
  const awaited = recordOf(checksum("a", { announcement }, { conditions: [current("Awaited")] }));
  expect(awaited?.next).toEqual({ atMs: Date.parse(announcement.expires), what: "gives up waiting for the announced state" });
  expect(judged({ conditions: [current("Awaited")] }, { announcement: { expires: "2026-01-02T03:00:00Z" } })).toBe("degraded Overdue");
});

it("keeps no ids, which can be a megabyte", () => {
  expect(keepShownCheckSum(checksum("a")).spec.ids).toBeUndefined();
});
