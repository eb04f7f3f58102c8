// Every right that the rotation controller needs for the kinds that it rotates.
import type { AccessRule, Kind } from "@keyturn/runtime";
import { RotationTarget } from "./api.ts";

export function rotationAccess(kinds: readonly Kind[]): readonly AccessRule[] {
  return [
    { kind: RotationTarget, verbs: ["get", "list", "watch"], why: "to know the targets" },
    { kind: RotationTarget, subresource: "status", verbs: ["patch"], why: "to report" },
    ...kinds.map((kind): AccessRule => {
      const isHistory = kind.group === "" && kind.plural === "secrets";
      return {
        kind,
        verbs: ["get", "list", "watch", "create", "update", "patch", "delete"],
        why: isHistory
          ? "to read sources, to write targets, and to keep the history; only metadata is watched"
          : "to read sources and to write targets; only metadata is watched",
      };
    }),
  ];
}
