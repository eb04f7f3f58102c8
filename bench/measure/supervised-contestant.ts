// A contestant that is started again when it ends, as a kubelet does with a container.
import { setTimeout as delay } from "node:timers/promises";
import { type Command, ContestantProcess } from "./contestant-process.ts";

/** A kubelet's: the first restart comes at once, the next after 10 s, then twice as long each time. */
const pausesMs: readonly number[] = [0, 10_000, 20_000, 40_000];

/** One contestant that stays, whatever becomes of its processes. Disposing of it ends it. */
export class SupervisedContestant implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #kept: Promise<void>;
  #restarts = 0;

  constructor(command: Command, kubeconfig: string) {
    this.#kept = this.#keep(() => new ContestantProcess(command, kubeconfig));
  }

  /** How often it has ended by itself. */
  get restarts(): number {
    return this.#restarts;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#kept;
  }

  async #keep(start: () => ContestantProcess): Promise<void> {
    const { signal } = this.#stop;
    const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    while (!signal.aborted) {
      await using contestant = start();
      await Promise.race([contestant.ended, stopped]);
      if (signal.aborted) return;
      const pauseMs = pausesMs[Math.min(this.#restarts++, pausesMs.length - 1)] ?? 0;
      await Promise.race([delay(pauseMs, undefined, { ref: false }), stopped]);
    }
  }
}
