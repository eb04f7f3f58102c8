// What the plan for one set is made from, and how it is gathered: annotations from the caches, contents from the API server, and those only when their object has changed.
import {
  type Client,
  conflictReason,
  covers,
  keyOf,
  type Kind,
  type KubeObject,
  LruMap,
  maxSkewMs,
  nameOf,
  type ObjectKey,
  type ObjectName,
  resourceOf,
  Secret,
  type Stored,
  TransientError,
} from "@keyturn/runtime";
import type { MaintenanceWindows } from "../../feature/maintenance-window.ts";
import { type Pause, pauseInWords, pauseOf } from "../../feature/pause-and-selection.ts";
import { isRecorded, type RotationAnnotations, suspectedRecordOf, withBelievedAnnotations } from "./annotations.ts";
import { promotedOf, versionRecordType } from "./api.ts";
import { contentOf, digestOf, storedContent } from "./content.ts";
import { parseLog, readableContent, recordName, recordStem, type RotationLog, type VersionContent } from "./history.ts";
import { type PublishBefore, type VersionKey, withPublications } from "./publish-before.ts";
import { objectProof, recordProof, type Seal } from "./seal.ts";
import { type ReadSource, readSource } from "./source.ts";
import { formerSeq, type Looked, type RotationWatches, setKey, takenSeqs } from "./watches.ts";

// Everything that the plan for one set is made from. Contents do not come here: versions are distinguished by digests.

/** What was observed of a set. All of it lies in one namespace. */
export interface SetObservation {
  readonly namespace: string;
  readonly set: string;
  /** Every object that is marked as the set's source. */
  readonly sources: readonly SourceObservation[];
  /** The set's RotationTargets that are there to stay, in any order. */
  readonly targets: readonly TargetObservation[];
  /** The set's version records, in any order. */
  readonly records: readonly RecordObservation[];
  /** Sequence numbers above all of `records` whose record's name is taken by something else. */
  readonly takenSeqs: readonly number[];
  /** Where there are no records: the highest version that an object of any target in the namespace claims. A new history does not count anew below it. */
  readonly formerSeq: number;
  /** What was found wrong with the history, if anything: nothing moves then. */
  readonly damage?: string;
  /** Kinds of the set's versions that are not watched, as `plural.group`: nobody knows what there is of them. */
  readonly unwatched: readonly string[];
  /** Versions that people have given up. */
  readonly givenUp: readonly number[];
  /** When contents may move; absent for at any time. */
  readonly maintenance?: MaintenanceWindows;
}

/** An object that is marked as a source. */
export interface SourceObservation {
  /** `plural.group`. */
  readonly resource: string;
  readonly name: string;
  readonly uid: string;
  readonly content: SourceContent;
  /** People asked for nothing to move. */
  readonly pause?: Pause;
  /** When the server last saw the watched part written, if it says so: not before the write, and up to a second after it. */
  readonly writtenAtMs?: number;
  /** Seen for the first time, or changed more than once since: what it was before, and for how long, only others can say. */
  readonly isFirstLook?: true;
}

export type SourceContent =
  | {
      readonly ok: true;
      /** Digest of what `watch-path` covers: a new one makes a new version. */
      readonly watchDigest: string;
      /** Digest of what `rotate-path` covers: the version's content. */
      readonly digest: string;
    }
  | { readonly ok: false; readonly reason: "PathNotFound" | "InvalidPath" | "ContentTooLarge"; readonly message: string };

/** A RotationTarget, with defaults filled in. */
export interface TargetObservation {
  readonly name: string;
  readonly uid: string;
  /** Absent where nothing is reported. */
  readonly resourceVersion?: string | undefined;
  readonly generation: number | undefined;
  readonly order: number;
  readonly delayMs: number;
  readonly deletionMode: "keep" | "cascade";
  readonly whenUnfilled: "Backfill" | "Absent";
  readonly changePolicy: "Settled" | "Queue";
  /** The name of the object to keep. */
  readonly objectName: string;
  /** See the runtime's `statusDigest`; undefined if there is no status. */
  readonly statusDigest: string | undefined;
  /** The version that its status says it holds. */
  readonly reportedSeq?: number | undefined;
  /** What there is under that name of the kinds in question: the sources', the records', and whatever is marked as this target's. */
  readonly objects: readonly ObjectObservation[];
  /** It gets a version only when its key has been published for long enough. */
  readonly publishBefore?: PublishBefore;
  /** The last version that somebody has promoted: in the lowest order, up to this one no delay is waited for. */
  readonly promoted?: number | undefined;
  /** What stands in the way of writing the target's object, if anything. The object is then not touched. */
  readonly blocker?: Blocker;
}

