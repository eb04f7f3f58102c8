// The history of a set: its log, how the log is repaired, and the version records that both are kept in.
import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { type KubeObject, managedByLabel, type ObjectName, type OwnerReference, type Secret, TerminalError } from "@keyturn/runtime";
import * as z from "zod";
import { keyturn } from "../../feature/feature.ts";
import {
  digestAnnotation,
  highestVersion,
  kindAnnotation,
  latestTimeMs,
  logAnnotation,
  parseTime,
  parseVersion,
  rotationSetAnnotation,
  RotationTarget,
  seenAtAnnotation,
  versionAnnotation,
  versionRecordType,
  watchDigestAnnotation,
} from "./api.ts";
import { type Content, digestOf } from "./content.ts";
import type { ObjectObservation, RecordObservation, TargetObservation } from "./observe.ts";
import type { RotationWrite } from "./plan.ts";

// What has happened to a set, as far as it still matters: the whole memory of the rules. Kept with the newest version record of the set.

/** What the source is, and since when. Only `gone` means that there is no source object; `unreadable` is one that says nothing, or two that contradict. */
export type SourceState =
  | { readonly state: "present"; readonly uid: string; readonly sinceMs: number }
  | { readonly state: "gone" | "unreadable"; readonly sinceMs: number };

/** A stretch of time that does not count, because the source was gone or unreadable. */
export interface FrozenStretch {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A version that became live: it was written to the targets of the first rank. */
export interface Commit {
  readonly seq: number;
  /** Digest of the version's content. */
  readonly digest: string;
  /**
   * When the source left this content for good: the start of the uninterrupted stretch in which it exists and is another.
   * Of the last commit it is provisional, and absent while the source is this version.
   */
  readonly departedMs?: number;
  /** When each target, by name, was written with this version. */
  readonly at: Readonly<Record<string, number>>;
}

/** The log of a set. The version whose record holds it is the one that the source was last seen as. */
export interface RotationLog {
  readonly source: SourceState;
  /** Oldest first; those that no rule can ask for any more are left out. */
  readonly commits: readonly Commit[];
  readonly frozen: readonly FrozenStretch[];
  /** Targets, by name, that hold a version only because there is no older one for them. */
  readonly backfilled: readonly string[];
}

/** The latest time in the log: time never runs back behind it. */
export function latestTimeOf({ source, commits, frozen }: RotationLog): number {
  let latestMs = Math.max(source.sinceMs, frozen.at(-1)?.toMs ?? 0);
  for (const { at, departedMs = 0 } of commits) {
    latestMs = Math.max(latestMs, departedMs);
    for (const atMs of Object.values(at)) latestMs = Math.max(latestMs, atMs);
  }
  return latestMs;
}

/** The version that a target was last written with; undefined if with none. */
export function heldBy(target: string, commits: readonly Commit[]): Commit | undefined {
  return commits.findLast(({ at }) => Object.hasOwn(at, target));
}

/** When a target was written with this very version; undefined if it was not. Names are people's: `constructor` is one like any other. */
export function writtenMs({ at }: Commit, target: string): number | undefined {
  return Object.hasOwn(at, target) ? at[target] : undefined;
}

/** When a target first held this version or a later one; undefined if it does not yet. */
export function reachedMs(target: string, seq: number, commits: readonly Commit[]): number | undefined {
  let firstMs: number | undefined;
  for (const commit of commits) {
    const atMs = writtenMs(commit, target);
    if (commit.seq >= seq && atMs !== undefined) firstMs = Math.min(atMs, firstMs ?? atMs);
  }
  return firstMs;
}

// The log as it really stands: a target's object says in one write what it holds and since when, so that it knows of commits that a crash kept out of the log.

/** The commits that the targets' objects report. */
export function commitsOfObjects(targets: readonly TargetObservation[]): readonly Commit[] {
  return withObjects([], targets, 0);
}

/** The log with what the targets' objects report, and without what cannot be held any more because both the object and its version are lost. */
export function repairedLog(
  log: RotationLog,
  {
    targets,
    records,
    headSeq,
  }: { readonly targets: readonly TargetObservation[]; readonly records: readonly RecordObservation[]; readonly headSeq: number },
): RotationLog {
  const names = new Set(targets.map(({ name }) => name));
  const reported = withObjects(withoutStrangers(log.commits, names), targets, headSeq);
  const newlyReported = targets
    .filter(({ name }) => heldBy(name, log.commits) === undefined && heldBy(name, reported) !== undefined)
    .map(({ name }) => name);
  const commits = targets.reduce((left, target) => withoutLost(left, target, records), reported);
  if (commits === log.commits) return log;
  // A target that is reported for the first time holds what others hold too: it was filled in the run that crashed.
  const filled = newlyReported.filter((name) => heldBy(name, commits) === commits[0] && log.commits.length === 0);
  return { ...log, commits, backfilled: [...log.backfilled.filter((name) => names.has(name)), ...filled] };
}

/** A target that has left the set is forgotten. */
function withoutStrangers(commits: readonly Commit[], names: ReadonlySet<string>): readonly Commit[] {
  if (commits.every(({ at }) => Object.keys(at).every((name) => names.has(name)))) return commits;
  return commits.map((commit) => ({ ...commit, at: Object.fromEntries(Object.entries(commit.at).filter(([name]) => names.has(name))) }));
}

function withObjects(commits: readonly Commit[], targets: readonly TargetObservation[], headSeq: number): readonly Commit[] {
  let reported = commits;
  for (const { name, objects } of targets) {
    for (const { ours, applied, digest } of objects) {
      if (!ours || !applied || (heldBy(name, reported)?.seq ?? -1) >= applied.seq) continue;
      // A number beyond all records is believed only if the content is what it says: the record may have been lost.
      if (applied.seq > headSeq && applied.digest !== digest) continue;
      reported = withCommitted(reported, name, applied);
    }
  }
  return reported;
}

function withCommitted(
  commits: readonly Commit[],
  name: string,
  { seq, digest, atMs }: NonNullable<ObjectObservation["applied"]>,
): readonly Commit[] {
  const known = commits.find((commit) => commit.seq === seq);
  const changed: Commit = known ? { ...known, at: { ...known.at, [name]: atMs } } : { seq, digest, at: { [name]: atMs } };
  return [...commits.filter((commit) => commit !== known), changed].sort((a, b) => a.seq - b.seq);
}

/** A version without a record is held only for as long as the object is intact. */
function withoutLost(commits: readonly Commit[], { name, objects }: TargetObservation, records: readonly RecordObservation[]): readonly Commit[] {
  const held = heldBy(name, commits);
  if (!held || records.some(({ seq }) => seq === held.seq)) return commits;
  const isIntact = objects.some(({ ours, applied, digest }) => ours && applied?.seq === held.seq && applied.digest === digest);
  if (isIntact) return commits;
  return commits
    .map((commit) =>
      Object.hasOwn(commit.at, name) ? { ...commit, at: Object.fromEntries(Object.entries(commit.at).filter(([other]) => other !== name)) } : commit,
    )
    .filter(({ at }, index, all) => Object.keys(at).length > 0 || index === all.length - 1);
}

// Version records: one immutable Secret per state of the source. What is noted with one can change, what it holds cannot.

const componentLabel = "app.kubernetes.io/component";
const component = "rotation-version";

/** Where the content is in a record. */
const contentKey = "content";

/**
 * The longest text that a version may be; a record that unpacks to more is damaged. A Secret or ConfigMap holds 1 MiB, which is 6 MiB of JSON if every
 * character has to be escaped.
 */
export const maxContentBytes = 8 * 1024 * 1024;

/** What a record holds: the kind of object, and its content. */
export interface VersionContent {
  readonly apiVersion: string;
  readonly kind: string;
  readonly content: Content;
}

const versionContent = z.object({ apiVersion: z.string(), kind: z.string(), content: z.record(z.string(), z.unknown()) });

const timeMs = z.number().min(0).max(latestTimeMs);
/** No prototype, so that every name is only what the log says. */
const times = z.record(z.string(), timeMs).transform((at): Readonly<Record<string, number>> => Object.assign(Object.create(null), at));
const rotationLog = z.object({
  source: z.union([
    z.object({ state: z.literal("present"), uid: z.string(), sinceMs: timeMs }),
    z.object({ state: z.enum(["gone", "unreadable"]), sinceMs: timeMs }),
  ]),
  commits: z.array(z.object({ seq: z.int().min(1).max(highestVersion), digest: z.string(), departedMs: timeMs.exactOptional(), at: times })),
  frozen: z.array(z.object({ fromMs: timeMs, toMs: timeMs })),
  backfilled: z.array(z.string()),
});

/** The name of a record. */
export function recordName(set: string, seq: number): string {
  return `${recordStem(set)}-${seq}`;
}

/** What the names of a set's records begin with. A set whose name cannot be part of one is written with a digest instead. */
export function recordStem(set: string): string {
  const isName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(set);
  return isName ? set : `${set.toLowerCase().replaceAll(/[^a-z0-9-]/g, "-")}-${hash("sha256", set).slice(0, 8)}`;
}

/** The record of a new version. */
export function recordSecret(
  { namespace, set }: { readonly namespace: string; readonly set: string },
  write: RotationWrite & { readonly verb: "createRecord" },
  { content, owners }: { readonly content: VersionContent; readonly owners: readonly OwnerReference[] },
): Secret {
  return {
    metadata: {
      namespace,
      name: recordName(set, write.seq),
      labels: { [managedByLabel]: keyturn.name, [componentLabel]: component, [rotationSetAnnotation]: set },
      annotations: {
        [versionAnnotation]: String(write.seq),
        [kindAnnotation]: write.resource,
        [digestAnnotation]: write.digest,
        [watchDigestAnnotation]: write.watchDigest,
        [seenAtAnnotation]: new Date(write.seenAtMs).toISOString(),
        [logAnnotation]: JSON.stringify(write.log),
      },
      ownerReferences: [...owners],
    },
    type: versionRecordType,
    immutable: true,
    data: { [contentKey]: deflateRawSync(JSON.stringify(content)).toString("base64") },
  };
}

/** What is changed in a record's metadata when something new is noted with it. */
export function recordNote(log: RotationLog | undefined, owners: readonly OwnerReference[]): object {
  return { ...(log && { annotations: { [logAnnotation]: JSON.stringify(log) } }), ownerReferences: owners };
}

/** The target as an owner of records. It does not block its deletion: the history is not what somebody who deletes a target waits for. */
export function ownerReferenceOf({ name, uid }: { readonly name: string; readonly uid: string }): OwnerReference {
  return { apiVersion: `${RotationTarget.group}/${RotationTarget.version}`, kind: RotationTarget.kind, name, uid };
}

/** What a record is, as far as its metadata says; its log stays text until it is needed. */
export interface RecordAnnotations extends Omit<RecordObservation, "uid" | "resourceVersion" | "log"> {
  readonly set: string;
  readonly log: string;
}

/** A Secret that may be a version record which somebody has taken something from. Only its type says whether it is: metadata does not have it. */
export interface SuspectedRecord {
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

/** The annotations and labels of a record; undefined for any other Secret, such as a copy of one under another name. */
export function recordAnnotationsOf({ metadata }: KubeObject): RecordAnnotations | undefined {
  const { labels = {}, annotations = {}, ownerReferences = [] } = metadata;
  const set = labels[rotationSetAnnotation];
  if (labels[managedByLabel] !== keyturn.name || labels[componentLabel] !== component || set === undefined) return undefined;
  const seq = parseVersion(annotations[versionAnnotation]);
  const seenAtMs = parseTime(annotations[seenAtAnnotation]);
  const { [kindAnnotation]: resource, [digestAnnotation]: digest, [watchDigestAnnotation]: watchDigest, [logAnnotation]: log = "" } = annotations;
  if (seq === undefined || seenAtMs === undefined || !resource || !digest || !watchDigest || metadata.name !== recordName(set, seq)) return undefined;
  return { set, seq, resource, digest, watchDigest, seenAtMs, log, owners: ownerReferences.map(({ uid }) => uid) };
}

/** The log in a record's annotation; undefined if somebody has damaged it: then only a person can say what has happened to the set. */
export function parseLog(text: string): RotationLog | undefined {
  try {
    return rotationLog.safeParse(JSON.parse(text)).data;
  } catch {
    // A text that is no JSON was edited.
    return undefined;
  }
}

/** A record's content cannot be read, or is not what the record says. Only a person can decide that its version is given up. */
export class DamagedRecordError extends TerminalError {
  constructor({ namespace, name }: ObjectName) {
    super(`version record ${namespace}/${name} cannot be read: delete it, and the version is given up`, { reason: "HistoryDamaged" });
    this.name = "DamagedRecordError";
  }
}

/** The content in a record. Throws a `DamagedRecordError` if there is none, without showing anything of it. */
export function contentOfRecord(record: Secret, name: ObjectName): VersionContent {
  const content = readableContent(record);
  if (!content) throw new DamagedRecordError(name);
  return content;
}

/** The content in a record; undefined if it is damaged. */
export function readableContent({ metadata, data }: Secret): VersionContent | undefined {
  try {
    const packed = Buffer.from(data?.[contentKey] ?? "", "base64");
    const version = versionContent.parse(JSON.parse(inflateRawSync(packed, { maxOutputLength: maxContentBytes }).toString("utf8")));
    return digestOf(version.content) === metadata.annotations?.[digestAnnotation] ? version : undefined;
  } catch {
    // What zlib says helps nobody, and the parsers quote their input, which may be a Secret's content.
    return undefined;
  }
}

// What is noted with version records, and when it has to be noted anew.

/** The owners of every record: with the last of the set's targets the history goes too. */
export function ownersOf(targets: readonly TargetObservation[]): readonly string[] {
  return targets.map(({ uid }) => uid).toSorted();
}

/** A note of the log, if it is another than what the record says. */
export function logNote(record: RecordObservation, log: RotationLog, owners: readonly string[]): RotationWrite | undefined {
  if (log === record.log && hasOwners(record, owners)) return undefined;
  return { verb: "noteRecord", seq: record.seq, precondition: preconditionOf(record), log, owners };
}

/** A note of the owners alone, if they are others than what the record says. */
export function ownersNote(record: RecordObservation, owners: readonly string[]): readonly RotationWrite[] {
  if (hasOwners(record, owners)) return [];
  return [{ verb: "noteRecord", seq: record.seq, precondition: preconditionOf(record), log: undefined, owners }];
}

/** Which state of a record a write is meant for. */
export function preconditionOf({ uid, resourceVersion }: RecordObservation): { readonly uid: string; readonly resourceVersion: string } {
  return { uid, resourceVersion };
}

function hasOwners(record: RecordObservation, owners: readonly string[]): boolean {
  const has = record.owners.toSorted();
  return has.length === owners.length && has.every((uid, index) => uid === owners[index]);
}
