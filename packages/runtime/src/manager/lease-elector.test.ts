// Corners of an election that random faults seldom reach.
import { expect, test } from "vitest";
import { ApiError } from "../client/api-error.ts";
import { seededRandom } from "../random.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { defaultLeaseTimes, LeaseElector } from "./lease-elector.ts";
import type { LeaseStore } from "./lease-state.ts";
import { silentLog, SimulatedLeases } from "./lease-simulation.fixture.ts";
import { OutageLog } from "./manager.ts";

function elect(
  clock: VirtualClock,
  server: SimulatedLeases,
  isAnswering: () => boolean,
  identity = "me",
  { annotations, refuse = () => {} }: { readonly annotations?: Readonly<Record<string, string>>; readonly refuse?: () => void } = {},
): { readonly elector: LeaseElector; readonly terms: string[] } {
  const terms: string[] = [];
  /** The server always hears; whether its answer arrives is another matter. */
  const answer = async <R>(value: R, signal: AbortSignal): Promise<R> => {
    if (isAnswering()) return value;
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
  };
  const store: LeaseStore = {
    read: async (name, signal) => answer(server.leases.get(name), signal),
    async create(lease, signal) {
      refuse();
      return answer(server.put(lease, "create"), signal);
    },
    replace: async (lease, signal) => answer(server.put(lease, "replace"), signal),
  };
  const elector = new LeaseElector({
    lease: "demo",
    identity,
    ...(annotations && { annotations }),
    times: defaultLeaseTimes,
    store,
    clock,
    random: seededRandom(1),
    log: silentLog,
    outages: new OutageLog(silentLog, clock),
    drainGraceMs: 1_000,
    lead: ({ drain, signal }) => {
      terms.push("began");
      return new Promise((resolve) => {
        for (const end of [drain, signal]) end.addEventListener("abort", () => (terms.push("ended"), resolve()), { once: true });
      });
    },
  });
  return { elector, terms };
}

test("the lease is given back even when the answer to the last renewal was not waited for", async () => {
  const clock = new VirtualClock();
  const server = new SimulatedLeases();
  let answering = true;
  const { elector } = elect(clock, server, () => answering);
  const stop = new AbortController();
  const ended = elector.run(stop.signal);
  await clock.advance(1_000);
  const taken = server.leases.get("demo")?.metadata.resourceVersion;
  answering = false;
  await clock.advance(1_500);
  expect(server.leases.get("demo")?.metadata.resourceVersion).not.toBe(taken);
  answering = true;
  stop.abort();
  await clock.advance(0);
  await ended;
  expect(server.leases.get("demo")?.spec?.holderIdentity).toBeUndefined();
});

test("a lease that somebody deleted is lost at once, and taken anew only after work has stopped", async () => {
  const clock = new VirtualClock();
  const server = new SimulatedLeases();
  const { elector, terms } = elect(clock, server, () => true);
  const stop = new AbortController();
  const ended = elector.run(stop.signal);
  await clock.advance(1_000);
  server.leases.delete("demo");
  await clock.advance(5_000);
  expect(terms).toEqual(["began", "ended", "began"]);
  expect(server.leases.get("demo")?.spec).toMatchObject({ holderIdentity: "me", leaseTransitions: 0 });
  stop.abort();
  await clock.advance(2_000);
  await ended;
});

test("a lease that is given back has a new holder within a second, whenever that is", async () => {
  for (let givenBackMs = 5_000; givenBackMs < 7_000; givenBackMs += 100) {
    const clock = new VirtualClock();
    const server = new SimulatedLeases();
    const [first, second] = [elect(clock, server, () => true), elect(clock, server, () => true, "other")];
    const [stopFirst, stopSecond] = [new AbortController(), new AbortController()];
    const ended = [first.elector.run(stopFirst.signal), second.elector.run(stopSecond.signal)];
    await clock.advance(givenBackMs);
    expect(server.leases.get("demo")?.spec?.holderIdentity).toBe("me");
    stopFirst.abort();
    await clock.advance(1_000);
    expect(server.leases.get("demo")?.spec?.holderIdentity).toBe("other");
    stopSecond.abort();
    await clock.advance(2_000);
    await Promise.all(ended);
  }
});

