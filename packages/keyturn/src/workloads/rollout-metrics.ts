// The numbers that every inspector shows of its part in the plan; each has them under names of its own.
import type { MetricsOf } from "@keyturn/runtime";
import type { RolloutMetrics } from "./inspector.ts";

interface Row<Type extends "gauge" | "counter", Labels extends readonly string[]> {
  readonly type: Type;
  readonly help: string;
  readonly labels: Labels;
}

type RolloutInstruments = MetricsOf<{
  readonly outdated: Row<"gauge", readonly ["reason"]>;
  readonly waiting: Row<"gauge", readonly ["reason"]>;
  readonly skipped: Row<"gauge", readonly ["reason"]>;
  readonly unknown: Row<"gauge", readonly ["reason"]>;
  readonly rolling: Row<"gauge", readonly []>;
  readonly stuck: Row<"gauge", readonly []>;
  readonly restarts: Row<"counter", readonly ["reason"]>;
  readonly failures: Row<"counter", readonly []>;
}>;

/** Counts and shows for the controller. */
export function rolloutMetricsOf({ restarts, failures, ...gauges }: RolloutInstruments): RolloutMetrics {
  const hide = (): void => {
    for (const gauge of Object.values(gauges)) gauge.reset();
  };
  return {
    hide,
    show(rows) {
      hide();
      let [rolling, stuck] = [0, 0];
      for (const { outdated, decision } of rows) {
        if (outdated) gauges.outdated.inc({ reason: outdated });
        if (decision.type === "wait") gauges.waiting.inc({ reason: decision.reason });
        if (decision.type === "skip") gauges.skipped.inc({ reason: decision.reason });
        if (decision.type === "unknown") gauges.unknown.inc({ reason: decision.reason });
        if (decision.type === "rolling") rolling++;
        if (decision.type === "rolling" && decision.stuck) stuck++;
      }
      gauges.rolling.set(rolling);
      gauges.stuck.set(stuck);
    },
    restarted: (reason) => restarts.inc({ reason }),
    restartFailed: () => failures.inc(),
  };
}