/** Why a target's object cannot be written. */
export interface Blocker {
  readonly reason: "NameConflict" | "SourceConflict" | "WriteRefused" | "Paused" | "NotSelected";
  readonly message: string;
  /** When it ends by itself. */
  readonly untilMs?: number | undefined;
}

/** What an object was written with, as its annotations say. */
export interface Applied {
  readonly seq: number;
  readonly digest: string;
  readonly atMs: number;
  /** True if only this installation can have written that. Absent where nobody can tell. */
  readonly isProven?: boolean;
}

/** An object under a target's name, whoever's it is. */
export interface ObjectObservation {
  readonly resource: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Marked as kept for this very target. */
  readonly ours: boolean;
  /** What its annotations say it was written with; absent if they say nothing that can be read. */
  readonly applied?: Applied;
  /** It was written for another set, which a target of this name was in before: its content is none of this one's. */
  readonly isOfOtherSet?: true;
  /** Digest of its content as it is now; another than `applied.digest` is drift. */
  readonly digest: string;
  /** Is owned by its RotationTarget, and so goes with it. */
  readonly ownedByTarget: boolean;
}

/** A version record. */
export interface RecordObservation {
  readonly seq: number;
  readonly uid: string;
  readonly resourceVersion: string;
  /** The kind of the source at the time. */
  readonly resource: string;
  readonly watchDigest: string;
  readonly digest: string;
  readonly seenAtMs: number;
  /** As of when this record was the newest. Absent if it cannot be read. */
  readonly log: RotationLog | undefined;
  /** uids of its owners. */
  readonly owners: readonly string[];
  /** Whether only this installation can have written its number, digests, time and log. Absent where it does not say, as in earlier releases, or nobody can tell. */
  readonly proof?: "valid" | "invalid";
}

/** What is remembered of objects that were read, by uid and for one resourceVersion. Losing any of it costs a request and nothing else. */
export interface ReadMemory {
  readonly sources: LruMap<
    string,
    { readonly resourceVersion: string; readonly paths: RotationAnnotations["source"]; readonly read: Omit<ReadSource, "payload"> }
  >;
  /** The resourceVersions at which a target's object had exactly the content that it says it has. */
  readonly intact: LruMap<string, string>;
  /** The public keys of versions, by the digest of their content. */
  readonly keys: LruMap<string, VersionKey>;
  /** The digests of the contents of records that were written or read: they are immutable, so that no version matters. */
  readonly records: LruMap<string, string>;
}

const maxRemembered = 200_000;
const maxKeys = 10_000;

export function createReadMemory(): ReadMemory {
  return { sources: new LruMap(maxRemembered), intact: new LruMap(maxRemembered), records: new LruMap(maxRemembered), keys: new LruMap(maxKeys) };
}

/** What an observation is made with. */
export interface ObserveOptions {
  readonly watches: RotationWatches;
  readonly kinds: readonly Kind[];
  /** When contents may move. Default at any time. */
  readonly maintenance?: MaintenanceWindows;
  readonly memory: ReadMemory;
  /** Absent: nobody can tell who has written what. */
  readonly seal?: Seal | undefined;
  /** Nobody can say what the source was until now. */
  readonly isFirstLook?: boolean;
  /** The API server's clock: a set's times are all by it. */
  readonly nowMs: number;
  /** Its client is asked for only if something has to be read: mostly caches say it all. */
  readonly run: { readonly client: Pick<Client, "get">; readonly signal: AbortSignal };
}

/** An observation, and the contents that were read for it. */
export interface Observed {
  readonly observation: SetObservation;
  /** By the uid of the source. */
  readonly contents: ReadonlyMap<string, VersionContent>;
}

