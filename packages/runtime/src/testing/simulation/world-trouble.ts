// The faults that hit a whole process or the server: drawn one at a time, each undone after a while or when the simulation calms down.
import type { Clock } from "../../clock.ts";
import { chance, drawInt, drawOne, type Random, type Range } from "../../random.ts";
import type { SimulatedNetwork } from "./network.ts";
import type { Backup } from "./object-store.ts";
import type { ProcessHost } from "./process.ts";
import type { SimulatedApiServer } from "./simulated-api-server.ts";

/** Faults of single requests and of watches. Rates are probabilities. */
export interface FaultRates {
  /** One way, each way. */
  readonly latencyMs: Range;
  /** The request never reaches the server. */
  readonly lostRequest: number;
  /** The server does what was asked, and the client does not learn it. */
  readonly lostAnswer: number;
  /** 429 with Retry-After, 500, 503, or an answer that breaks off in the middle. */
  readonly refusal: number;
  /** Per delivery: the watch ends, cleanly or with a broken connection. */
  readonly watchCut: number;
  /** Per delivery: nothing more comes, and the connection stays open. */
  readonly watchStall: number;
  /** Per delivery: the delivery comes late, and what is behind it too. */
  readonly watchDelay: number;
  readonly watchDelayMs: Range;
  /** A bookmark that is due is not sent. */
  readonly bookmarkWithheld: number;
  /** WatchList is refused, or its end bookmark never comes. */
  readonly watchListRefused: number;
  /** How many revisions reads that allow it are behind. */
  readonly cacheLag: Range;
}

/** Faults of the world, as weights: how often each is drawn when a step is drawn. */
export interface WorldFaults {
  /** A process dies between any two instructions; it is started again a little later. */
  readonly crash: number;
  /** A process is asked to stop, and started again when it has. */
  readonly stop: number;
  /** A process stands still (SIGSTOP) for a while. */
  readonly pause: number;
  /** A process cannot reach the server for a while. */
  readonly partition: number;
  /** A process's wall clock jumps. */
  readonly clockJump: number;
  /** The history of the store is forgotten: 410 for those who are behind. */
  readonly compaction: number;
  /** The server is away for a while; all connections break. */
  readonly serverRestart: number;
  /** The store goes back to a backup. */
  readonly restore: number;
}

/** No faults at all; answers take a millisecond or two. */
export const noFaults: FaultRates = {
  latencyMs: [1, 2],
  lostRequest: 0,
  lostAnswer: 0,
  refusal: 0,
  watchCut: 0,
  watchStall: 0,
  watchDelay: 0,
  watchDelayMs: [0, 0],
  bookmarkWithheld: 0,
  watchListRefused: 0,
  cacheLag: [0, 0],
};

/** A bad day. */
export const manyFaults: FaultRates = {
  latencyMs: [1, 400],
  lostRequest: 0.03,
  lostAnswer: 0.05,
  refusal: 0.04,
  watchCut: 0.03,
  watchStall: 0.01,
  watchDelay: 0.1,
  watchDelayMs: [100, 20_000],
  bookmarkWithheld: 0.3,
  watchListRefused: 0.1,
  cacheLag: [0, 5],
};

/** All faults of the world, the heavy ones seldom. */
export const manyWorldFaults: WorldFaults = { crash: 4, stop: 2, pause: 2, partition: 2, clockJump: 2, compaction: 4, serverRestart: 2, restore: 1 };

/** What trouble can befall. */
interface WorldTroubleOptions {
  readonly server: SimulatedApiServer;
  readonly network: SimulatedNetwork;
  readonly clock: Clock;
  readonly hosts: readonly ProcessHost[];
  readonly random: Random;
  readonly note: (line: string) => void;
  /** How old the backup is that a restore goes back to. */
  readonly backupAgeMs: Range;
}

/** A backup is taken this often. */
const backupEveryMs = 15_000;

/** Makes trouble, and remembers how to end it. */
export class WorldTrouble {
  readonly #options: WorldTroubleOptions;
  #backups: (Backup & { readonly atMs: number })[] = [];
  readonly #ends = new Set<() => void>();
  #hasStopped = false;
  #lastRestoreMs = -Infinity;

