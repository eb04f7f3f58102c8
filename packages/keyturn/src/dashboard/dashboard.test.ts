import type { StageRecord } from "@keyturn/dashboard/contract";
import { type Cache, Lease, resourceOf, type WatchStatus } from "@keyturn/runtime";
import { expect, it } from "vitest";
import type { ServerContact } from "../status/server-contact.ts";
import type { RecordSource } from "../feature/record.ts";
import type { StageLeaders } from "./stage-leaders.ts";
import { features } from "../registry.ts";
import { stagesSource } from "./dashboard.ts";

/** A server that was last heard at that time. */
function heardAt(lastMs: () => number, silentForMs = () => 0): ServerContact {
  return { lastMs, silentForMs };
}

/** A step with two kinds of its own and Leases, whose watches are in the states that are given. */
function verifyStep(states: () => readonly WatchStatus["state"][], leaders: Partial<StageLeaders> = {}, contact: ServerContact = heardAt(() => 0)) {
  const resources = ["secretchecksums.a", "ingresschecksums.a", resourceOf(Lease)];
  const caches = resources.map((resource) => ({ resource }) as unknown as Cache<unknown>);
  const source: RecordSource = { step: "checksum", resources, caches: () => caches, ids: () => [], make: () => undefined };
  const statusOf = (cache: Cache<unknown>): WatchStatus => {
    const index = caches.indexOf(cache);
    const state = states()[index] ?? { type: "live" };
    return { resource: resources[index] ?? "", namespace: undefined, state, synced: state.type !== "syncing", objects: 0, quietForMs: 0 };
  };
  const all: StageLeaders = { switchedOn: false, of: () => ({ state: "led", message: "" }), ...leaders };
  const made = stagesSource(() => {}, { registry: features, sources: () => [source], statusOf, leaders: all, contact });
  return (nowMs: number) => made.make("step/checksum", nowMs)?.record as StageRecord;
}

it("what is shown has an age from when the API server no longer answers until it does", () => {
  let states: readonly WatchStatus["state"][] = [];
  let heardMs = 900;
  const contact = heardAt(() => heardMs);
  const at = verifyStep(() => states, {}, contact);
  expect(at(1000)).toMatchObject({ state: "on", troubles: [] });
  states = [{ type: "live" }, { type: "retrying", error: "connect ECONNREFUSED" }];
  heardMs = 2900;
  expect(at(3000)).toMatchObject({ asOfMs: 900, troubles: [{ resource: "ingresschecksums.a", state: "retrying" }] });
  expect(at(99_000)).toMatchObject({ asOfMs: 900 });
  states = [];
  expect(at(101_000)).not.toHaveProperty("asOfMs");
});

it("a server that is silent is as good as dead, although no watch has noticed", () => {
  let silentMs = 20_000;
  const at = verifyStep(
    () => [],
    {},
    heardAt(
      () => 500,
      () => silentMs,
    ),
  );
  expect(at(20_500)).toMatchObject({ state: "on", troubles: [] });
  silentMs = 26_000;
  expect(at(26_500)).toMatchObject({ asOfMs: 500, troubles: [{ state: "retrying" }, { state: "retrying" }, { state: "retrying" }] });
});

it.each([
  ["absent", false, [{ type: "missing" }, { type: "missing" }]],
  // An operator that has it switched on waits for the CRDs.
  ["limited", true, [{ type: "missing" }, { type: "missing" }]],
  ["limited", false, [{ type: "missing" }]],
  ["limited", false, [{ type: "live" }, { type: "live" }, { type: "forbidden", rule: "list leases.coordination.k8s.io in the cluster" }]],
  ["on", false, [{ type: "syncing" }]],
] as const)("the step is %s", (state, switchedOn, states) => {
  expect(verifyStep(() => states, { switchedOn })(0).state).toBe(state);
});

it("who leads is shown, and nothing before that is known", () => {
  const none = { state: "none", message: "there is no Lease of an operator" } as const;
  expect(verifyStep(() => [], { of: (step) => (step === "checksum" ? none : undefined) })(0).leader).toEqual(none);
  expect(verifyStep(() => [], { of: () => undefined })(0)).not.toHaveProperty("leader");
});
