// The history of a set: its log, how the log is repaired, and the version records that both are kept in.
import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { keyOf, type KubeObject, managedByLabel, type ObjectName, type OwnerReference, type Secret, TerminalError } from "@keyturn/runtime";
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
  proofAnnotation,
  rotationSetAnnotation,
  RotationTarget,
  seenAtAnnotation,
  versionAnnotation,
  versionRecordType,
  watchDigestAnnotation,
} from "./api.ts";
import { type Content, digestOf } from "./content.ts";
import type { ObjectObservation, RecordObservation, SourceObservation, TargetObservation } from "./observe.ts";
import type { RotationWrite } from "./plan.ts";
import { recordProof, type Seal } from "./seal.ts";
import { limits } from "../../limits.ts";

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
  /** When it became live: nobody had it before. */
  readonly liveMs?: number;
  /** For how long the source had been this when it became live. Absent where nobody knows, and with Queue. */
  readonly settledMs?: number;
  /** When each target, by name, was written with this version. */
  readonly at: Readonly<Record<string, number>>;
}

/** Who is in which rank, as moves go by it. */
export interface SetShape {
  /** The names in each rank, the first rank first. */
  readonly ranks: readonly (readonly string[])[];
  /** Its longest delay: for so long another shape must hold before it counts. */
  readonly longestMs: number;
  /** What is declared instead, and since when. */
  readonly next?: { readonly ranks: readonly (readonly string[])[]; readonly sinceMs: number };
}

/** Everybody who is, or was a short time ago, in the set: who has left may be back. */
export function namesIn(shape: SetShape | undefined): readonly string[] {
  return shape ? [...shape.ranks, ...(shape.next?.ranks ?? [])].flat() : [];
}

/** The log of a set. The version whose record holds it is the one that the source was last seen as. */
export interface RotationLog {
  readonly source: SourceState;
  /** Oldest first; those that no rule can ask for any more are left out. */
  readonly commits: readonly Commit[];
  readonly frozen: readonly FrozenStretch[];
  /** Targets, by name, that hold a version only because there is no older one for them. */
  readonly backfilled: readonly string[];
  /** Absent in logs of versions before 0.3.0. */
  readonly shape?: SetShape;
}

/** The record that has the log: the newest, or of a damaged history the newest whose log can be read. */
export function headRecord(records: readonly RecordObservation[]): RecordObservation | undefined {
  return records.reduce<RecordObservation | undefined>((head, record) => (record.log && record.seq > (head?.seq ?? 0) ? record : head), undefined);
}

/** The latest time in the log: time never runs back behind it. */
export function latestTimeOf({ source, commits, frozen, shape }: RotationLog): number {
  let latestMs = Math.max(source.sinceMs, frozen.at(-1)?.toMs ?? 0, shape?.next?.sinceMs ?? 0);
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

/** When a version became live, as far as that is remembered; else it was long ago. */
export function liveSinceMs({ liveMs, at }: Commit): number {
  const times = Object.values(at);
  return liveMs ?? (times.length > 0 ? Math.min(...times) : 0);
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

/** What a log is repaired from. */
interface Evidence {
  readonly targets: readonly TargetObservation[];
  readonly records: readonly RecordObservation[];
  readonly sources: readonly SourceObservation[];
  /** Versions that people have given up. */
  readonly givenUp: readonly number[];
}

/** The log with what the targets' objects report, and without what people have given up. */
export function repairedLog(log: RotationLog, evidence: Evidence, headSeq: number): RotationLog {
  const { targets, givenUp } = evidence;
  const names = new Set([...targets.map(({ name }) => name), ...namesIn(log.shape)]);
  const noted = withStatuses(withObjects(withoutStrangers(log.commits, names), targets, headSeq), evidence);
  const reported = withSettled(noted, log, evidence.records);
  const newlyReported = targets
    .filter(({ name }) => heldBy(name, log.commits) === undefined && heldBy(name, reported) !== undefined)
    .map(({ name }) => name);
  const given = [...lostVersions(reported, evidence).filter(({ seq }) => givenUp.includes(seq)), ...removedVersions(log.source, reported, evidence)];
  const commits = given.reduce(withoutVersion, reported);
  if (commits === log.commits) return log;
  // A target that is reported for the first time holds what others hold too: it was filled in the run that crashed.
  const filled = newlyReported.filter((name) => heldBy(name, commits) === commits[0] && log.commits.length === 0);
  return { ...log, commits, backfilled: [...log.backfilled.filter((name) => names.has(name)), ...filled] };
}

/** While its source is gone, the operator itself deletes objects and then records, and may have been stopped between two of them. */
function removedVersions({ state }: SourceState, commits: readonly Commit[], evidence: Evidence): readonly Commit[] {
  if (state !== "gone") return [];
  const isRemoved = ({ at }: Commit): boolean =>
    evidence.targets.every(
      ({ name, deletionMode, objects }) => !Object.hasOwn(at, name) || (deletionMode === "cascade" && !objects.some(({ ours }) => ours)),
    );
  return unrecorded(commits, evidence).filter((commit) => isRemoved(commit) && !originOf(commit, { ...evidence, sources: [] }));
}

/** Dates commits that only objects report: for how long the source had been that, its record says, and of the newest one the log. */
function withSettled(commits: readonly Commit[], log: RotationLog, records: readonly RecordObservation[]): readonly Commit[] {
  const known = new Set(log.commits.map(({ seq }) => seq));
  if (commits.every(({ seq }) => known.has(seq))) return commits;
  return commits.map((commit) => {
    const record = records.find(({ seq }) => seq === commit.seq);
    if (known.has(commit.seq) || !record) return commit;
    const liveMs = liveSinceMs(commit);
    const sinceMs = record.log === log ? Math.max(record.seenAtMs, log.source.sinceMs) : record.seenAtMs;
    return { ...commit, liveMs, settledMs: Math.max(0, liveMs - sinceMs) };
  });
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
      // A number beyond all records is believed only with proof, or if the content is what it says: the record may have been lost.
      if (applied.seq > headSeq && applied.digest !== digest && !applied.isProven) continue;
      reported = withCommitted(reported, name, applied);
    }
  }
  return reported;
}

