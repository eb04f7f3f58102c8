// How sets fare, in numbers: for alerts about what does not move. There is no series for a set in which all is well, because there may be thousands.
import { type HeapItem, IndexedHeap, type KeyView, type Metrics, type MetricRow, metricsOf, nameOf, type ObjectKey } from "@keyturn/runtime";
import type { RotationPlan } from "./plan.ts";

export const rotationMetrics = {
  keyturn_rotation_steps_total: { type: "counter", help: "Versions that targets were given, restored contents not counted.", labels: ["namespace"] },
  keyturn_rotation_repairs_total: {
    type: "counter",
    help: "Objects of targets that were not as they should be and were put back.",
    labels: ["namespace"],
  },
  keyturn_rotation_standstill: {
    type: "gauge",
    help: "1 for a set in which nothing moves, or not as it should, by reason: NoSource, SourceConflict, PathNotFound, InvalidPath, ContentTooLarge, ClockSkew, WriteRefused, HistoryDamaged, NameConflict, PolicyConflict or SourceUnstable.",
    labels: ["namespace", "set", "reason"],
  },
  keyturn_rotation_next_due_timestamp_seconds: {
    type: "gauge",
    help: "When the next step of any set is due, in seconds since the epoch; in the past if it is late, 0 if none is.",
    labels: [],
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** What is shown of a set; nothing of one in which all is well and nothing is due. */
export interface SetNumbers {
  readonly reason: string | undefined;
  readonly dueMs: number | undefined;
}

/** The numbers that a plan comes to; undefined if there is nothing to show. */
export function numbersOf(plan: RotationPlan): SetNumbers | undefined {
  const reason = reasonOf(plan);
  return reason === undefined && plan.nextAtMs === undefined ? undefined : { reason, dueMs: plan.nextAtMs };
}

/** The numbers of all sets, and counts of objects of targets that were written. */
export function setMetrics(
  metrics: Metrics,
): KeyView<SetNumbers> & { written(key: ObjectKey, what: { readonly moves?: boolean | undefined }): void } {
  const made = metricsOf(metrics, rotationMetrics);
  const reasons = new Map<ObjectKey, string>();
  const say = (key: ObjectKey, reason: string | undefined): void => {
    const before = reasons.get(key);
    if (before === reason) return;
    const { namespace = "", name: set } = nameOf(key);
    if (before !== undefined) made.keyturn_rotation_standstill.remove({ namespace, set, reason: before });
    if (reason === undefined) return void reasons.delete(key);
    made.keyturn_rotation_standstill.set({ namespace, set, reason }, 1);
    reasons.set(key, reason);
  };
  const dueTimes = new DueTimes();
  const expect = (key: ObjectKey, dueMs: number | undefined): void => {
    dueTimes.set(key, dueMs);
    made.keyturn_rotation_next_due_timestamp_seconds.set((dueTimes.earliestMs ?? 0) / 1000);
  };
  return {
    show(key, { reason, dueMs }) {
      say(key, reason);
      expect(key, dueMs);
    },
    hide(key) {
      say(key, undefined);
      expect(key, undefined);
    },
    written(key, { moves }) {
      const { namespace = "" } = nameOf(key);
      (moves ? made.keyturn_rotation_steps_total : made.keyturn_rotation_repairs_total).inc({ namespace });
    },
  };
}

function reasonOf({ setBlocker, targets, policyConflict, unstableSinceMs }: RotationPlan): string | undefined {
  const blocker = [...targets.values()].find((target) => target.blocker)?.blocker;
  const isUnpublished = [...targets.values()].some(({ unpublished }) => unpublished?.isLasting);
  return (
    setBlocker?.reason ??
    blocker?.reason ??
    (isUnpublished ? "KeyNotPublished" : policyConflict ? "PolicyConflict" : unstableSinceMs === undefined ? undefined : "SourceUnstable")
  );
}

interface Due extends HeapItem {
  dueMs: number;
}

/** Holds a time for each key for which something is due. Idle keys cost nothing, and a change costs the logarithm of how many there are. */
export class DueTimes {
  readonly #times = new Map<string, Due>();
  readonly #order = new IndexedHeap<Due>((a, b) => a.dueMs < b.dueMs);

  /** The earliest time; undefined if nothing is due. */
  get earliestMs(): number | undefined {
    return this.#order.peek()?.dueMs;
  }

  /** Says when something is due for a key; undefined for never. */
  set(key: string, dueMs: number | undefined): void {
    const due = this.#times.get(key);
    if (dueMs === undefined) {
      if (due) this.#order.remove(due);
      this.#times.delete(key);
    } else if (due) {
      due.dueMs = dueMs;
      this.#order.update(due);
    } else {
      const added = { dueMs, position: -1 };
      this.#times.set(key, added);
      this.#order.push(added);
    }
  }
}
