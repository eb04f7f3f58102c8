// Which faults a simulation injects, and how often.
import type { Range } from "./draw.ts";

/** Faults of single requests and of watches. Rates are probabilities. */
export interface FaultRates {
  /** One way, each way. */
  readonly latencyMs: Range;
  /** The request never reaches the server. */
  readonly lostRequest: number;
  /** The server does what was asked, and the client is not told. */
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
