// Keeps telling the gateway about the promoted generation until it has listened.
import type { Clock, Logger } from "@keyturn/runtime";
import { type Attempt, attemptOf } from "./agent-status.ts";
import type { NoticeResult } from "./change-notifier.ts";
import { failedAgain, type Retry, untried } from "./retry.ts";

/** What it needs. */
export interface GatewayNoticeOptions {
  /** Tells the gateway. Never rejects. */
  readonly notify: (generation: string, signal: AbortSignal) => Promise<NoticeResult>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Guarantees: after every change of the promoted generation, and after a restart without a success, the gateway is told until it succeeds. */
export class GatewayNotice {
  readonly #options: GatewayNoticeOptions;
  #notified: string | undefined;
  #tried: string | undefined;
  #attempt: Attempt | undefined;
  #retry: Retry = untried;
  #endedMs = -Infinity;

  /** `notified`: the generation that the gateway is known to have been told about. */
  constructor(options: GatewayNoticeOptions, notified: string | undefined) {
    this.#options = options;
    this.#notified = notified;
  }

  /** The generation that the gateway was last told about with success. */
  get notified(): string | undefined {
    return this.#notified;
  }

  get attempt(): Attempt | undefined {
    return this.#attempt;
  }

  /** Why the gateway has not been told; undefined if it has, or nothing was tried. */
  get trouble(): string | undefined {
    return this.#retry.failures > 0 ? this.#attempt?.detail : undefined;
  }

  /** When the last attempt ended, on the monotonic scale. */
  get endedMs(): number {
    return this.#endedMs;
  }

  /** When to try again, on the monotonic scale; undefined if there is nothing to tell. */
  nextMs(generation: string | undefined): number | undefined {
    return generation === undefined || generation === this.#notified ? undefined : this.#retry.notBeforeMs;
  }

  /** Tells the gateway if it is time to. */
  async tell(generation: string | undefined, signal: AbortSignal): Promise<void> {
    const { notify, clock, log } = this.#options;
    if (generation !== this.#tried) this.#retry = untried;
    const dueMs = this.nextMs(generation);
    if (generation === undefined || dueMs === undefined || clock.monotonic() < dueMs || signal.aborted) return;
    this.#tried = generation;
    const result = await notify(generation, signal);
    this.#endedMs = clock.monotonic();
    this.#attempt = attemptOf(result, clock.now());
    const fields = { generation, detail: result.detail, durationMs: result.durationMs };
    if (result.ok) {
      this.#notified = generation;
      this.#retry = untried;
      log.info(fields, "the gateway was told");
    } else {
      this.#retry = failedAgain(this.#retry, this.#endedMs);
      log.error({ ...fields, failures: this.#retry.failures }, "the gateway could not be told; trying again");
    }
  }
}
