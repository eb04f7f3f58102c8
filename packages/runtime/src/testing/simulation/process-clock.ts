// Time as one simulated process sees it: its own wall clock, and timers that stand still while it is paused and go with it when it dies.
import type { Clock, Timer } from "../../clock.ts";

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
