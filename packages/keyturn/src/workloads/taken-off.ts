// Records that somebody takes off workloads again and again: they are written ever more seldom, so that two who do not agree cost next to nothing.
import type { DeepReadonly } from "@keyturn/runtime";
import type { Records, WorkloadId } from "./rollout-plan.ts";
import type { Workload } from "./workload.ts";

/** What was seen of a workload the last time. */
interface Seen {
  readonly uid: string;
  readonly standing: Readonly<Record<string, string>>;
  /** Any of these may stand there the next time: it is what we write. */
  readonly wanted: readonly Readonly<Record<string, string>>[];
  /** Since when it stands. */
  readonly sinceMs: number;
  /** How often it was taken off. */
  readonly times: number;
  readonly delayMs: number;
  readonly untilMs: number;
}

const firstDelayMs = 10_000;
const maxDelayMs = 3_600_000;
/** What has stood for so long, and for longer than it was waited for, was left alone. */
const leftAloneMs = 600_000;

/** In ms of one clock. */
export class TakenOffRecords {
  readonly #seen = new Map<WorkloadId, Seen>();

  /** Looks at a workload and at what is to be written there. Resolves to how long that is not written; 0 for at once. */
  heldForMs(id: WorkloadId, { source: { uid }, records }: DeepReadonly<Workload>, due: Records | undefined, nowMs: number): number {
    const known = this.#seen.get(id);
    const wanted = due ? [due.now, due.withRestart] : [];
    const before = known?.uid === uid ? known : { uid, standing: {}, wanted: [], sinceMs: nowMs, times: 0, delayMs: 0, untilMs: nowMs };
    const names = Object.keys(before.standing);
    const isTaken = names.some((name) => records[name] !== before.standing[name] && !before.wanted.some((each) => each[name] === records[name]));
    const isNew = names.length === 0 && Object.keys(records).length > 0;
    const next = { ...before, standing: records, wanted, ...(isNew && { sinceMs: nowMs }) };
    this.#seen.set(id, isTaken ? takenOff(next, nowMs) : next);
    return Math.max(0, (this.#seen.get(id)?.untilMs ?? 0) - nowMs);
  }

  /** For a workload that is gone. */
  forget(id: WorkloadId): void {
    this.#seen.delete(id);
  }
}

function takenOff(seen: Seen, nowMs: number): Seen {
  const times = nowMs - seen.sinceMs >= Math.max(leftAloneMs, seen.delayMs) ? 1 : seen.times + 1;
  const delayMs = times === 1 ? 0 : Math.min(firstDelayMs * 2 ** (times - 2), maxDelayMs);
  return { ...seen, times, delayMs, untilMs: nowMs + delayMs, sinceMs: nowMs };
}
