// What can be rotated besides Secrets and ConfigMaps, and when, as flags.
import type { Kind } from "@keyturn/runtime";
import { type Flag, listFlag } from "../../flags/flag.ts";
import { maintenanceFlags } from "../../flags/maintenance-flags.ts";
import type { FlagReader } from "../feature.ts";
import type { MaintenanceWindows } from "../maintenance-window.ts";
import { parseSourceKind } from "./source-kinds.ts";

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
