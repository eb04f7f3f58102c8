// What annotations and labels say about sources, targets and records, and which of it is believed.
import {
  type DeepReadonly,
  keyOfObject,
  type KubeObject,
  managedByLabel,
  type ObjectKey,
  ownerOf,
  parseStoredDuration,
  statusDigest,
  type Stored,
} from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import { pausedAnnotation, type Selects } from "../../feature/pause-and-selection.ts";
import {
  appliedAtAnnotation,
  digestAnnotation,
  giveUpAnnotation,
  kindAnnotation,
  logAnnotation,
  parseTime,
  parseVersion,
  proofAnnotation,
  promoteAnnotation,
  publishBeforeAnnotation,
  rotatePathAnnotation,
  rotationSetAnnotation,
  RotationTarget,
  seenAtAnnotation,
  sourceAnnotation,
  versionAnnotation,
  watchDigestAnnotation,
  watchPathAnnotation,
} from "./api.ts";
import { component, componentLabel, type RecordAnnotations, recordAnnotationsOf } from "./history.ts";
import type { Applied, ObjectObservation, RecordObservation, SetObservation, TargetObservation } from "./observe.ts";
import { isProven } from "./seal.ts";
import type { SourcePaths } from "./source.ts";
import { limits } from "../../limits.ts";

// What is kept of the objects that may be sources or targets: their annotations and labels, and nothing at all of the many that have none of ours.

/** What an object's annotations and labels say. */
export interface RotationAnnotations {
  readonly source?: SourcePaths & { readonly set: string; /** The annotation that pauses the set, as it was written. */ readonly paused?: string };
  readonly target?: {
    /** The key of the RotationTarget in the same namespace that it is kept for, if that is another than its own. */
    readonly owner: ObjectKey | undefined;
    readonly applied: Claimed | undefined;
    /** The set that it was written for. Absent on objects of earlier releases. */
    readonly set?: string;
    readonly ownerUids: readonly string[];
  };
  readonly record?: RecordAnnotations;
  /** Seems to be a record that is no longer whole. */
  readonly suspected?: SuspectedRecord;
}

/** What an object says that it was written with, and its proof. */
interface Claimed extends Omit<Applied, "isProven"> {
  readonly proof?: string;
}

/** One value for all that have no owners. */
const nobody: readonly string[] = Object.freeze([]);

/** One value for all objects that have none of ours. */
const none: RotationAnnotations = Object.freeze({});

/** For a watch of metadata: what an object's annotations and labels say. */
export function keepAnnotations(object: KubeObject): RotationAnnotations {
  const { labels = {}, annotations = {} } = object.metadata;
  const isOurs = labels[managedByLabel] === keyturn.name;
  const record = isOurs ? recordAnnotationsOf(object) : undefined;
  if (record) return { record };
  const valueOf = (name: string): string | undefined => annotations[name] ?? labels[name];
  const set = valueOf(rotationSetAnnotation);
  const paused = annotations[pausedAnnotation];
  const source =
    set !== undefined && valueOf(sourceAnnotation) === "true"
      ? { set, watchPath: valueOf(watchPathAnnotation), rotatePath: valueOf(rotatePathAnnotation), ...(paused !== undefined && { paused }) }
      : undefined;
  const owner = isOurs ? ownerOf(object, keyturn, RotationTarget) : undefined;
  const writtenFor = annotations[rotationSetAnnotation];
  const suspected = owner === undefined ? suspectedRecordOf(object) : undefined;
  if (!source && owner === undefined && !suspected) return none;
  return {
    ...(suspected && { suspected }),
    ...(source && { source }),
    ...(owner !== undefined && {
      target: {
        owner: owner === keyOfObject(object) ? undefined : owner,
        applied: appliedOf(annotations),
        ...(writtenFor !== undefined && { set: writtenFor }),
        ownerUids: object.metadata.ownerReferences?.map(({ uid }) => uid) ?? nobody,
      },
    }),
  };
}

