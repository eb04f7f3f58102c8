// The feature "rotate" as the command line, the manifests and the docs know it.
import type { Kind } from "@keyturn/runtime";
import type { Feature, FlagReader } from "../../feature/feature.ts";
import { type Flag, listFlag } from "../../feature/flag.ts";
import { maintenanceFlags, type MaintenanceWindows } from "../../feature/maintenance-window.ts";
import { selectionOf } from "../../feature/pause-and-selection.ts";
import { RotationTarget } from "./api.ts";
import { rotationController } from "./controller.ts";
import { rotationMetrics } from "./metrics.ts";
import { rotationRecords } from "./records.ts";
import { parseSourceKind, sourceKinds } from "./source.ts";

// What can be rotated besides Secrets and ConfigMaps, and when, as flags.

const list = listFlag({
  name: "rotation.kinds",
  placeholder: "PLURAL.VERSION.GROUP,…",
  help: "more kinds that can be rotated, besides Secrets and ConfigMaps, such as certificates.v1.cert-manager.io; each adds watches and rights",
});

const kinds: Flag<readonly Kind[]> = { ...list, parse: (text) => list.parse(text).map(parseSourceKind) };

export const rotationFlags = { kinds, ...maintenanceFlags("rotation", "contents may move from target to target") };

/** When contents may move, as the flags say. */
export function rotationWindows(flag: FlagReader): MaintenanceWindows {
  return { ...flag(rotationFlags.maintenanceWindows), timeZone: flag(rotationFlags.maintenanceTimeZone) };
}

export const rotationFeature: Feature = {
  name: "rotation",
  summary: "keeps a history of a resource's states, each in its own object and in step with delays",
  flags: Object.values(rotationFlags),
  metrics: rotationMetrics,
  kinds: [RotationTarget],
  records: rotationRecords((flag) => sourceKinds(flag(rotationFlags.kinds))),
  controllers: (flag) => [
    rotationController({ kinds: sourceKinds(flag(rotationFlags.kinds)), selects: selectionOf(flag), maintenance: rotationWindows(flag) }),
  ],
};