test("a machine that was suspended, during which only the wall clock went on, does not act on what it held before", async () => {
  const clock = new VirtualClock();
  const server = new SimulatedLeases();
  const { elector, terms } = elect(clock, server, () => true);
  const stop = new AbortController();
  const ended = elector.run(stop.signal);
  await clock.advance(1_000);
  expect(elector.held).toBe(true);
  // Less than the deadline, and a clock that is set back: nothing was slept through that counts.
  clock.jumpWall(5_000);
  expect(elector.held).toBe(true);
  clock.jumpWall(-3_600_000);
  expect(elector.held).toBe(true);
  await clock.advance(5_000);
  expect([elector.held, terms]).toEqual([true, ["began"]]);

  clock.jumpWall(30_000);
  // Before any timer fires.
  expect(elector.held).toBe(false);
  await clock.advance(5_000);
  expect(terms).toEqual(["began", "ended", "began"]);
  stop.abort();
  await clock.advance(2_000);
  await ended;
});

test("a machine that was suspended leaves to others what they have taken meanwhile", async () => {
  const clock = new VirtualClock();
  const server = new SimulatedLeases();
  const { elector, terms } = elect(clock, server, () => true);
  const stop = new AbortController();
  const ended = elector.run(stop.signal);
  await clock.advance(1_000);
  clock.jumpWall(30_000);
  const taken = server.leases.get("demo");
  server.put({ metadata: { ...taken?.metadata, name: "demo" }, spec: { ...taken?.spec, holderIdentity: "other" } }, "replace");
  await clock.advance(5_000);
  expect([elector.held, terms]).toEqual([false, ["began", "ended"]]);
  stop.abort();
  await clock.advance(2_000);
  await ended;
});

test("what a Lease says besides is written with it, beside what others have written, and stays when it is given back", async () => {
  const clock = new VirtualClock();
  const server = new SimulatedLeases();
  server.put({ metadata: { name: "demo", annotations: { theirs: "kept", serves: "something else" } } }, "create");
  const { elector } = elect(clock, server, () => true, "me", { annotations: { serves: "everything" } });
  const stop = new AbortController();
  const ended = elector.run(stop.signal);
  await clock.advance(1_000);
  expect(server.leases.get("demo")).toMatchObject({
    metadata: { annotations: { theirs: "kept", serves: "everything" } },
    spec: { holderIdentity: "me" },
  });
  server.leases.delete("demo");
  await clock.advance(5_000);
  expect(server.leases.get("demo")?.metadata.annotations).toEqual({ serves: "everything" });
  stop.abort();
  await clock.advance(2_000);
  await ended;
  expect(server.leases.get("demo")?.metadata.annotations).toEqual({ serves: "everything" });
});

test("a namespace that does not exist is a problem, and none when it has been made", async () => {
  const clock = new VirtualClock();
  const server = new SimulatedLeases();
  const missing = new ApiError("POST leases", 404, { reason: "NotFound", message: 'namespaces "system" not found' });
  let exists = false;
  const { elector, terms } = elect(clock, server, () => true, "me", {
    refuse() {
      if (!exists) throw missing;
    },
  });
  const stop = new AbortController();
  const ended = elector.run(stop.signal);
  await clock.advance(5_000);
  expect([terms, elector.problem]).toEqual([[], { type: "failing", error: expect.stringContaining('namespaces "system" not found') as unknown }]);
  exists = true;
  await clock.advance(5_000);
  expect([terms, elector.problem]).toEqual([["began"], undefined]);
  stop.abort();
  await clock.advance(2_000);
  await ended;
});
