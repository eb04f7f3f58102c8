import type { WatchStatus } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, it } from "vitest";
import type { LeaseSummary } from "../feature/record.ts";
import { stageControllers } from "../registry.ts";
import type { WatchedLeases } from "../status/status-watches.ts";
import { leaseLeaders, ownLeaders, watchRenewals } from "./stage-leaders.ts";

const controllers = stageControllers();

function lease(state: LeaseSummary["state"], place: Partial<LeaseSummary> = {}): LeaseSummary {
  return { controller: "rotation", namespace: "keyturn-system", holder: "pod-1", state, renewedMs: 0, acquiredMs: 0, ...place };
}

/** As the Leases have it; the watch of them is live by default. */
function leader(
  leases: readonly LeaseSummary[],
  {
    state = { type: "live" },
    synced = true,
    names = controllers,
  }: { state?: WatchStatus["state"]; synced?: boolean; names?: typeof controllers } = {},
) {
  const status: WatchStatus = { resource: "leases.coordination.k8s.io", namespace: undefined, state, synced, objects: 0, quietForMs: 0 };
  const watched: Pick<WatchedLeases, "status" | "summaries"> = { status: () => status, summaries: () => leases };
  return leaseLeaders(watched, names).of("rotation", 0);
}

it.each([
  ["held", [lease("held")], "led", ""],
  ["none", [], "none", "there is no Lease of an operator"],
  ["of another step", [lease("held", { controller: "jwks" })], "none", "there is no Lease of an operator"],
  ["silent", [lease("expired")], "none", "pod-1 has not renewed its Lease since 1970-01-01T00:00:00.000Z"],
  ["given back", [lease("free", { holder: undefined })], "none", "the last operator has given its Lease back"],
  ["held, of one of two controllers", [lease("held")], "none", "controller rotation-more has no Lease; it may wait for a CRD, or not be switched on"],
  ["held, and one left behind elsewhere", [lease("expired", { namespace: "default" }), lease("held")], "led", ""],
] as const)("a Lease that is %s", (what, leases, state, message) => {
  const names = what.endsWith("of one of two controllers")
    ? {
        ...controllers,
        rotation: [
          { name: "rotation", resources: ["rotationtargets.a"] },
          { name: "rotation-more", resources: ["more.a"] },
        ],
      }
    : controllers;
  expect(leader(leases, { names })).toEqual({ state, message, ...(names !== controllers && { only: ["more.a"] }) });
});

it("Leases that cannot be read say nothing about who leads, even if they were read before", () => {
  const held = [lease("held")];
  expect(leader(held, { state: { type: "retrying", error: "connect ECONNREFUSED" } })).toMatchObject({ state: "unknown" });
  const rule = "list leases.coordination.k8s.io in the cluster";
  expect(leader(held, { state: { type: "forbidden", rule } })).toEqual({
    state: "unknown",
    message: `the right to ${rule} is missing; --operator-namespace says where to look`,
  });
  expect(leader([], { state: { type: "syncing" }, synced: false })).toBeUndefined();
});

it.each([
  ["active", true, { state: "led", message: "" }],
  ["standby", true, { state: "led", message: "" }],
  ["starting", false, undefined],
  ["forbidden: list secrets in the cluster", false, { state: "none", message: "controller rotation: forbidden: list secrets in the cluster" }],
  ["waiting for CRD rotationtargets.a", true, { state: "none", message: "controller rotation: waiting for CRD rotationtargets.a" }],
  ["stopped", false, { state: "none", message: "controller rotation: stopped" }],
] as const)("a controller of this process that is %s", (state, ready, expected) => {
  expect(ownLeaders({ ...own(state, ready), renewals: { of: () => true } }).of("rotation", 0)).toEqual(expected);
});

it("a controller of two that does its work is told, so that what it says about its objects is believed", () => {
  const activity = { queued: 0, delayed: 0, running: 0 };
  const statuses = (state: string) => () => [
    { name: "jwks", state, ready: true, activity } as never,
    { name: "jwks-rieset", state: "waiting for CRD jwks.a", ready: true, activity } as never,
  ];
  const leaderIf = (state: string) => ownLeaders({ ...own("active"), statuses: statuses(state), renewals: { of: () => false } }).of("jwks", 0);
  const idle = { state: "none", message: "controller jwks-rieset: waiting for CRD jwks.a" };
  expect(leaderIf("active")).toEqual({ ...idle, only: ["jwks.rieset.io"] });
  expect(leaderIf("standby")).toEqual(idle);
});

/** This process, with one controller in a state. */
function own(state: string, ready = true) {
  const activity = { queued: 0, delayed: 0, running: 0 };
  const statuses = () => [{ name: "rotation", state, ready, activity } as never];
  return { statuses, controllers, contact: { lastMs: () => 0, silentForMs: () => 0 } };
}

it("for a replica that stands by, somebody leads only if the Lease is seen to be renewed", () => {
  const leaderIf = (renewed: boolean | undefined) => ownLeaders({ ...own("standby"), renewals: { of: () => renewed } }).of("rotation", 0);
  expect(leaderIf(true)).toEqual({ state: "led", message: "" });
  expect(leaderIf(undefined)).toBeUndefined();
  expect(leaderIf(false)).toEqual({ state: "none", message: "nobody renews the Lease of controller rotation" });
});

it("nobody is known to lead while the API server is silent, not even this process", () => {
  const silent = { lastMs: () => 1000, silentForMs: () => 26_000 };
  expect(ownLeaders({ ...own("active"), contact: silent, renewals: { of: () => true } }).of("rotation", 27_000)).toEqual({
    state: "unknown",
    message: "the API server has not answered since 1970-01-01T00:00:01.000Z",
  });
});

it("a Lease is renewed if it changes within its duration, by our own clock, and read or not runs out", async () => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  let version: number | undefined = 1;
  const get = async () => {
    if (version === undefined) throw new Error("connect ECONNREFUSED");
    const spec = { holderIdentity: "pod-2", leaseDurationSeconds: 15 };
    return { metadata: { name: "keyturn-rotation", uid: "u", resourceVersion: String(version) }, spec } as never;
  };
  const { of } = watchRenewals({ client: { get }, clock, namespace: "keyturn-system", statuses: own("standby").statuses }, stop.signal);
  expect(of("rotation")).toBeUndefined();
  for (; version < 6; version++) {
    await clock.advance(5_000);
    expect(of("rotation")).toBe(true);
  }
  await clock.advance(26_000);
  expect(of("rotation")).toBe(false);
  version = 7;
  await clock.advance(6_000);
  expect(of("rotation")).toBe(true);
  version = undefined;
  await clock.advance(26_000);
  expect(of("rotation")).toBe(false);
  stop.abort();
});
