// Shards in virtual time: replicas come, go, crash, pause and are cut off; every shard has at most one holder, and soon one again, evenly.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { seededRandom } from "../random.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { silentLog, SimulatedLeases, SimulatedProcess } from "./lease-simulation.fixture.ts";
import { defaultLeaseTimes } from "./lease-times.ts";
import { OutageLog } from "./outage-log.ts";
import { ShardElections } from "./shards.ts";

/** Until a shard has a holder again: the lease, polls of the dead one's last renewal, of the list and of the lease itself, slow answers and clocks. */
const takeoverMs = (defaultLeaseTimes.leaseDurationMs + 3 * 1.1 * defaultLeaseTimes.retryPeriodMs + 3 * 6_000) / 0.95;

interface Replica {
  readonly process: SimulatedProcess;
  readonly elections: ShardElections;
  readonly stop: AbortController;
  /** The shards it works on, each with the way to ask whether it still may. */
  readonly working: Map<number, () => boolean>;
}

function startReplica(world: VirtualClock, server: SimulatedLeases, options: { identity: string; seed: number; shards: number }): Replica {
  const random = seededRandom(options.seed);
  const process = new SimulatedProcess(world, server, random);
  const stop = new AbortController();
  const working = new Map<number, () => boolean>();
  const elections = new ShardElections({
    ...options,
    lease: "demo",
    times: defaultLeaseTimes,
    store: process.store,
    clock: process.clock,
    random,
    log: silentLog,
    outages: new OutageLog(silentLog, process.clock),
    drainGraceMs: 25_000,
    lead: (shard, term) => {
      const { drain, signal } = term;
      working.set(shard, () => term.isValid());
      return new Promise((resolve) => {
        const end = (delayMs: number): void => {
          process.clock.setTimer(delayMs, () => {
            working.delete(shard);
            resolve();
          });
        };
        drain.addEventListener("abort", () => end(random() * 3_000));
        signal.addEventListener("abort", () => end(random() * 500));
      });
    },
  });
  void elections.run(stop.signal);
  return { process, elections, stop, working };
}

class Fleet {
  readonly world = new VirtualClock();
  readonly server = new SimulatedLeases();
  readonly replicas: Replica[] = [];
  readonly #seed: number;
  readonly #shards: number;
  readonly #lonelyMs: number[];
  readonly violations: string[] = [];
  /** How often a shard changed hands. */
  moves = 0;
  readonly #lastHolder: (Replica | undefined)[];

  constructor(shards: number, seed: number) {
    this.#shards = shards;
    this.#seed = seed;
    this.#lonelyMs = Array.from({ length: shards }, () => 0);
    this.#lastHolder = Array.from({ length: shards });
  }

  start(): Replica {
    const index = this.replicas.length;
    const replica = startReplica(this.world, this.server, { identity: `replica-${index}`, seed: this.#seed + index, shards: this.#shards });
    this.replicas.push(replica);
    return replica;
  }

  get healthy(): readonly Replica[] {
    return this.replicas.filter(({ process, stop }) => process.running && !process.partitioned && !stop.signal.aborted);
  }

  /** Lets time pass and notes all the while whether a shard has two holders, or none for long. */
  async pass(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= 200) {
      await this.world.advance(200);
      for (let shard = 0; shard < this.#shards; shard++) {
        const holders = this.replicas.filter(({ process, working }) => process.alive && working.get(shard)?.());
        if (holders.length > 1) this.violations.push(`shard ${shard} has ${holders.length} holders`);
        const [holder] = holders;
        if (holder && holder !== this.#lastHolder[shard]) this.moves++;
        this.#lastHolder[shard] = holder ?? this.#lastHolder[shard];
        this.#lonelyMs[shard] = holder || this.healthy.length === 0 ? 0 : (this.#lonelyMs[shard] ?? 0) + 200;
        if ((this.#lonelyMs[shard] ?? 0) > takeoverMs)
          this.violations.push(`shard ${shard} has been without a holder for ${this.#lonelyMs[shard]} ms`);
      }
    }
  }

  shares(): readonly number[] {
    return this.healthy.map(({ elections }) => elections.held);
  }
}

const fault = fc.record({
  afterMs: fc.integer({ min: 0, max: 20_000 }),
  victim: fc.nat(5),
  type: fc.constantFrom("kill", "pause", "resume", "cut", "mend", "stop", "start", "start"),
});

test("no shard has two holders, and none is without one for longer than a lease", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 9 }), fc.array(fault, { maxLength: 15 }), fc.nat(), async (shards, faults, seed) => {
      const fleet = new Fleet(shards, seed);
      fleet.start();
      fleet.start();
      for (const { afterMs, victim, type } of faults) {
        await fleet.pass(afterMs);
        const replica = fleet.replicas[victim % fleet.replicas.length];
        if (!replica) continue;
        if (type === "kill") replica.process.kill();
        if (type === "pause") replica.process.pause();
        if (type === "resume") replica.process.resume();
        if (type === "cut") replica.process.partitioned = true;
        if (type === "mend") replica.process.partitioned = false;
        if (type === "stop") replica.stop.abort();
        if (type === "start") fleet.start();
      }
      await fleet.pass(takeoverMs);
      expect(fleet.violations).toEqual([]);
    }),
    { numRuns: 25 },
  );
}, 120_000);

test("shares are even when nothing goes wrong, and a replica that comes or goes moves only its share", async () => {
  const size = fc.integer({ min: 1, max: 4 });
  const change = fc.constantFrom("join", "leave", "crash");
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 12 }), size, change, fc.nat(), async (shards, replicas, type, seed) => {
      const fleet = new Fleet(shards, seed);
      for (let i = 0; i < replicas; i++) fleet.start().process.flawless = true;
      await fleet.pass(40_000);
      const even = (): void => {
        const shares = fleet.shares();
        expect(shares.reduce((sum, share) => sum + share, 0)).toBe(shares.length === 0 ? 0 : shards);
        expect(Math.max(0, ...shares) - Math.min(Infinity, ...shares)).toBeLessThanOrEqual(1);
      };
      even();
      fleet.moves = 0;
      const [first] = fleet.replicas;
      let share = first?.elections.held ?? 0;
      if (type === "join") fleet.start().process.flawless = true;
      if (type === "leave") first?.stop.abort();
      if (type === "crash") first?.process.kill();
      await fleet.pass(40_000);
      even();
      expect(fleet.violations).toEqual([]);
      if (type === "join") share = fleet.replicas.at(-1)?.elections.held ?? 0;
      else if (replicas === 1) share = 0;
      // Two replicas that look at different moments may both reach for the odd shard; then it moves once more.
      expect(fleet.moves).toBeGreaterThanOrEqual(share);
      expect(fleet.moves).toBeLessThanOrEqual(share + 1);
    }),
    { numRuns: 25 },
  );
}, 120_000);

test("Leases of replicas that are gone for good are cleared away", async () => {
  const fleet = new Fleet(2, 1);
  fleet.start();
  const gone = fleet.start();
  await fleet.pass(10_000);
  expect(fleet.server.leases.size).toBe(4);
  gone.process.kill();
  await fleet.pass(120_000);
  expect([...fleet.server.leases.keys()].filter((name) => name.includes("member"))).toHaveLength(1);
});
