// The feature "use": what the command line, the manifests and the docs know about it.
import { DaemonSet, Deployment, Secret, StatefulSet } from "@keyturn/runtime";
import { selectionFlags } from "../../feature/pause-and-selection.ts";
import type { Feature, FlagReader } from "../../feature/feature.ts";
import { operatorNamespaceFlag } from "../../feature/flag.ts";
import { type PlanScope, rolloutPlanReport } from "../../workloads/plan-report.ts";
import { consumersControllerOf, consumersFleet } from "./controller.ts";
import { consumersFlags, consumersOptions } from "./flags.ts";
import { consumersMetrics } from "./metrics.ts";
import { consumersAlerts, consumersPanels } from "./monitoring.ts";
import { consumersReasons } from "./reasons.ts";
import { consumersRecords } from "./records.ts";
import { sourceKindWords, sourcePlanReport } from "./source-plan.ts";

export const consumersFeature: Feature = {
  name: "consumers",
  stage: {
    verb: "use",
    summary: "restarts workloads when a Secret or ConfigMap that they use has changed",
    noun: ["workload", "workloads"],
    example: "pods that were started with the old key are replaced, the first of them on trial",
    guide: "docs/guides/use.md",
  },
  onByDefault: false,
  flags: Object.values(consumersFlags),
  rightsFlags: [
    { flag: consumersFlags.argoRollouts, is: "true" },
    { flag: consumersFlags.checkAdmission, is: "true" },
    { flag: consumersFlags.configMaps, is: "true" },
    { flag: consumersFlags.secretStores, is: "true" },
  ],
  metrics: consumersMetrics,
  kinds: [],
  reasons: consumersReasons,
  alerts: consumersAlerts,
  panels: consumersPanels,
  queries: {
    plan: {
      summary:
        "with consumers, the workloads to be restarted for what they use, and with secret/NAME or configmap/NAME those that a change of it would restart",
      flags: [operatorNamespaceFlag, ...Object.values(selectionFlags), ...Object.values(consumersFlags)],
      follows: [Deployment, StatefulSet, DaemonSet, Secret],
      objects: sourceKindWords,
      answer: (query, { name, allNamespaces, flag }) => {
        const scope = planScope(flag, allNamespaces);
        if (name !== "") return sourcePlanReport(query, name, { ...scope, options: consumersOptions(flag) });
        return rolloutPlanReport(query, { ...scope, current: "every pod was started with what it uses" });
      },
    },
  },
  predecessor: { name: "Reloader", image: "reloader", guide: "docs/migration/from-reloader.md" },
  records: consumersRecords,
  controllers: (flag) => [consumersControllerOf(consumersOptions(flag))],
};

function planScope(flag: FlagReader, allNamespaces: boolean): PlanScope {
  const options = consumersOptions(flag);
  return { fleet: consumersFleet(options), limits: options.limits, allNamespaces, operatorNamespace: flag(operatorNamespaceFlag) };
}
