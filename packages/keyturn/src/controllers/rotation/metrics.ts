// How sets fare, in numbers: for alerts about what does not move. There is no series for a set in which all is well, because there may be thousands.
import { type Metrics, type MetricRow, metricsOf } from "@keyturn/runtime";
import { DueTimes } from "./due-times.ts";
import type { RotationPlan } from "./rotation-plan.ts";

export const rotationMetrics = {
  keyturn_rotation_steps_total: { type: "counter", help: "Versions that targets were given, restored contents not counted.", labels: ["namespace"] },
  keyturn_rotation_repairs_total: {
    type: "counter",
    help: "Objects of targets that were not as they should be and were put back.",
    labels: ["namespace"],
  },
  keyturn_rotation_standstill: {
    type: "gauge",
    help: "1 for a set in which nothing moves, or not as it should, by reason: NoSource, SourceConflict, PathNotFound, InvalidPath, ContentTooLarge, ClockSkew, WriteRefused, NameConflict, PolicyConflict or SourceUnstable.",
    labels: ["namespace", "set", "reason"],
  },
  keyturn_rotation_next_due_timestamp_seconds: {
    type: "gauge",
    help: "When the next step of any set is due, in seconds since the epoch; in the past if it is late, 0 if none is.",
    labels: [],
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

interface Place {
  readonly namespace: string;
  readonly set: string;
}

/** Keeps the numbers. */
export function setMetrics(metrics: Metrics): {
  planned(place: Place, plan: RotationPlan): void;
  written(place: Place, plan: RotationPlan): void;
  gone(place: Place): void;
} {
  const made = metricsOf(metrics, rotationMetrics);
  const reasons = new Map<string, string>();
  const say = ({ namespace, set }: Place, reason: string | undefined): void => {
    const key = `${namespace}/${set}`;
    const before = reasons.get(key);
    if (before === reason) return;
    if (before !== undefined) made.keyturn_rotation_standstill.remove({ namespace, set, reason: before });
    if (reason === undefined) return void reasons.delete(key);
    made.keyturn_rotation_standstill.set({ namespace, set, reason }, 1);
    reasons.set(key, reason);
  };
  const dueTimes = new DueTimes();
  const expect = ({ namespace, set }: Place, dueMs: number | undefined): void => {
    dueTimes.set(`${namespace}/${set}`, dueMs);
    made.keyturn_rotation_next_due_timestamp_seconds.set((dueTimes.earliestMs ?? 0) / 1000);
  };
  return {
    planned(place, plan) {
      say(place, reasonOf(plan));
      expect(place, plan.nextAtMs);
    },
    gone(place) {
      say(place, undefined);
      expect(place, undefined);
    },
    written({ namespace }, { targets, writes }) {
      for (const write of writes) {
        if (write.verb !== "writeTarget") continue;
        const restored = targets.get(write.target)?.restored ?? false;
        (restored ? made.keyturn_rotation_repairs_total : made.keyturn_rotation_steps_total).inc({ namespace });
      }
    },
  };
}

function reasonOf({ standstill, targets, policyConflict, unstableSinceMs }: RotationPlan): string | undefined {
  const hindrance = [...targets.values()].find((target) => target.hindrance)?.hindrance;
  return (
    standstill?.reason ?? hindrance?.reason ?? (policyConflict ? "PolicyConflict" : unstableSinceMs === undefined ? undefined : "SourceUnstable")
  );
}
