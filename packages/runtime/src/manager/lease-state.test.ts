// The record that an election leaves for people and for other clients.
import { expect, test } from "vitest";
import type { Stored } from "../client/kind.ts";
import { type Candidate, type Lease, type LeaseSpec, type LeaseState, nextLeaseAction, released, stepLease } from "./lease-state.ts";
import { checkLeaseTimes, defaultLeaseTimes } from "./lease-elector.ts";

const me: Candidate = { identity: "me", times: defaultLeaseTimes };
const lease = (spec: LeaseSpec): Stored<Lease> => ({ metadata: { name: "demo", uid: "1", resourceVersion: "1" }, spec });
const wallMs = Date.UTC(2026, 0, 2);

function claimed(state: LeaseState, nowMs = 0): LeaseSpec | undefined {
  const action = nextLeaseAction(state, me, { nowMs, wallMs });
  return action.type === "create" || action.type === "replace" ? action.spec : undefined;
}

test("the first holder creates the lease, with times in microseconds", () => {
  expect(claimed({ type: "absent" })).toEqual({
    holderIdentity: "me",
    leaseDurationSeconds: 15,
    acquireTime: "2026-01-02T00:00:00.000000Z",
    renewTime: "2026-01-02T00:00:00.000000Z",
    leaseTransitions: 0,
  });
});

test("a renewal keeps when the lease was acquired and how often it changed hands", () => {
  const spec = { holderIdentity: "me", acquireTime: "2026-01-01T00:00:00.000000Z", renewTime: "2026-01-01T00:00:10.000000Z", leaseTransitions: 3 };
  expect(claimed({ type: "held", lease: lease(spec), renewedMs: 0 })).toMatchObject({
    acquireTime: "2026-01-01T00:00:00.000000Z",
    renewTime: "2026-01-02T00:00:00.000000Z",
    leaseTransitions: 3,
  });
});

test("another's lease is taken when it has not changed for as long as its holder said, whatever its times say", () => {
  const spec = { holderIdentity: "other", leaseDurationSeconds: 40, renewTime: "2001-01-01T00:00:00.000000Z", leaseTransitions: 3 };
  const seen = stepLease({ type: "unknown" }, { type: "read", lease: lease(spec), atMs: 100 }, me);
  expect(claimed(seen, 40_099)).toBeUndefined();
  expect(claimed(seen, 40_100)).toMatchObject({ holderIdentity: "me", leaseTransitions: 4, acquireTime: "2026-01-02T00:00:00.000000Z" });
  const again = stepLease(seen, { type: "read", lease: lease(spec), atMs: 30_000 }, me);
  expect(claimed(again, 40_100)).toBeDefined();
  const renewed = stepLease(seen, { type: "read", lease: lease({ ...spec, renewTime: "2001-01-01T00:00:01.000000Z" }), atMs: 30_000 }, me);
  expect(claimed(renewed, 40_100)).toBeUndefined();
});

test("a released lease has no holder and is taken at once; fields that are not ours stay", () => {
  const spec = { holderIdentity: "other", leaseTransitions: 3, strategy: "OldestEmulationVersion" };
  const free = released(spec, wallMs);
  expect(JSON.parse(JSON.stringify(free))).toEqual({
    leaseDurationSeconds: 1,
    leaseTransitions: 3,
    renewTime: "2026-01-02T00:00:00.000000Z",
    strategy: "OldestEmulationVersion",
  });
  const seen = stepLease({ type: "unknown" }, { type: "read", lease: lease(free), atMs: 100 }, me);
  expect(claimed(seen, 100)).toMatchObject({ holderIdentity: "me", leaseTransitions: 4, strategy: "OldestEmulationVersion" });
});

test("a renewal counts from when it was sent, so an answer that came too late gives no right to act", () => {
  const written = stepLease({ type: "absent" }, { type: "written", lease: lease({ holderIdentity: "me" }), sentMs: 1_000 }, me);
  expect(stepLease(written, { type: "passed", atMs: 10_999 }, me).type).toBe("held");
  expect(stepLease(written, { type: "passed", atMs: 11_000 }, me).type).toBe("seen");
});

test("lease times that make no sense are refused with the reason", () => {
  expect(() => checkLeaseTimes(defaultLeaseTimes)).not.toThrow();
  expect(() => checkLeaseTimes({ ...defaultLeaseTimes, leaseDurationMs: 1_500 })).toThrow("whole seconds");
  expect(() => checkLeaseTimes({ ...defaultLeaseTimes, renewDeadlineMs: 15_000 })).toThrow("must be shorter");
  expect(() => checkLeaseTimes({ ...defaultLeaseTimes, retryPeriodMs: 9_000 })).toThrow("well below");
  // A holder whose deadline is no number would keep the lease and never work.
  for (const name of Object.keys(defaultLeaseTimes)) expect(() => checkLeaseTimes({ ...defaultLeaseTimes, [name]: Number.NaN })).toThrow(RangeError);
});
