// The manager in virtual time: independent controllers, elections between two managers, outages, shutdown.
import { expect, it, test } from "vitest";
import type { Caches, WatchStatus } from "../cache/caches.ts";
import { ApiError } from "../client/api-error.ts";
import type { Client } from "../client/client.ts";
import { ConnectionError } from "../client/transport.ts";
import type { ControllerDefinition, Reconcile } from "../controller/controller.ts";
import { SmallWorld, thingKind } from "../controller/small-world.fixture.ts";
import type { Logger } from "../observe/logger.ts";
import { createMetrics } from "../observe/metrics.ts";
import { seededRandom } from "../random.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { silentLog, SimulatedLeases } from "./lease-simulation.fixture.ts";
import type { Lease } from "./lease-state.ts";
import { controllerState, createManager, isReady, type Manager } from "./manager.ts";

function controller(name: string, reconcile: Reconcile): ControllerDefinition {
  return {
    name,
    access: [],
    setup(scope) {
      scope.trigger(scope.watch(thingKind));
      return reconcile;
    },
  };
}

/** Caches whose first watch is the first world's, and so on. */
function cachesOf(worlds: readonly SmallWorld[]): Caches {
  const rest = [...worlds];
  return {
    watch: () => (rest.shift() ?? new SmallWorld()).cache as never,
    start: () => {},
    statuses: () => worlds.flatMap((world) => world.caches.statuses()),
    statusOf: (cache) => {
      const world = worlds.find((candidate) => candidate.cache === cache) ?? new SmallWorld();
      return world.caches.statusOf(cache);
    },
    whenObserved: () => Promise.resolve(true),
  };
}

/** A client that knows nothing but Leases, for as long as `isUp`. */
function leaseClient(server: SimulatedLeases, isUp: () => boolean = () => true): Client {
  return {
    ...new SmallWorld().client,
    async request({ method, path, body }) {
      if (!isUp()) throw new ConnectionError(`${method} ${path}: connection refused`);
      const name = path.split("/").at(-1) ?? "";
      const lease = server.leases.get(name);
      if (method !== "GET") return server.put(JSON.parse(body ?? "") as Lease, method === "POST" ? "create" : "replace");
      if (!lease) throw new ApiError(`GET ${path}`, 404, { reason: "NotFound" });
      return lease;
    },
  };
}

interface Options {
  readonly clock: VirtualClock;
  readonly worlds: readonly SmallWorld[];
  readonly client?: Client;
  readonly identity?: string;
  readonly log?: Logger;
}

function manage(controllers: readonly ControllerDefinition[], { clock, worlds, client, identity, log = silentLog }: Options): Manager {
  return createManager({
    operator: { name: "test", domain: "test.dev" },
    controllers,
    client: client ?? new SmallWorld().client,
    caches: cachesOf(worlds),
    clock,
    random: seededRandom(1),
    log,
    metrics: createMetrics(),
    events: () => ({ record() {} }),
    leaderElection: { enabled: identity !== undefined, namespace: "system", identity: identity ?? "" },
  });
}

const states = (manager: Manager): readonly string[] => manager.statuses().map(({ state }) => state);

test("a controller that waits for a CRD or lacks a right says so and delays no other", async () => {
  const clock = new VirtualClock();
  const worlds = [new SmallWorld(), new SmallWorld(), new SmallWorld()];
  const [missing, forbidden, fine] = worlds;
  if (missing) missing.state = { type: "missing" };
  if (forbidden) forbidden.state = { type: "forbidden", rule: "list secrets in the cluster" };
  fine?.put("a", 1);
  fine?.sync();
  const runs: string[] = [];
  const manager = manage(
    ["one", "two", "three"].map((name) => controller(name, async ({ key }) => void runs.push(`${name} ${key}`))),
    { clock, worlds },
  );
  const stop = new AbortController();
  const ended = manager.run(stop.signal);
  await clock.advance(1_000);
  expect(states(manager)).toEqual(["waiting for CRD things.test.dev", "forbidden: list secrets in the cluster", "active"]);
  expect(manager.statuses().map(({ ready }) => ready)).toEqual([true, false, true]);
  expect(runs).toEqual(["three test/a"]);

  if (missing) missing.state = { type: "live" };
  missing?.put("b", 1);
  missing?.sync();
  await clock.advance(1_000);
  expect(states(manager)[0]).toBe("active");
  expect(runs).toEqual(["three test/a", "one test/b"]);
  stop.abort();
  await clock.advance(1_000);
  await ended;
  expect(states(manager)).toEqual(["stopped", "stopped", "stopped"]);
});

test("of two managers one acts; the other takes over at once when it stops, with every key", async () => {
  const clock = new VirtualClock();
  const server = new SimulatedLeases();
  const runs: string[] = [];
  const start = (identity: string): { readonly manager: Manager; readonly stop: AbortController; readonly ended: Promise<void> } => {
    const world = new SmallWorld();
    world.put("a", 1);
    world.sync();
    const reconcile: Reconcile = async ({ key }) => void runs.push(`${identity} ${key}`);
    const manager = manage([controller("demo", reconcile)], { clock, worlds: [world], client: leaseClient(server), identity });
    const stop = new AbortController();
    return { manager, stop, ended: manager.run(stop.signal) };
  };
  const first = start("first");
  await clock.advance(100);
  const second = start("second");
  await clock.advance(60_000);
  expect([states(first.manager), states(second.manager)]).toEqual([["active"], ["standby"]]);
  expect(runs).toEqual(["first test/a"]);
  first.stop.abort();
  await clock.advance(2_500);
  await first.ended;
  expect([states(first.manager), states(second.manager)]).toEqual([["stopped"], ["active"]]);
  expect(runs).toEqual(["first test/a", "second test/a"]);
  expect(server.leases.get("demo")?.spec).toMatchObject({ holderIdentity: "second", leaseTransitions: 1 });
});