/** The observation of one set; undefined if it has no targets, or none that is looked after. */
export async function observeSet(key: ObjectKey, options: ObserveOptions): Promise<Observed | undefined> {
  const { watches, maintenance, nowMs } = options;
  const { namespace = "", name: set } = nameOf(key);
  const targetKeys = watches.targets.byIndex("set", key).filter((target) => watches.targets.get(target)?.isLeaving === false);
  if (!targetKeys.some((target) => watches.targets.get(target)?.isSelected)) return undefined;
  const contents = new Map<string, VersionContent>();
  const before = versionsOf(key, watches);
  const sources = await readSources(key, options, contents);
  const records = recordsOf(key, watches.objects.get(resourceOf(Secret)), options.seal);
  const resources = new Set([...sources, ...records].map(({ resource }) => resource));
  const seen: TargetObservation[] = [];
  for (const targetKey of targetKeys) {
    const recordNameOf = (seq: number): ObjectName => ({ namespace, name: recordName(set, seq) });
    const target = await observeTarget(targetKey, { ...options, setKey: key, resources, records, recordNameOf });
    if (target) seen.push(target);
  }
  const believed = withBelievedAnnotations(seen, { sources, records, latestMs: nowMs + maxSkewMs });
  const targets = await withPublications(believed, { ...options, key, namespace, set, sources, records, contents });
  const damage = await damagedRecords(key, options);
  // A version that another leader records while this one reads would be recorded twice: what is observed is of one moment, or is observed again.
  if (versionsOf(key, watches) !== before) throw changedSince(`the history of set ${set}`);
  return {
    observation: {
      namespace,
      set,
      sources,
      targets,
      records,
      takenSeqs: takenSeqs(key, records, { watches, targets }),
      formerSeq: records.length > 0 ? 0 : formerSeq(namespace, watches),
      unwatched: [...new Set(records.map(({ resource }) => resource))].filter((resource) => !watches.isWatched(resource)).toSorted(),
      givenUp: targetKeys.flatMap((target) => watches.targets.get(target)?.givenUp ?? []),
      ...(damage !== undefined && { damage }),
      ...(maintenance && { maintenance }),
    },
    contents,
  };
}

/** Which source and which records there are, as the caches have them now. */
function versionsOf(key: ObjectKey, { objects }: RotationWatches): string {
  const known = [...objects.values()].flatMap((cache) =>
    [...cache.byIndex("source", key), ...cache.byIndex("record", key)].map((of) => `${of} ${cache.identity(of)?.resourceVersion}`),
  );
  return known.join("\n");
}

async function readSources(key: ObjectKey, options: ObserveOptions, contents: Map<string, VersionContent>): Promise<readonly SourceObservation[]> {
  const { watches, kinds, memory, run } = options;
  const sources: SourceObservation[] = [];
  for (const kind of kinds) {
    const cache = watches.objects.get(resourceOf(kind));
    for (const sourceKey of cache?.byIndex("source", key) ?? []) {
      const paths = cache?.get(sourceKey)?.source;
      const identity = cache?.identity(sourceKey);
      if (!paths || !identity) continue;
      const resource = resourceOf(kind);
      const { name } = nameOf(sourceKey);
      const known = memory.sources.get(identity.uid);
      if (known?.resourceVersion === identity.resourceVersion && samePaths(known.paths, paths)) {
        sources.push({ resource, name, uid: identity.uid, ...known.read, ...seenBy(paths, options) });
        continue;
      }
      const object = await run.client.get(kind, nameOf(sourceKey), run.signal);
      if (!object) continue;
      const { payload, ...read } = readSource(object, resource, paths);
      const { uid, resourceVersion } = object.metadata;
      memory.sources.set(uid, { resourceVersion, paths, read });
      if (payload) contents.set(uid, { apiVersion: object.apiVersion ?? "", kind: object.kind ?? kind.kind, content: payload });
      // What the watch has not shown yet may have been another on the way here.
      const isAhead = resourceVersion !== identity.resourceVersion;
      sources.push({ resource, name, uid, ...read, ...seenBy(paths, { ...options, isFirstLook: isAhead || (options.isFirstLook ?? false) }) });
    }
  }
  return sources;
}

