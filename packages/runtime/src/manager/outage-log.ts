// Says that the API server is away: once at first, then ever less often, and once when it is back.
import type { Clock } from "../clock.ts";
import type { Logger } from "../observe/logger.ts";

/** How often an outage that goes on is mentioned. */
const firstReminderMs = 10_000;
const longestReminderMs = 600_000;

interface Outage {
  readonly sinceMs: number;
  intervalMs: number;
  nextMs: number;
}

/** Gathers what every watch and every election sees of the API server into one line per outage. */
export class OutageLog {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #failing = new Map<string, string>();
  #outage: Outage | undefined;

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** What fails, and why; empty when all is well. */
  get failing(): ReadonlyMap<string, string> {
    return this.#failing;
  }

  /** `source` could not do what it wanted, as often as it happens. */
  failed(source: string, error: string): void {
    this.#failing.set(source, error);
    const nowMs = this.#clock.monotonic();
    this.#outage ??= { sinceMs: nowMs, intervalMs: firstReminderMs, nextMs: nowMs };
    if (nowMs < this.#outage.nextMs) return;
    const fields = { failing: [...this.#failing.keys()], error, forMs: Math.round(nowMs - this.#outage.sinceMs) };
    this.#log.warn(fields, "the API server does not answer as it should; trying again until it does");
    this.#outage.nextMs = nowMs + this.#outage.intervalMs;
    this.#outage.intervalMs = Math.min(2 * this.#outage.intervalMs, longestReminderMs);
  }

  /** `source` has succeeded or no longer tries. */
  succeeded(source: string): void {
    if (!this.#failing.delete(source) || this.#failing.size > 0 || !this.#outage) return;
    this.#log.info({ afterMs: Math.round(this.#clock.monotonic() - this.#outage.sinceMs) }, "the API server answers again");
    this.#outage = undefined;
  }
}
