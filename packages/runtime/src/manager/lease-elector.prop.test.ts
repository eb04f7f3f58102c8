// Elections in virtual time: processes are killed, paused and cut off at random, and there is never more than one leader.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { seededRandom } from "../random.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { defaultLeaseTimes, LeaseElector } from "./lease-elector.ts";
import { silentLog, SimulatedLeases, SimulatedProcess } from "./lease-simulation.fixture.ts";
import { OutageLog } from "./manager.ts";

/** The longest until another replica takes over: the lease, two polls (one to see the last renewal late, one to act), slow answers, slow clocks. */
const takeoverMs = (defaultLeaseTimes.leaseDurationMs + 2 * 1.1 * defaultLeaseTimes.retryPeriodMs + 2 * 6_000) / 0.95;

interface Replica {
  readonly process: SimulatedProcess;
  readonly elector: LeaseElector;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  working: boolean;
  /** How long it has been working without a lease. */
  overdueMs: number;
}

function startReplica(world: VirtualClock, server: SimulatedLeases, options: { identity: string; seed: number }): Replica {
  const random = seededRandom(options.seed);
  const process = new SimulatedProcess(world, server, random);
  const stop = new AbortController();
  const elector = new LeaseElector({
    lease: "demo",
    identity: options.identity,
    times: defaultLeaseTimes,
    store: process.store,
    clock: process.clock,
    random,
    log: silentLog,
    outages: new OutageLog(silentLog, process.clock),
    drainGraceMs: 5_000,
    lead: ({ drain, signal }) => {
      expect(replica.working).toBe(false);
      replica.working = true;
      return new Promise((resolve) => {
        const end = (delayMs: number): void => {
          process.clock.setTimer(delayMs, () => {
            replica.working = false;
            resolve();
          });
        };
        drain.addEventListener("abort", () => end(random() * 8_000));
        signal.addEventListener("abort", () => end(random() * 500));
      });
    },
  });
  const replica: Replica = { process, elector, stop, ended: elector.run(stop.signal), working: false, overdueMs: 0 };
  return replica;
}

const fault = fc.record({
  afterMs: fc.integer({ min: 0, max: 20_000 }),
  victim: fc.nat(3),
  type: fc.constantFrom("kill", "pause", "resume", "cut", "mend", "stop", "start", "delete" as const),
});

test("never two at once, none works without the lease, and one takes over in time", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fault, { maxLength: 25 }), fc.nat(), async (faults, seed) => {
      const world = new VirtualClock();
      const server = new SimulatedLeases();
      const replicas: Replica[] = [];
      const start = (): void =>
        void replicas.push(startReplica(world, server, { identity: `replica-${replicas.length}`, seed: seed + replicas.length }));
      start();
      start();

      let deletedAtMs = -Infinity;
      let leaderlessMs = 0;
      const pass = async (ms: number): Promise<void> => {
        for (let leftMs = ms; leftMs > 0; leftMs -= 100) {
          await world.advance(Math.min(100, leftMs));
          const leaders = replicas.filter(({ process, elector }) => process.alive && elector.held);
          // Somebody who deletes the Lease by hand takes the proof away; the old leader finds out at its next renewal.
          expect(leaders.length).toBeLessThanOrEqual(world.monotonic() - deletedAtMs > takeoverMs ? 1 : 2);
          const healthy = replicas.some(({ process, stop }) => process.running && !process.partitioned && !stop.signal.aborted);
          leaderlessMs = leaders.length === 0 && healthy ? leaderlessMs + 100 : 0;
          expect(leaderlessMs).toBeLessThanOrEqual(takeoverMs);
          for (const replica of replicas) {
            const overdue = replica.process.running && replica.working && !replica.elector.held;
            replica.overdueMs = overdue ? replica.overdueMs + 100 : 0;
            expect(replica.overdueMs).toBeLessThanOrEqual(800);
          }
        }
      };

      for (const { afterMs, victim, type } of faults) {
        await pass(afterMs);
        const replica = replicas[victim % replicas.length];
        if (!replica) continue;
        if (type === "kill") replica.process.kill();
        if (type === "pause") replica.process.pause();
        if (type === "resume") replica.process.resume();
        if (type === "cut") replica.process.partitioned = true;
        if (type === "mend") replica.process.partitioned = false;
        if (type === "stop") replica.stop.abort();
        if (type === "start") start();
        if (type === "delete") {
          server.leases.delete("demo");
          deletedAtMs = world.monotonic();
        }
      }
      for (const { process } of replicas) {
        process.partitioned = false;
        process.resume();
      }
      start();
      await pass(takeoverMs + 10_000);
      expect(server.leases.get("demo")?.spec?.holderIdentity).toMatch(/^replica-/);
    }),
    { numRuns: 60 },
  );
});
