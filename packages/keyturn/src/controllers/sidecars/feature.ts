// The feature "roll out": what the command line, the manifests and the docs know about it.
import { DaemonSet, Deployment, Pod, StatefulSet } from "@keyturn/runtime";
import { selectionFlags } from "../../feature/pause-and-selection.ts";
import type { Feature, FlagReader } from "../../feature/feature.ts";
import { operatorNamespaceFlag } from "../../feature/flag.ts";
import { sidecarsFlags, sidecarsOptions } from "./flags.ts";
import { sidecarsMetrics } from "./metrics.ts";
import { sidecarsControllerOf, sidecarsFleet } from "./controller.ts";
import { sidecarsAlerts, sidecarsPanels } from "./monitoring.ts";
import { sidecarsPlanReport } from "./queries.ts";
import { sidecarsReasons } from "./reasons.ts";
import { sidecarsRecords } from "./records.ts";

export const sidecarsFeature: Feature = {
  name: "sidecars",
  stage: {
    verb: "roll out",
    summary: "restarts workloads whose Istio sidecar is not what a new pod would get",
    noun: ["workload", "workloads"],
    example: "workloads whose sidecar is outdated are restarted, a few at a time",
    guide: "docs/guides/roll-out.md",
  },
  onByDefault: false,
  flags: Object.values(sidecarsFlags),
  rightsFlags: [
    { flag: sidecarsFlags.argoRollouts, is: "true" },
    { flag: sidecarsFlags.checkAdmission, is: "true" },
    { flag: sidecarsFlags.istioNamespaces, as: "namespaces" },
  ],
  metrics: sidecarsMetrics,
  kinds: [],
  reasons: sidecarsReasons,
  alerts: sidecarsAlerts,
  panels: sidecarsPanels,
  queries: {
    plan: {
      summary: "with sidecars, the workloads to be restarted",
      flags: [operatorNamespaceFlag, ...Object.values(selectionFlags), ...Object.values(sidecarsFlags)],
      follows: [Deployment, StatefulSet, DaemonSet, Pod],
      answer: (query, { allNamespaces, flag }) => sidecarsPlanReport(query, planOptions(flag, allNamespaces)),
    },
  },
  predecessor: { name: "Fortsa", image: "fortsa", guide: "docs/migration/from-fortsa.md" },
  records: sidecarsRecords,
  controllers: (flag) => [sidecarsControllerOf(sidecarsOptions(flag))],
};

function planOptions(flag: FlagReader, allNamespaces: boolean) {
  const options = sidecarsOptions(flag);
  // Nothing is waited for that is asked once.
  const fleet = sidecarsFleet({ ...options, stabilizeMs: 0, periodMs: 0, probeMs: 0 });
  return { fleet, limits: options.limits, allNamespaces, operatorNamespace: flag(operatorNamespaceFlag) };
}