  constructor(options: WorldTroubleOptions) {
    this.#options = options;
    this.#backUpForever();
  }

  /** When the store last went back to a backup, on the monotonic scale. */
  get lastRestoreMs(): number {
    return this.#lastRestoreMs;
  }

  /** Everything that can go wrong now, by weight. */
  alternatives(weights: WorldFaults): readonly (readonly [weight: number, happen: () => void])[] {
    const host = drawOne(this.#options.random, this.#options.hosts);
    const server = [
      [weights.compaction, () => this.#compact()],
      [weights.serverRestart, () => this.#restart()],
      [weights.restore, () => this.#restore()],
    ] as const;
    if (!host) return server;
    return [
      [weights.crash, () => this.#crash(host)],
      [weights.stop, () => this.#stop(host)],
      [weights.pause, () => this.#pause(host)],
      [weights.partition, () => this.#partition(host)],
      [weights.clockJump, () => host.jumpClock(drawInt(this.#options.random, [-120_000, 120_000]))],
      ...server,
    ];
  }

  /** Ends all trouble: processes run, the network is whole, the server is up. */
  stop(): void {
    this.#hasStopped = true;
    for (const end of this.#ends) end();
    this.#ends.clear();
    for (const host of this.#options.hosts) host.start();
  }

  #crash(host: ProcessHost): void {
    host.crash();
    this.#for([0, 20_000], () => host.start());
  }

  #stop(host: ProcessHost): void {
    host.stop();
    this.#for([31_000, 60_000], () => host.start());
  }

  #pause(host: ProcessHost): void {
    host.pause();
    this.#for([1_000, 60_000], () => host.resume());
  }

  #partition(host: ProcessHost): void {
    const { network, note } = this.#options;
    note(`${host.name} is cut off`);
    network.setPartitioned(host.name, true);
    this.#for([1_000, 90_000], () => {
      note(`${host.name} is no longer cut off`);
      network.setPartitioned(host.name, false);
    });
  }

  #compact(): void {
    const { server, random, note } = this.#options;
    const behind = chance(random, 0.5) ? 0 : drawInt(random, [0, 20]);
    note(`compacted to ${server.store.revision - behind}`);
    server.store.compact(server.store.revision - behind);
  }

  #restart(): void {
    const { network, note } = this.#options;
    note("the server goes down");
    network.setServerUp(false);
    this.#for([100, 20_000], () => {
      note("the server comes up");
      network.setServerUp(true);
    });
  }

  /** As an administrator would: the server down, the backup in, the server up. */
  #restore(): void {
    const { server, network, clock, random, note } = this.#options;
    const [youngestMs, oldestMs] = this.#options.backupAgeMs;
    const ageOf = ({ atMs }: { readonly atMs: number }): number => clock.monotonic() - atMs;
    const backup = drawOne(
      random,
      this.#backups.filter((candidate) => ageOf(candidate) >= youngestMs && ageOf(candidate) <= oldestMs),
    );
    if (!backup) return;
    network.setServerUp(false);
    note(`restored from ${server.store.revision} to ${backup.revision}, ${ageOf(backup)} ms old`);
    this.#lastRestoreMs = clock.monotonic();
    server.store.restore(backup);
    this.#backups = [];
    // Nobody restores an etcd in less, not even when trouble is over: members stop, data is copied, members start.
    clock.setTimer(drawInt(random, [5_000, 20_000]), () => network.setServerUp(true));
  }

  #backUpForever(): void {
    this.#options.clock.setTimer(backupEveryMs, () => {
      const { server, clock, backupAgeMs } = this.#options;
      const nowMs = clock.monotonic();
      this.#backups = [...this.#backups.filter(({ atMs }) => nowMs - atMs <= backupAgeMs[1]), { ...server.store.backup(), atMs: nowMs }];
      if (!this.#hasStopped) this.#backUpForever();
    });
  }

  /** Ends the trouble after a time of the range, or when all trouble ends. */
  #for(range: Range, end: () => void): void {
    this.#ends.add(end);
    this.#options.clock.setTimer(drawInt(this.#options.random, range), () => {
      if (this.#ends.delete(end)) end();
    });
  }
}
