// Replicas that are there but do not take what is theirs, so that nobody waits for them for long.
import type { LeaseTimes } from "./lease-times.ts";

/** Finds out who leaves shards lying. A replica that died a moment ago looks alive for a lease time; its share should not wait that long. */
export class ShardIdlers {
  readonly #times: LeaseTimes;
  /** Since when each free shard has been expected to be taken by the same replica. */
  readonly #expected = new Map<number, { readonly member: string; readonly sinceMs: number }>();
  /** Until when each idler is left out of account. */
  readonly #untilMs = new Map<string, number>();

  constructor(times: LeaseTimes) {
    this.#times = times;
  }

  /** Takes in what a plan expects of others. Who has not taken a shard within three rounds is an idler, for a lease time. */
  observe(expected: ReadonlyMap<number, string>, nowMs: number): void {
    const { retryPeriodMs, leaseDurationMs } = this.#times;
    for (const shard of this.#expected.keys()) if (!expected.has(shard)) this.#expected.delete(shard);
    for (const [shard, member] of expected) {
      const known = this.#expected.get(shard);
      if (known?.member !== member) this.#expected.set(shard, { member, sinceMs: nowMs });
      else if (nowMs - known.sinceMs > 3 * retryPeriodMs) this.#untilMs.set(member, nowMs + leaseDurationMs);
    }
  }

  /** The idlers of this moment. */
  at(nowMs: number): readonly string[] {
    for (const [member, untilMs] of this.#untilMs) if (untilMs <= nowMs) this.#untilMs.delete(member);
    return [...this.#untilMs.keys()];
  }
}
