// One operator process of a simulation: started, killed at any point, asked to stop, held still, with a clock of its own.
import type { Transport } from "../../client/transport.ts";
import type { Clock, Timer } from "../../clock.ts";
import { drawInt, forkRandom, type Random } from "../../random.ts";
import type { Client, SimulatedNetwork } from "./network.ts";

/** The clock of one incarnation of a process. Everything that happens in the process, answers to its requests included, goes through it. */
export class ProcessClock implements Clock {
  readonly #world: Clock;
  #wallOffsetMs: number;
  #state: "running" | "paused" | "dead" = "running";
  #late: (() => void)[] = [];

  /** `wallOffsetMs` is how far this process's wall clock is off. */
  constructor(world: Clock, wallOffsetMs = 0) {
    this.#world = world;
    this.#wallOffsetMs = wallOffsetMs;
  }

  now(): number {
    return this.#world.now() + this.#wallOffsetMs;
  }

  monotonic(): number {
    return this.#world.monotonic();
  }

  setTimer(delayMs: number, fire: () => void): Timer {
    let isCancelled = false;
    const run = (): void => {
      if (isCancelled || this.#state === "dead") return;
      if (this.#state === "paused") this.#late.push(run);
      else fire();
    };
    const timer = this.#world.setTimer(delayMs, run);
    return {
      cancel: () => {
        isCancelled = true;
        timer.cancel();
      },
    };
  }

  get wallOffsetMs(): number {
    return this.#wallOffsetMs;
  }

  get isDead(): boolean {
    return this.#state === "dead";
  }

  jumpWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  /** Nothing runs until `resume`; what falls due meanwhile runs then, in order. */
  pause(): void {
    if (this.#state === "running") this.#state = "paused";
  }

  resume(): void {
    if (this.#state !== "paused") return;
    this.#state = "running";
    // Each as a timer of its own, so that promises settle in between as they do in life.
    for (const run of this.#late.splice(0)) this.#world.setTimer(0, run);
  }

  /** Nothing runs any more. */
  kill(): void {
    this.#state = "dead";
    this.#late = [];
  }
}

/** What a process gets to run with. Everything it does must go through these. */
export interface ProcessContext {
  readonly name: string;
  /** Counts the starts of this process, from 1. */
  readonly incarnation: number;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  /** Aborts when the process is asked to stop (SIGTERM). A crash gives no such notice. */
  readonly signal: AbortSignal;
}

/** A process: resolves when it has stopped after its signal aborted. */
export interface SimulatedProcess {
  readonly name: string;
  start(context: ProcessContext): Promise<void>;
}

/** What a host is made of. */
interface ProcessHostOptions {
  readonly process: SimulatedProcess;
  readonly network: SimulatedNetwork;
  readonly clock: Clock;
  readonly random: Random;
  readonly note: (line: string) => void;
  /** Called when the process fails, ends unasked, or does not stop in time. */
  readonly fail: (error: Error) => void;
}

interface Incarnation {
  readonly client: Client;
  readonly abort: AbortController;
}

/** What Kubernetes grants a pod between SIGTERM and SIGKILL. */
const gracePeriodMs = 30_000;

/** One process over all its lives. */
export class ProcessHost {
  readonly name: string;
  readonly #options: ProcessHostOptions;
  #current: Incarnation | undefined;
  #incarnations = 0;
  #isPaused = false;

  constructor(options: ProcessHostOptions) {
    this.#options = options;
    this.name = options.process.name;
  }

  get isRunning(): boolean {
    return this.#current !== undefined;
  }

  start(): void {
    if (this.#current) return;
    const { process, network, random, fail, note } = this.#options;
    this.#incarnations += 1;
    // No two machines agree on the time.
    const clock = new ProcessClock(this.#options.clock, drawInt(random, [-2_000, 2_000]));
    const client: Client = { name: this.name, clock };
    const abort = new AbortController();
    const incarnation: Incarnation = { client, abort };
    this.#current = incarnation;
    note(`${this.name} starts (${this.#incarnations})`);
    const context = {
      name: this.name,
      incarnation: this.#incarnations,
      transport: network.connect(client),
      clock,
      random: forkRandom(random),
      signal: abort.signal,
    };
    process.start(context).then(
      () => {
        if (this.#current !== incarnation) return;
        if (!abort.signal.aborted) fail(new Error(`${this.name} ended without being asked to`));
        this.#end(incarnation, "has stopped");
      },
      (error: unknown) => {
        if (this.#current === incarnation) fail(new Error(`${this.name} failed`, { cause: error }));
      },
    );
  }

  /** Dies on the spot: what it had sent may still arrive, what it was about to send does not. */
  crash(): void {
    if (this.#current) this.#end(this.#current, "crashes");
  }

  /** Asks the process to stop; fails the simulation if it takes longer than Kubernetes would wait. */
  stop(): void {
    const incarnation = this.#current;
    if (!incarnation || incarnation.abort.signal.aborted) return;
    this.resume();
    this.#options.note(`${this.name} is asked to stop`);
    incarnation.abort.abort(new Error("SIGTERM"));
    this.#options.clock.setTimer(gracePeriodMs, () => {
      if (this.#current === incarnation) this.#options.fail(new Error(`${this.name} did not stop within ${gracePeriodMs} ms of being asked to`));
    });
  }

  pause(): void {
    if (!this.#current || this.#isPaused || this.#current.abort.signal.aborted) return;
    this.#isPaused = true;
    this.#options.note(`${this.name} is paused`);
    this.#current.client.clock.pause();
  }

  resume(): void {
    if (!this.#current || !this.#isPaused) return;
    this.#isPaused = false;
    this.#options.note(`${this.name} is resumed`);
    this.#current.client.clock.resume();
  }

  jumpClock(byMs: number): void {
    this.#options.note(`${this.name}'s clock jumps by ${byMs} ms`);
    this.#current?.client.clock.jumpWall(byMs);
  }

  #end(incarnation: Incarnation, how: string): void {
    this.#options.note(`${this.name} ${how}`);
    this.#current = undefined;
    this.#isPaused = false;
    incarnation.client.clock.kill();
    this.#options.network.disconnect(incarnation.client);
  }
}