/** A status is written last of all. Where it says more than log and object, the log is an older one, and the object is gone. */
function withStatuses(commits: readonly Commit[], { targets, givenUp }: Evidence): readonly Commit[] {
  return targets.reduce((known, { name, reportedSeq = 0 }) => {
    const reported = known.find(({ seq }) => seq === reportedSeq);
    if (!reported || givenUp.includes(reportedSeq) || (heldBy(name, known)?.seq ?? 0) >= reportedSeq) return known;
    return withCommitted(known, name, {
      seq: reportedSeq,
      digest: reported.digest,
      atMs: Math.max(liveSinceMs(reported), ...Object.values(reported.at)),
    });
  }, commits);
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

/** Nobody holds it any more; as the last one it stays, so that nothing older takes its place. */
function withoutVersion(commits: readonly Commit[], given: Commit): readonly Commit[] {
  const emptied = commits.map((commit) => (commit.seq === given.seq ? { ...commit, at: {} } : commit));
  return emptied.filter(({ at }, index) => Object.keys(at).length > 0 || index === emptied.length - 1);
}

// Versions without a record. A record that is lost is made again from anything that still has the version's content; what is nowhere stops the set.

/** Something that has a version's content: a target's object, or the source. */
export type ContentOrigin =
  | { readonly type: "source" }
  | { readonly type: "object"; readonly resource: string; readonly name: string; readonly uid: string; readonly resourceVersion: string };

/** A version whose record can be made again. */
export interface Recoverable extends Omit<RecordObservation, "uid" | "resourceVersion" | "log" | "owners" | "proof"> {
  readonly from: ContentOrigin;
}

type Known = Pick<RecordObservation, "seq" | "digest">;
/** The versions of a log that have no record although something has their content. Those that are `known` take the place of older ones with theirs. */
export function recoverableVersions(commits: readonly Commit[], evidence: Evidence, known: readonly Known[]): readonly Recoverable[] {
  // What is live is what targets take next, also if nobody holds it any more.
  const isReplaced = (commit: Commit): boolean => known.some(({ seq, digest }) => seq > commit.seq && digest === commit.digest);
  const last = commits.slice(-1).filter((commit) => !isRecorded(commit, evidence) && !isReplaced(commit));
  return [...new Set([...unrecorded(commits, evidence), ...last])].flatMap((commit) => {
    const origin = originOf(commit, evidence);
    if (!origin) return [];
    const { seq, digest } = commit;
    return [{ seq, digest, watchDigest: digest, resource: origin.resource, seenAtMs: liveSinceMs(commit), from: origin.from }];
  });
}

/** The versions that a target holds, can still get, or has reported to hold, and whose content is nowhere. */
export function lostVersions(commits: readonly Commit[], evidence: Evidence): readonly Commit[] {
  const lost = unrecorded(commits, evidence).filter((commit) => !originOf(commit, evidence));
  const reported = evidence.targets.flatMap(({ name, reportedSeq }): readonly Commit[] => {
    const isKnown = reportedSeq === undefined || (commits.at(-1)?.seq ?? 0) >= reportedSeq || evidence.records.some(({ seq }) => seq === reportedSeq);
    return isKnown || evidence.givenUp.includes(reportedSeq) ? [] : [{ seq: reportedSeq, digest: "", at: { [name]: 0 } }];
  });
  return [...lost, ...reported];
}

/** Without a record: what a target holds, or can still get. */
function unrecorded(commits: readonly Commit[], evidence: Evidence): readonly Commit[] {
  const { targets } = evidence;
  const oldest = Math.min(...targets.map(({ name }) => heldBy(name, commits)?.seq ?? Number.POSITIVE_INFINITY));
  const isHeld = ({ at }: Commit): boolean => targets.some(({ name }) => Object.hasOwn(at, name));
  const isNeeded = (commit: Commit, index: number): boolean => commit.seq >= oldest && (isHeld(commit) || index < commits.length - 1);
  return commits.filter((commit, index) => isNeeded(commit, index) && !isRecorded(commit, evidence));
}

function isRecorded({ seq }: Commit, { records }: Evidence): boolean {
  return records.some((record) => record.seq === seq);
}

function originOf({ digest }: Commit, { targets, sources }: Evidence): { readonly resource: string; readonly from: ContentOrigin } | undefined {
  for (const { objects } of targets) {
    const intact = objects.find((object) => object.ours && object.applied?.digest === digest && object.digest === digest);
    if (!intact) continue;
    const { resource, name, uid, resourceVersion } = intact;
    return { resource, from: { type: "object", resource, name, uid, resourceVersion } };
  }
  const [source, ...others] = sources;
  return source?.content.ok && source.content.digest === digest && others.length === 0
    ? { resource: source.resource, from: { type: "source" } }
    : undefined;
}

// Version records: one immutable Secret per state of the source. What is noted with one can change, what it holds cannot.

export const componentLabel = "app.kubernetes.io/component";
export const component = "rotation-version";

/** Where the content is in a record. */
const contentKey = "content";

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
const namesOfRanks = z.array(z.array(z.string()));
const rotationLog = z.object({
  source: z.union([
    z.object({ state: z.literal("present"), uid: z.string(), sinceMs: timeMs }),
    z.object({ state: z.enum(["gone", "unreadable"]), sinceMs: timeMs }),
  ]),
  commits: z.array(
    z.object({
      seq: z.int().min(1).max(highestVersion),
      digest: z.string(),
      departedMs: timeMs.exactOptional(),
      liveMs: timeMs.exactOptional(),
      settledMs: timeMs.exactOptional(),
      at: times,
    }),
  ),
  frozen: z.array(z.object({ fromMs: timeMs, toMs: timeMs })),
  backfilled: z.array(z.string()),
  shape: z
    .object({ ranks: namesOfRanks, longestMs: timeMs, next: z.object({ ranks: namesOfRanks, sinceMs: timeMs }).exactOptional() })
    .exactOptional(),
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
  write: RotationWrite & { readonly verb: "createRecord" | "rebuildRecord" },
  { content, owners, seal }: { readonly content: VersionContent; readonly owners: readonly OwnerReference[]; readonly seal: Seal | undefined },
): Secret {
  const log = JSON.stringify(write.log);
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
        [logAnnotation]: log,
        ...(seal && { [proofAnnotation]: recordProof(seal, keyOf({ namespace, name: set }), { ...write, log }) }),
      },
      ownerReferences: [...owners],
    },
    type: versionRecordType,
    immutable: true,
    data: { [contentKey]: deflateRawSync(JSON.stringify(content)).toString("base64") },
  };
}