function appliedOf(annotations: Readonly<Record<string, string>>): Claimed | undefined {
  const seq = parseVersion(annotations[versionAnnotation]);
  const digest = annotations[digestAnnotation];
  const atMs = parseTime(annotations[appliedAtAnnotation]);
  const proof = annotations[proofAnnotation];
  return seq !== undefined && digest !== undefined && atMs !== undefined ? { seq, digest, atMs, ...(proof !== undefined && { proof }) } : undefined;
}

/** A Secret that may be a version record which somebody has taken something from. Only its type says whether it is: metadata does not have it. */
interface SuspectedRecord {
  /** The name without its number, which says the set: see `recordStem`. */
  readonly stem: string;
  /** The set that a label still names; as a rule the stem is the same. */
  readonly set: string;
}

/** What of a record only records have, any of which gives away one that is no longer whole. */
const recordOnlyAnnotations = [logAnnotation, watchDigestAnnotation, seenAtAnnotation, kindAnnotation];

/** The record that this object seems to have been, by its name and whatever is left of its metadata; undefined for everything else, and for records that are whole. */
export function suspectedRecordOf(object: KubeObject): SuspectedRecord | undefined {
  const { name = "", labels = {}, annotations = {}, ownerReferences = [] } = object.metadata;
  const stem = /^(.+)-[1-9]\d{0,8}$/.exec(name)?.[1];
  const isLikeOne =
    labels[componentLabel] === component ||
    recordOnlyAnnotations.some((known) => annotations[known] !== undefined) ||
    ownerReferences.some(({ apiVersion, kind }) => kind === RotationTarget.kind && apiVersion.startsWith(`${RotationTarget.group}/`));
  if (stem === undefined || !isLikeOne || recordAnnotationsOf(object)) return undefined;
  return { stem, set: labels[rotationSetAnnotation] ?? stem };
}

// What is kept of a RotationTarget: its settings, and of its status only a digest, to know whether another one would say the same. There may be tens of thousands.

/** A RotationTarget as it is kept. */
export interface TargetSettings extends TargetRules {
  readonly set: string;
  readonly uid: string;
  readonly generation: number | undefined;
  /** Being deleted: it no longer takes part. */
  readonly isLeaving: boolean;
  /** False if it is outside of what the operator looks after. */
  readonly isSelected: boolean;
  /** The annotation that pauses it, as it was written. */
  readonly paused: string | undefined;
  /** Versions that are given up. */
  readonly givenUp: readonly number[];
  /** The JWKSConfig that must publish a version's key first. */
  readonly publishBefore: string | undefined;
  /** What somebody has promoted. */
  readonly promote: string | undefined;
  /** The name of the object to keep, if it is another than the target's own. */
  readonly targetName: string | undefined;
  /** See the runtime's `statusDigest`; undefined if there is no status. */
  readonly statusDigest: string | undefined;
  /** The version that its status says it holds. */
  readonly reportedSeq: number | undefined;
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
    givenUp: givenUpBy(metadata.annotations?.[giveUpAnnotation]),
    ...targetRules(spec),
    publishBefore: metadata.annotations?.[publishBeforeAnnotation],
    promote: metadata.annotations?.[promoteAnnotation],
    targetName: spec.targetName,
    statusDigest: status && statusDigest(status),
    reportedSeq: status?.currentVersion?.seq,
  };
}

/** One value for all who give nothing up. */
const nothing: readonly number[] = Object.freeze([]);
const { givenUpVersions: maxGivenUp } = limits;

function givenUpBy(text: string | undefined): readonly number[] {
  return text === undefined ? nothing : text.split(",", maxGivenUp).flatMap((seq) => parseVersion(seq.trim()) ?? []);
}

/** By which rules a target takes versions. */
type TargetRules = Pick<TargetObservation, "order" | "delayMs" | "deletionMode" | "whenUnfilled" | "changePolicy">;

/** The rules of a target, from its spec. */
export function targetRules(spec: DeepReadonly<RotationTarget["spec"]>): TargetRules {
  const { rotationOrder: order, rotationDelay, deletionMode, whenUnfilled, changePolicy } = spec;
  return { order, delayMs: Math.ceil(parseStoredDuration(rotationDelay)), deletionMode, whenUnfilled, changePolicy };
}

