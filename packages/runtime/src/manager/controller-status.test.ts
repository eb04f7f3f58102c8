// How the state of a controller follows from its watches, its election and its terms.
import { expect, it } from "vitest";
import type { WatchStatus } from "../cache/caches.ts";
import { controllerState, isReady } from "./controller-status.ts";

const watch = (resource: string, facts: Partial<WatchStatus> = {}): WatchStatus => ({
  resource,
  namespace: undefined,
  state: { type: "live" },
  synced: true,
  objects: 0,
  quietForMs: 0,
  ...facts,
});
const missing = { state: { type: "missing" } } as const;
const idle = { stopped: false, election: undefined, active: false };

it("waits for the CRD of a kind that it needs, also when it had it before", () => {
  const watches = [watch("secrets"), watch("widgets.test", missing), watch("gadgets.test", { ...missing, optional: true })];
  for (const active of [false, true]) expect(controllerState({ ...idle, watches, active })).toBe("waiting for CRD widgets.test");
});

it("works without the kinds that it can do without, and names them", () => {
  const watches = [watch("secrets"), ...["gadgets.test", "gears.test"].map((resource) => watch(resource, { ...missing, optional: true }))];
  const state = controllerState({ ...idle, watches, active: true });
  expect(state).toBe("active, without gadgets.test, gears.test");
  expect(isReady(state)).toBe(true);
  expect(controllerState({ ...idle, watches })).toBe("standby");
  expect(controllerState({ ...idle, watches: watches.slice(0, 1), active: true })).toBe("active");
});

it("says first what somebody must mend", () => {
  const watches = [watch("widgets.test", missing), watch("secrets", { state: { type: "forbidden", rule: "list secrets in the cluster" } })];
  const state = controllerState({ ...idle, watches, active: true });
  expect(state).toBe("forbidden: list secrets in the cluster");
  expect(isReady(state)).toBe(false);
});
