// What is kept of the objects that may be sources or targets: their marks, and nothing at all of the many that have none.
import { keyOfObject, type KubeObject, managedByLabel, type ObjectKey, ownerOf } from "@keyturn/runtime";
import { keyturn } from "../../operator-identity.ts";
import { pausedAnnotation } from "../attention.ts";
import {
  appliedAtAnnotation,
  digestAnnotation,
  parseTime,
  parseVersion,
  RotationTarget,
  rotatePathMark,
  rotationSetMark,
  sourceMark,
  versionAnnotation,
  watchPathMark,
} from "./api.ts";
import type { ObjectObservation } from "./observation.ts";
import type { SourcePaths } from "./source-content.ts";
import { type RecordMarks, recordMarksOf } from "./version-record.ts";

/** The marks of an object. */
export interface Marks {
  readonly source?: SourcePaths & { readonly set: string; /** The annotation that pauses the set, as it was written. */ readonly paused?: string };
  readonly target?: {
    /** The key of the RotationTarget in the same namespace that it is kept for, if that is another than its own. */
    readonly owner: ObjectKey | undefined;
    readonly applied: ObjectObservation["applied"] | undefined;
    readonly ownerUids: readonly string[];
  };
  readonly record?: RecordMarks;
}

/** One value for all that have no owners. */
const nobody: readonly string[] = Object.freeze([]);

/** One value for all objects that have no marks. */
const none: Marks = Object.freeze({});

/** For a watch of metadata: the marks of an object. */
export function keepMarks(object: KubeObject): Marks {
  const { labels = {}, annotations = {} } = object.metadata;
  const isOurs = labels[managedByLabel] === keyturn.name;
  const record = isOurs ? recordMarksOf(object) : undefined;
  if (record) return { record };
  const mark = (name: string): string | undefined => annotations[name] ?? labels[name];
  const set = mark(rotationSetMark);
  const paused = annotations[pausedAnnotation];
  const source =
    set !== undefined && mark(sourceMark) === "true"
      ? { set, watchPath: mark(watchPathMark), rotatePath: mark(rotatePathMark), ...(paused !== undefined && { paused }) }
      : undefined;
  const owner = isOurs ? ownerOf(object, keyturn, RotationTarget) : undefined;
  if (!source && owner === undefined) return none;
  return {
    ...(source && { source }),
    ...(owner !== undefined && {
      target: {
        owner: owner === keyOfObject(object) ? undefined : owner,
        applied: appliedOf(annotations),
        ownerUids: object.metadata.ownerReferences?.map(({ uid }) => uid) ?? nobody,
      },
    }),
  };
}

function appliedOf(annotations: Readonly<Record<string, string>>): ObjectObservation["applied"] | undefined {
  const seq = parseVersion(annotations[versionAnnotation]);
  const digest = annotations[digestAnnotation];
  const atMs = parseTime(annotations[appliedAtAnnotation]);
  return seq !== undefined && digest !== undefined && atMs !== undefined ? { seq, digest, atMs } : undefined;
}
