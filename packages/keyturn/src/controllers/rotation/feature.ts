// The feature "rotate" as the command line, the manifests and the docs know it.
import type { Kind } from "@keyturn/runtime";
import type { Feature, FlagReader, Query, Report } from "../../feature/feature.ts";
import { type Flag, listFlag, switchFlag } from "../../feature/flag.ts";
import { maintenanceFlags, type MaintenanceWindows } from "../../feature/maintenance-window.ts";
import { selectionOf } from "../../feature/pause-and-selection.ts";
import { RotationTarget } from "./api.ts";
import { rotationController } from "./controller.ts";
import { rotationMetrics } from "./metrics.ts";
import { rotationRecords } from "./records.ts";
import { parseSourceKind, sourceKinds } from "./source.ts";
import { rotationAlerts, rotationPanels } from "./monitoring.ts";
import {
  headedHistory,
  reportEverywhere,
  rotationHistoryReport,
  rotationKinds,
  rotationPlanReport,
  rotationSets,
  rotationWhatIfReport,
} from "./queries.ts";
import { rotationReasons } from "./reasons.ts";

// What can be rotated besides Secrets and ConfigMaps, and when, as flags.

const list = listFlag({
  name: "rotation.kinds",
  placeholder: "PLURAL.VERSION.GROUP,…",
  help: "more kinds that can be rotated, besides Secrets and ConfigMaps, such as certificates.v1.cert-manager.io; each adds watches and rights",
});

const kinds: Flag<readonly Kind[]> = { ...list, parse: (text) => list.parse(text).map(parseSourceKind) };

export const rotationFlags = { kinds, ...maintenanceFlags("rotation", "contents may move from target to target") };

/** Of `keyturn plan`. */
const filename = listFlag({
  name: "filename",
  short: "f",
  placeholder: "FILE,…",
  help: "manifests of RotationTargets: show what would happen to their sets if they were applied, and what would be lost",
});
const prune = switchFlag({ name: "prune", default: false, help: "with --filename: targets of these sets that are in none of the files are deleted" });

/** When contents may move, as the flags say. */
function rotationWindows(flag: FlagReader): MaintenanceWindows {
  return { ...flag(rotationFlags.maintenanceWindows), timeZone: flag(rotationFlags.maintenanceTimeZone) };
}

export const rotationFeature: Feature = {
  name: "rotation",
  stage: {
    verb: "rotate",
    summary: "keeps a history of a resource's states, each in its own object and in step with delays",
    noun: ["rotation set", "rotation sets"],
    objectNoun: ["rotation target", "rotation targets"],
    example: "a new signing key is published for an hour before it signs; the old one stays for those who still need it",
    guide: "docs/guides/rotate.md",
  },
  onByDefault: true,
  flags: Object.values(rotationFlags),
  rightsFlags: [{ flag: rotationFlags.kinds, as: "resources" }],
  metrics: rotationMetrics,
  kinds: [RotationTarget],
  reasons: rotationReasons,
  alerts: rotationAlerts,
  panels: rotationPanels,
  queries: {
    plan: {
      summary: "with the name of a rotation set, its promotions",
      flags: [rotationFlags.maintenanceWindows, rotationFlags.maintenanceTimeZone, filename, prune],
      follows: rotationKinds,
      names: rotationSets,
      isAsked: (flag) => flag(filename).length > 0,
      answer(query, { name, allNamespaces, flag }) {
        const files = flag(filename);
        if (files.length > 0) return rotationWhatIfReport(query, { files, prune: flag(prune), maintenance: rotationWindows(flag), set: name });
        const report = (place: Query): Promise<Report> => rotationPlanReport(place, name, rotationWindows(flag));
        return allNamespaces ? reportEverywhere(query, name, report) : report(query);
      },
    },
    history: {
      summary: "the versions of a rotation set, when each was seen and where it is now",
      follows: rotationKinds,
      names: rotationSets,
      answer: (query, { name, allNamespaces }) =>
        allNamespaces ? reportEverywhere(query, name, (place) => headedHistory(place, name)) : rotationHistoryReport(query, name),
    },
  },
  predecessor: { name: "k8s-rotator", image: "k8s-rotator", guide: "docs/migration/from-k8s-rotator.md" },
  records: rotationRecords((flag) => sourceKinds(flag(rotationFlags.kinds))),
  controllers: (flag) => [
    rotationController({ kinds: sourceKinds(flag(rotationFlags.kinds)), selects: selectionOf(flag), maintenance: rotationWindows(flag) }),
  ],
};