// Which annotations of targets' objects are believed: anybody who can make an object can write our label and annotations on it.

/** What annotations are held against. */
interface Known extends Pick<SetObservation, "sources" | "records"> {
  /** The API server's time, with what clocks may be off: nothing was written later. Default none. */
  readonly latestMs?: number;
}

/**
 * The targets with only those annotations that prove themselves. What lies in a target's own place is the target's all the same, and is repaired;
 * anything else that is not what it says is left alone, and so is whatever has a name that the target never gave: it is somebody's copy.
 */
export function withBelievedAnnotations(targets: readonly TargetObservation[], known: Known): readonly TargetObservation[] {
  const kinds = new Set([...known.sources, ...known.records].map(({ resource }) => resource));
  const newest = known.records.reduce<RecordObservation | undefined>((last, record) => (record.seq > (last?.seq ?? 0) ? record : last), undefined);
  const isProvenSet = isProven({ ...known, targets });
  const { latestMs = Number.POSITIVE_INFINITY } = known;
  return targets.map((target) => ({
    ...target,
    objects: target.objects.flatMap((object) => {
      const isOwnPlace = object.name === target.objectName && kinds.has(object.resource);
      if (!object.ours) return [object];
      if (object.name !== target.objectName && object.name !== target.name) return [];
      const { applied, ...bare } = object;
      // A time that is still to come is no time at which anything was written.
      if (applied && isBelieved(object, { ...known, target: target.name, kinds, newest, isOwnPlace, isProvenSet }))
        return [{ ...bare, applied: { ...applied, atMs: Math.min(applied.atMs, latestMs) } }];
      return isOwnPlace ? [bare] : [];
    }),
  }));
}

/** True if a record is about the very version that an object says it was written with. */
export function isRecorded({ seq, digest }: NonNullable<ObjectObservation["applied"]>, records: readonly RecordObservation[]): boolean {
  return records.some((record) => record.seq === seq && record.digest === digest);
}

/**
 * Where anything of the set is proven, only what is proven is believed, and what the log says anyway. In a set of an earlier release, or one whose key was lost, a
 * version is believed by its record, or if that is lost by the object's content; and where people have edited it, only in its own place. A lost version
 * that is newer than all records must besides have a content that the source or a record knows: anybody can make up the others.
 */
function isBelieved(
  { applied, digest, resource, isOfOtherSet }: ObjectObservation,
  { target, kinds, newest, sources, records, isOwnPlace, isProvenSet }: Claim,
): boolean {
  if (!applied || isOfOtherSet) return false;
  const isIntact = applied.digest === digest;
  if (isProvenSet) {
    const isLogged = newest?.log?.commits.some(
      (commit) => commit.seq === applied.seq && commit.digest === applied.digest && Object.hasOwn(commit.at, target),
    );
    return (applied.isProven === true || isLogged === true) && (isIntact || isOwnPlace);
  }
  const record = records.find(({ seq }) => seq === applied.seq);
  if (record) return record.digest === applied.digest && record.resource === resource && (isIntact || isOwnPlace);
  // Where nothing is left to hold it against, a proof that does not hold counts against it.
  if (newest === undefined && applied.isProven === false) return false;
  if (!isIntact || (kinds.size > 0 && !kinds.has(resource))) return false;
  const commits = records.flatMap(({ log }) => log?.commits ?? []);
  if (commits.some((commit) => commit.seq === applied.seq && commit.digest !== applied.digest)) return false;
  const contents = [...sources.flatMap(({ content }) => (content.ok ? [content] : [])), ...records, ...commits];
  return newest === undefined || applied.seq < newest.seq || contents.some((known) => known.digest === applied.digest);
}

/** What a claim is held against. */
interface Claim extends Known {
  readonly target: string;
  readonly kinds: ReadonlySet<string>;
  readonly newest: RecordObservation | undefined;
  readonly isOwnPlace: boolean;
  readonly isProvenSet: boolean;
}
