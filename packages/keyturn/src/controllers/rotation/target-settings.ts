// What is kept of a RotationTarget: its settings, and of its status only what tells whether another one would say the same. There may be tens of thousands.
import { hash } from "node:crypto";
import { canonicalJson, type KubeObject, parseStoredDuration, type Stored } from "@keyturn/runtime";
import { pausedAnnotation, type Selects } from "../attention.ts";
import { RotationTarget, type RotationTargetStatus } from "./api.ts";
import type { TargetObservation } from "./observation.ts";

/** A RotationTarget as it is kept. */
export interface TargetSettings extends Pick<TargetObservation, "order" | "delayMs" | "deletionMode" | "whenUnfilled" | "changePolicy"> {
  readonly set: string;
  readonly uid: string;
  readonly generation: number | undefined;
  /** Being deleted: it no longer takes part. */
  readonly isLeaving: boolean;
  /** False if it is outside of what the operator looks after. */
  readonly isSelected: boolean;
  /** The annotation that pauses it, as it was written. */
  readonly paused: string | undefined;
  /** The name of the object to keep, if it is another than the target's own. */
  readonly targetName: string | undefined;
  /** See `statusMark`; undefined if there is none. */
  readonly statusMark: string | undefined;
}

/** For the watch of RotationTargets. What the API server should have refused takes part in no set. */
export function targetKeeper(selects: Selects): (object: Stored<KubeObject>) => TargetSettings | undefined {
  return (object) => keepTarget(object, selects);
}

function keepTarget(object: Stored<KubeObject>, selects: Selects): TargetSettings | undefined {
  const decoded = RotationTarget.decode(object);
  if (!decoded.ok) return undefined;
  const { metadata, spec, status } = decoded.object;
  return {
    set: spec.rotationSet,
    uid: object.metadata.uid,
    generation: metadata.generation,
    isLeaving: metadata.deletionTimestamp !== undefined,
    isSelected: selects(metadata),
    paused: metadata.annotations?.[pausedAnnotation],
    order: spec.rotationOrder,
    delayMs: Math.ceil(parseStoredDuration(spec.rotationDelay)),
    deletionMode: spec.deletionMode,
    whenUnfilled: spec.whenUnfilled,
    changePolicy: spec.changePolicy,
    targetName: spec.targetName,
    statusMark: status && statusMark(status),
  };
}

/** Two statuses with the same mark say the same, whenever their conditions began to. */
export function statusMark({ conditions = [], ...rest }: RotationTargetStatus): string {
  const lasting = Object.fromEntries(conditions.map((condition) => [condition.type, { ...condition, lastTransitionTime: undefined }]));
  // Twelve characters are 72 bits; of a longer piece V8 would keep the whole text that it was cut from.
  return hash("sha256", canonicalJson({ ...rest, conditions: lasting }), "base64").slice(0, 12);
}