/** What of a source lies in the look at it, and not in its content. */
function seenBy(
  { paused }: NonNullable<RotationAnnotations["source"]>,
  { nowMs, isFirstLook = false }: ObserveOptions,
): Pick<SourceObservation, "pause" | "isFirstLook"> {
  const pause = pauseOf(paused, nowMs);
  return { ...(pause && { pause }), ...(isFirstLook && { isFirstLook }) };
}

function samePaths(a: RotationAnnotations["source"], b: RotationAnnotations["source"]): boolean {
  return a?.watchPath === b?.watchPath && a?.rotatePath === b?.rotatePath;
}

export function recordsOf(key: ObjectKey, secrets: Looked<RotationAnnotations> | undefined, seal?: Seal): readonly RecordObservation[] {
  return (secrets?.byIndex("record", key) ?? []).flatMap((recordKey) => {
    const record = secrets?.get(recordKey)?.record;
    const identity = secrets?.identity(recordKey);
    if (!record || !identity) return [];
    const { set: _, log, proof, ...rest } = record;
    const isValid = seal && proof !== undefined && proof === recordProof(seal, key, record);
    const proven = seal && proof !== undefined ? { proof: isValid ? ("valid" as const) : ("invalid" as const) } : {};
    return [{ ...rest, ...proven, uid: identity.uid, resourceVersion: identity.resourceVersion, log: parseLog(log) }];
  });
}

/** Says which Secrets are version records by type and name, and no longer by their metadata. Without them the history has holes that nobody can see. */
async function damagedRecords(key: ObjectKey, { watches, run }: ObserveOptions): Promise<string | undefined> {
  const { namespace, name: set } = nameOf(key);
  const suspected = watches.objects.get(resourceOf(Secret))?.byIndex("suspected", setKey(namespace, recordStem(set))) ?? [];
  const damaged: string[] = [];
  for (const secretKey of suspected) {
    const secret = await run.client.get(Secret, nameOf(secretKey), run.signal);
    if (secret?.type === versionRecordType && suspectedRecordOf(secret)) damaged.push(secretKey);
  }
  if (damaged.length === 0) return undefined;
  return `version record ${damaged.toSorted().join(", ")} has lost or changed a label or an annotation: put it back, or delete the record, and it is made again from an object that has its content, if there is one`;
}

interface TargetOptions extends ObserveOptions {
  /** The set that is observed. */
  readonly setKey: ObjectKey;
  /** The kinds that the target's object may be of. */
  readonly resources: ReadonlySet<string>;
  readonly records: readonly RecordObservation[];
  readonly recordNameOf: (seq: number) => ObjectName;
}

async function observeTarget(key: ObjectKey, options: TargetOptions): Promise<TargetObservation | undefined> {
  const { watches, kinds, resources } = options;
  const settings = watches.targets.get(key);
  if (!settings) return undefined;
  const { set: _, isLeaving: __, isSelected, paused, givenUp: ___, targetName, publishBefore, promote, ...rest } = settings;
  const { name } = nameOf(key);
  const objectName = targetName ?? name;
  const wantedKey = keyOf({ ...nameOf(key), name: objectName });
  const objects: ObjectObservation[] = [];
  for (const kind of kinds) {
    const cache = watches.objects.get(resourceOf(kind));
    if (!cache) continue;
    // Under its own name a target had its object before it was given a targetName. Under any other name it is somebody's copy.
    const isCandidate = (objectKey: ObjectKey): boolean =>
      (objectKey === wantedKey && resources.has(resourceOf(kind))) || isKeptFor(cache, objectKey, key);
    for (const objectKey of new Set([wantedKey, key].filter(isCandidate))) {
      const object = await observeObject(objectKey, { ...options, kind, cache, owner: { key, uid: settings.uid } });
      if (object) objects.push(object);
    }
  }
  const blocker = isSelected ? pauseBlocker(paused, options) : notSelected;
  const resourceVersion = watches.targets.identity(key)?.resourceVersion;
  const waits = publishBefore === undefined ? {} : { publishBefore: { config: publishBefore, publications: new Map() } };
  const promoted = promotedOf(promote, options.records);
  return { ...rest, ...waits, name, resourceVersion, promoted, objectName, objects, ...(blocker && { blocker }) };
}

