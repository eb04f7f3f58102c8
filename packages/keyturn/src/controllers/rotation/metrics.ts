// How sets fare, in numbers: for alerts about what does not move.
import { type Metrics, type MetricRow, metricsOf } from "@keyturn/runtime";
import type { TargetObservation } from "./observation.ts";
import type { RotationPlan } from "./rotation-plan.ts";

const target = ["namespace", "name"] as const;

export const rotationMetrics = {
  keyturn_rotation_version: { type: "gauge", help: "The number of the version that a target holds; 0 if it holds none.", labels: [...target, "set"] },
  keyturn_rotation_pending_timestamp_seconds: {
    type: "gauge",
    help: "When a target gets its next version, in seconds since the epoch; absent if none is on its way.",
    labels: [...target, "set"],
  },
  keyturn_rotation_steps_total: { type: "counter", help: "Versions that targets were given, restored contents not counted.", labels: ["namespace", "set"] },
  keyturn_rotation_repairs_total: { type: "counter", help: "Objects of targets that were not as they should be and were put back.", labels: ["namespace", "set"] },
  keyturn_rotation_standstill: {
    type: "gauge",
    help: "1 for a set in which nothing moves, or not as it should, by reason: NoSource, SourceConflict, PathNotFound, InvalidPath, ContentTooLarge, ClockSkew, SourceUnstable.",
    labels: ["namespace", "set", "reason"],
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

interface Place {
  readonly namespace: string;
  readonly set: string;
}

/** What was last told of a set, to take it back when it no longer holds. */
interface Told {
  readonly names: readonly string[];
  readonly reason: string | undefined;
}

/** Keeps the numbers of each set. */
export function setMetrics(metrics: Metrics): {
  planned(place: Place, targets: readonly TargetObservation[], plan: RotationPlan): void;
  written(place: Place, plan: RotationPlan): void;
  gone(place: Place): void;
} {
  const made = metricsOf(metrics, rotationMetrics);
  const told = new Map<string, Told>();
  const forget = ({ namespace, set }: Place, { names, reason }: Told): void => {
    for (const name of names) {
      made.keyturn_rotation_version.remove({ namespace, name, set });
      made.keyturn_rotation_pending_timestamp_seconds.remove({ namespace, name, set });
    }
    if (reason !== undefined) made.keyturn_rotation_standstill.remove({ namespace, set, reason });
  };
  return {
    planned(place, targets, plan) {
      const { namespace, set } = place;
      const reason = plan.standstill?.reason ?? (plan.unstableSinceMs === undefined ? undefined : "SourceUnstable");
      const names = targets.map(({ name }) => name);
      const key = `${namespace}/${set}`;
      const before = told.get(key) ?? { names: [], reason: undefined };
      forget(place, { names: before.names.filter((name) => !names.includes(name)), reason: before.reason === reason ? undefined : before.reason });
      if (reason !== undefined) made.keyturn_rotation_standstill.set({ namespace, set, reason }, 1);
      for (const name of names) {
        const { held, pending } = plan.targets.get(name) ?? { held: undefined, pending: undefined };
        made.keyturn_rotation_version.set({ namespace, name, set }, held?.seq ?? 0);
        if (pending) made.keyturn_rotation_pending_timestamp_seconds.set({ namespace, name, set }, pending.notBeforeMs / 1000);
        else made.keyturn_rotation_pending_timestamp_seconds.remove({ namespace, name, set });
      }
      told.set(key, { names, reason });
    },
    written({ namespace, set }, { targets, writes }) {
      for (const write of writes) {
        if (write.verb !== "writeTarget") continue;
        const restored = targets.get(write.target)?.restored ?? false;
        (restored ? made.keyturn_rotation_repairs_total : made.keyturn_rotation_steps_total).inc({ namespace, set });
      }
    },
    gone(place) {
      const key = `${place.namespace}/${place.set}`;
      const before = told.get(key);
      if (before) forget(place, before);
      told.delete(key);
    },
  };
}
