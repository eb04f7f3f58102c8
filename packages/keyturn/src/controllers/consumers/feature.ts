// The feature "use": what the command line, the manifests and the docs know about it.
import { DaemonSet, Deployment, Secret, StatefulSet } from "@keyturn/runtime";
import { selectionFlags } from "../../feature/pause-and-selection.ts";
import type { Feature, FlagReader } from "../../feature/feature.ts";
import { operatorNamespaceFlag } from "../../feature/flag.ts";
import { rolloutPlanReport } from "../../workloads/plan-report.ts";
import { consumersControllerOf, consumersFleet } from "./controller.ts";
import { consumersFlags, consumersOptions } from "./flags.ts";
import { consumersMetrics } from "./metrics.ts";
import { consumersAlerts, consumersPanels } from "./monitoring.ts";
import { consumersReasons } from "./reasons.ts";
import { consumersRecords } from "./records.ts";

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
      summary: "with consumers, the workloads to be restarted for what they use",
      flags: [operatorNamespaceFlag, ...Object.values(selectionFlags), ...Object.values(consumersFlags)],
      follows: [Deployment, StatefulSet, DaemonSet, Secret],
      answer: (query, { allNamespaces, flag }) => rolloutPlanReport(query, planOptions(flag, allNamespaces)),
    },
  },
  predecessor: { name: "Reloader", image: "reloader", guide: "docs/migration/from-reloader.md" },
  records: consumersRecords,
  controllers: (flag) => [consumersControllerOf(consumersOptions(flag))],
};

function planOptions(flag: FlagReader, allNamespaces: boolean) {
  const options = consumersOptions(flag);
  const current = "every pod was started with what it uses";
  return { fleet: consumersFleet(options), limits: options.limits, allNamespaces, operatorNamespace: flag(operatorNamespaceFlag), current };
}
