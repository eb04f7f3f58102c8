// What is kept of a RotationTarget: its settings, and its status as text, which takes a third of the memory that objects would.
import { type KubeObject, parseDuration, type Stored } from "@keyturn/runtime";
import { RotationTarget, type RotationTargetStatus } from "./api.ts";
import type { TargetObservation } from "./observation.ts";

/** A RotationTarget as it is kept. */
export interface TargetSettings extends Pick<TargetObservation, "order" | "delayMs" | "deletionMode" | "whenUnfilled" | "changePolicy" | "objectName"> {
  readonly set: string;
  readonly uid: string;
  readonly generation: number | undefined;
  /** Being deleted: it no longer takes part. */
  readonly isLeaving: boolean;
  /** JSON. */
  readonly status: string | undefined;
}

/** Longer than anybody waits, and short enough for dates. */
const longestDelayMs = 100 * 365 * 86_400_000;

/** For the watch of RotationTargets. What the API server should have refused takes part in no set. */
export function keepTarget(object: Stored<KubeObject>): TargetSettings | undefined {
  const decoded = RotationTarget.decode(object);
  if (!decoded.ok) return undefined;
  const { metadata, spec, status } = decoded.object;
  return {
    set: spec.rotationSet,
    uid: object.metadata.uid,
    generation: metadata.generation,
    isLeaving: metadata.deletionTimestamp !== undefined,
    order: spec.rotationOrder,
    delayMs: Math.min(longestDelayMs, Math.ceil(parseDuration(spec.rotationDelay))),
    deletionMode: spec.deletionMode,
    whenUnfilled: spec.whenUnfilled,
    changePolicy: spec.changePolicy,
    objectName: spec.targetName ?? object.metadata.name,
    status: status === undefined ? undefined : JSON.stringify(status),
  };
}

/** The status that was kept as text. */
export function statusOfText(text: string | undefined): RotationTargetStatus | undefined {
  // It was made from a decoded status.
  return text === undefined ? undefined : (JSON.parse(text) as RotationTargetStatus);
}