/** The target as an owner of records. It does not block its deletion: the history is not what somebody who deletes a target waits for. */
export function ownerReferenceOf({ name, uid }: { readonly name: string; readonly uid: string }): OwnerReference {
  return { apiVersion: `${RotationTarget.group}/${RotationTarget.version}`, kind: RotationTarget.kind, name, uid };
}

/** What a record is, as far as its metadata says; its log stays text until it is needed. */
export interface RecordAnnotations extends Omit<RecordObservation, "uid" | "resourceVersion" | "log" | "proof"> {
  readonly set: string;
  readonly log: string;
  readonly proof?: string | undefined;
}

/** The annotations and labels of a record; undefined for any other Secret, such as a copy of one under another name. */
export function recordAnnotationsOf({ metadata }: KubeObject): RecordAnnotations | undefined {
  const { labels = {}, annotations = {}, ownerReferences = [] } = metadata;
  const set = labels[rotationSetAnnotation];
  if (labels[managedByLabel] !== keyturn.name || labels[componentLabel] !== component || set === undefined) return undefined;
  const seq = parseVersion(annotations[versionAnnotation]);
  const seenAtMs = parseTime(annotations[seenAtAnnotation]);
  const {
    [kindAnnotation]: resource,
    [digestAnnotation]: digest,
    [watchDigestAnnotation]: watchDigest,
    [logAnnotation]: log = "",
    [proofAnnotation]: proof,
  } = annotations;
  if (seq === undefined || seenAtMs === undefined || !resource || !digest || !watchDigest || metadata.name !== recordName(set, seq)) return undefined;
  const owners = ownerReferences.map(({ uid }) => uid);
  return { set, seq, resource, digest, watchDigest, seenAtMs, log, owners, ...(proof !== undefined && { proof }) };
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
class DamagedRecordError extends TerminalError {
  constructor({ namespace, name }: ObjectName) {
    super(
      `version record ${namespace}/${name} cannot be read: delete it, and it is made again from an object that has its content, if there is one`,
      {
        reason: "HistoryDamaged",
      },
    );
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
    const version = versionContent.parse(JSON.parse(inflateRawSync(packed, { maxOutputLength: limits.versionBytes }).toString("utf8")));
    return digestOf(version.content) === metadata.annotations?.[digestAnnotation] ? version : undefined;
  } catch {
    // What zlib says helps nobody, and the parsers quote their input, which may be a Secret's content.
    return undefined;
  }
}
