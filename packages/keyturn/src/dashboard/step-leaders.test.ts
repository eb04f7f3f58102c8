import type { WatchStatus } from "@keyturn/runtime";
import { expect, it } from "vitest";
import type { LeaseSummary } from "../feature/summary.ts";
import { controllerNames } from "../registry.ts";
import type { WatchedLeases } from "../status/status-watches.ts";
import { leaseLeaders, ownLeaders } from "./step-leaders.ts";

const controllers = controllerNames();

function lease(state: LeaseSummary["state"], place: Partial<LeaseSummary> = {}): LeaseSummary {
  return { controller: "rotation", namespace: "keyturn-system", holder: "pod-1", state, renewedMs: 0, acquiredMs: 0, ...place };
}

/** As the Leases tell it; the watch of them is live unless told otherwise. */
function leader(leases: readonly LeaseSummary[], state: WatchStatus["state"] = { type: "live" }, synced = true) {
  const status: WatchStatus = { resource: "leases.coordination.k8s.io", namespace: undefined, state, synced, objects: 0, quietForMs: 0 };
  const watched: Pick<WatchedLeases, "status" | "summaries"> = { status: () => status, summaries: () => leases };
  return leaseLeaders(watched, controllers).of("rotation", 0);
}

it.each([
  ["held", [lease("held")], "led", ""],
  ["none", [], "none", "there is no Lease of an operator"],
  ["of another step", [lease("held", { controller: "jwks" })], "none", "there is no Lease of an operator"],
  ["silent", [lease("expired")], "none", "pod-1 has not renewed its Lease since 1970-01-01T00:00:00.000Z"],
  ["given back", [lease("free", { holder: undefined })], "none", "the last operator has given its Lease back"],
  ["held, and one left behind elsewhere", [lease("expired", { namespace: "default" }), lease("held")], "led", ""],
] as const)("a Lease that is %s", (_what, leases, state, message) => {
  expect(leader(leases)).toEqual({ state, message });
});

it("Leases that cannot be read say nothing about who leads, even if they were read before", () => {
  const held = [lease("held")];
  expect(leader(held, { type: "retrying", error: "connect ECONNREFUSED" })).toMatchObject({ state: "unknown" });
  const rule = "list leases.coordination.k8s.io in the cluster";
  expect(leader(held, { type: "forbidden", rule })).toEqual({
    state: "unknown",
    message: `the right to ${rule} is missing; --operator-namespace says where to look`,
  });
  expect(leader([], { type: "syncing" }, false)).toBeUndefined();
});

it.each([
  ["active", true, { state: "led", message: "" }],
  ["standby", true, { state: "led", message: "" }],
  ["starting", false, undefined],
  ["forbidden: list secrets in the cluster", false, { state: "none", message: "controller rotation: forbidden: list secrets in the cluster" }],
  ["waiting for CRD rotationtargets.a", true, { state: "none", message: "controller rotation: waiting for CRD rotationtargets.a" }],
  ["stopped", false, { state: "none", message: "controller rotation: stopped" }],
] as const)("a controller of this process that is %s", (state, ready, expected) => {
  const activity = { queued: 0, delayed: 0, running: 0 };
  const status = { name: "rotation", state, ready, shards: { held: 0, total: 1 }, activity };
  expect(ownLeaders(() => [status as never], controllers).of("rotation", 0)).toEqual(expected);
});