test("a Lease that is given back, at whatever moment of the other's, has a holder again within a second by its own times", async () => {
  const clock = new VirtualClock();
  const server = new SimulatedLeases();
  const start = (identity: string) => {
    const world = new SmallWorld();
    world.sync();
    const manager = manage([controller("demo", async () => {})], { clock, worlds: [world], client: leaseClient(server), identity });
    const stop = new AbortController();
    return { stop, ended: manager.run(stop.signal) };
  };
  let leader = start("0");
  for (let replica = 1; replica <= 60; replica++) {
    await clock.advance(100);
    const next = start(`${replica}`);
    await clock.advance(5_000 + replica * 37);
    expect(server.leases.get("demo")?.spec?.holderIdentity).toBe(`${replica - 1}`);
    leader.stop.abort();
    await clock.advance(1);
    const given = server.leases.get("demo")?.spec;
    expect(given?.holderIdentity).toBeUndefined();
    await clock.advance(1_000);
    const taken = server.leases.get("demo")?.spec;
    expect(taken?.holderIdentity).toBe(`${replica}`);
    expect(Date.parse(taken?.acquireTime ?? "") - Date.parse(given?.renewTime ?? "")).toBeLessThan(1_000);
    await leader.ended;
    leader = next;
  }
  leader.stop.abort();
  await clock.advance(1_000);
});

test("losing the lease stops the controller before the lease has run out, and it comes back by itself", async () => {
  const clock = new VirtualClock();
  const server = new SimulatedLeases();
  const world = new SmallWorld();
  world.put("a", 1);
  world.sync();
  let up = true;
  let aborted = 0;
  const hang: Reconcile = ({ signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        aborted++;
        reject(signal.reason);
      });
    });
  const manager = manage([controller("demo", hang)], { clock, worlds: [world], client: leaseClient(server, () => up), identity: "me" });
  void manager.run(new AbortController().signal);
  await clock.advance(1_000);
  expect(states(manager)).toEqual(["active"]);
  up = false;
  await clock.advance(10_000);
  expect([states(manager), aborted]).toEqual([["standby"], 1]);
  await clock.advance(600_000);
  up = true;
  await clock.advance(3_000);
  expect(states(manager)).toEqual(["active"]);
});

test("an outage is logged once, then ever less often, and once more at its end", async () => {
  const clock = new VirtualClock();
  const server = new SimulatedLeases();
  const world = new SmallWorld();
  world.sync();
  let up = false;
  const lines: string[] = [];
  const note = (_fields: object, message: string): void => {
    if (message.startsWith("the API server")) lines.push(`${Math.round(clock.monotonic() / 1000)} s: ${message}`);
  };
  const log: Logger = { ...silentLog, info: note, warn: note, child: () => log };
  const manager = manage([controller("demo", async () => {})], {
    clock,
    worlds: [world],
    client: leaseClient(server, () => up),
    identity: "me",
    log,
  });
  world.state = { type: "retrying", error: "connection refused" };
  void manager.run(new AbortController().signal);
  await clock.advance(300_000);
  up = true;
  world.state = { type: "live" };
  await clock.advance(10_000);
  expect(lines).toEqual([
    "0 s: the API server does not answer as it should; trying again until it does",
    "10 s: the API server does not answer as it should; trying again until it does",
    "30 s: the API server does not answer as it should; trying again until it does",
    "70 s: the API server does not answer as it should; trying again until it does",
    "150 s: the API server does not answer as it should; trying again until it does",
    expect.stringMatching(/^30[0-3] s: the API server answers again$/),
  ]);
  expect(states(manager)).toEqual(["active"]);
});

test("shutdown lets what runs end, cuts what does not within the grace, and then gives the lease back", async () => {
  const clock = new VirtualClock();
  const server = new SimulatedLeases();
  const world = new SmallWorld();
  for (const name of ["quick", "slow", "deaf"]) world.put(name, 1);
  world.sync();
  const events: string[] = [];
  const reconcile: Reconcile = ({ key, signal }) =>
    new Promise((resolve, reject) => {
      if (key === "test/deaf") return;
      if (key === "test/quick") clock.setTimer(10_000, () => (events.push("quick ended"), resolve()));
      signal.addEventListener("abort", () => (events.push(`${key} aborted`), reject(signal.reason)));
    });
  const manager = manage([controller("demo", reconcile)], { clock, worlds: [world], client: leaseClient(server), identity: "me" });
  const stop = new AbortController();
  const ended = manager.run(stop.signal).then(() => events.push("ended"));
  await clock.advance(5_000);
  stop.abort();
  world.put("late", 1);
  await clock.advance(20_000);
  expect(events).toEqual(["quick ended"]);
  expect(server.leases.get("demo")?.spec?.holderIdentity).toBe("me");
  await clock.advance(6_500);
  await ended;
  expect(events).toEqual(["quick ended", "test/slow aborted", "ended"]);
  expect(server.leases.get("demo")?.spec?.holderIdentity).toBeUndefined();
});

// How the state of a controller follows from its watches, its election and its terms.

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