const notSelected: Blocker = { reason: "NotSelected", message: "it is outside of --selector or in one of --skip-namespaces" };

function pauseBlocker(paused: string | undefined, { nowMs }: ObserveOptions): Blocker | undefined {
  const pause = pauseOf(paused, nowMs);
  return pause && { reason: "Paused", message: pauseInWords(pause), untilMs: pause.untilMs };
}

interface ObjectOptions extends TargetOptions {
  readonly kind: Kind;
  readonly cache: Looked<RotationAnnotations>;
  readonly owner: { readonly key: ObjectKey; readonly uid: string };
}

async function observeObject(key: ObjectKey, options: ObjectOptions): Promise<ObjectObservation | undefined> {
  const { kind, cache, owner, records, memory, run } = options;
  const identity = cache.identity(key);
  const annotations = cache.get(key);
  if (!identity || !annotations) return undefined;
  const { uid, resourceVersion } = identity;
  const seen = { resource: resourceOf(kind), name: nameOf(key).name, uid, resourceVersion };
  const { target } = annotations;
  if (!target || !isKeptFor(cache, key, owner.key)) return { ...seen, ours: false, digest: "", ownedByTarget: false };
  const { applied: claimed, ownerUids, set } = target;
  const applied = claimed && appliedBy(claimed, options);
  // Who has the installation's proof for this set is of this set, whatever else is written on it.
  const isOfOtherSet = set !== undefined && set !== nameOf(options.setKey).name && applied?.isProven !== true;
  const said = { ...(applied && { applied }), ...(isOfOtherSet && { isOfOtherSet }) };
  const common = { ...seen, ours: true, ...said, ownedByTarget: ownerUids.includes(owner.uid) };
  if (applied && memory.intact.get(uid) === resourceVersion) return { ...common, digest: applied.digest };
  const object = await run.client.get(kind, nameOf(key), run.signal);
  // Gone or changed since: the cache is about to say so, and brings the next run. What only the content could prove has to wait for that.
  if (!object) return undefined;
  if (object.metadata.resourceVersion !== resourceVersion) {
    if (applied && !isRecorded(applied, records)) throw changedSince(`${seen.resource}/${seen.name}`);
    return { ...common, digest: applied?.digest ?? "" };
  }
  const digest = await digestOfObject(object, applied, options);
  if (digest === applied?.digest) memory.intact.set(uid, resourceVersion);
  return { ...common, digest };
}

/** What an object was written with, and whether that is proven. */
function appliedBy({ proof, ...applied }: Applied & { readonly proof?: string }, { seal, setKey: provenSet, owner }: ObjectOptions): Applied {
  if (!seal || proof === undefined) return applied;
  return { ...applied, isProven: proof === objectProof(seal, { setKey: provenSet, targetKey: owner.key }, applied) };
}

/** True if the object of this key is marked as the target's. */
function isKeptFor(cache: Looked<RotationAnnotations>, key: ObjectKey, targetKey: ObjectKey): boolean {
  const target = cache.get(key)?.target;
  return target !== undefined && (target.owner ?? key) === targetKey;
}

/** The digest of an object's content. What a server adds to a custom kind, such as defaults, is no drift. */
async function digestOfObject(object: Stored<KubeObject>, applied: ObjectObservation["applied"], options: ObjectOptions): Promise<string> {
  const { kind, recordNameOf, run } = options;
  const content = storedContent(resourceOf(kind), contentOf(object));
  const digest = digestOf(content);
  if (!applied || digest === applied.digest || kind.group === "") return digest;
  const name = recordNameOf(applied.seq);
  const record = await run.client.get(Secret, name, run.signal);
  const version = record && readableContent(record);
  return version && covers(content, version.content) ? applied.digest : digest;
}

/** Unremarkable: the next run, moments later, sees what is there now. */
export function changedSince(what: string): TransientError {
  return new TransientError(`${what} has changed since it was looked at; it is looked at again`, { reason: conflictReason });
}
