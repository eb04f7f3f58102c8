// The source of a set: what of it is watched and rotated, which version it is, and what a change of it means.
import { Buffer } from "node:buffer";
import { deflateRawSync } from "node:zlib";
import { ConfigMap, defineKind, isRecord, type Kind, type KubeObject, type ObjectMeta, resourceOf, Secret } from "@keyturn/runtime";
import {
  type Content,
  contentOf,
  digestOf,
  formatPath,
  isOwnMember,
  objectWith,
  type ParsedPath,
  parsePath,
  type ResourcePath,
  storedContent,
  valueAt,
} from "./content.ts";
import { rotationSetAnnotation, sourceAnnotation } from "./api.ts";
import { type Commit, type FrozenStretch, latestTimeOf, type RotationLog, type SourceState } from "./history.ts";
import type { RecordObservation, SetObservation, SourceContent, SourceObservation } from "./observe.ts";
import type { SetBlocker } from "./blockers.ts";
import { limits } from "../../limits.ts";

// Reads a source: which version it is, and what that version consists of.

/** The paths of a source as its annotations or labels give them. */
export interface SourcePaths {
  readonly watchPath: string | undefined;
  readonly rotatePath: string | undefined;
}

/** What reading a source gives. */
export interface ReadSource {
  readonly content: SourceContent;
  /** The version's content; absent if there is none. */
  readonly payload?: Content;
  /** See `SourceObservation.writtenAtMs`. */
  readonly writtenAtMs?: number;
}

const { recordBytes: maxRecordBytes } = limits;
/** Smaller ones fit in any case, so that nothing has to be tried. */
const surelyFitsBytes = 512 * 1024;
/** A version's text, less the names of its kind. */
const maxTextBytes = limits.versionBytes - 4096;
/** Times of the server are cut to whole seconds; the write was not later than this after them. */
const timeStepMs = 1000;

/** Reads the source of a set. `resource` is its kind as `plural.group`. */
export function readSource(object: KubeObject, resource: string, paths: SourcePaths): ReadSource {
  const watch = parsePath(paths.watchPath);
  const rotate = paths.rotatePath === undefined ? watch : parsePath(paths.rotatePath);
  const wrong = wrongPath(watch, rotate);
  if (!watch.ok || !rotate.ok || wrong !== undefined) return refused("InvalidPath", wrong ?? "");
  const watched = watch.path.length === 0 ? contentOf(object) : valueAt(object, watch.path);
  const rotated = rotate.path.length === 0 ? contentOf(object) : valueAt(object, rotate.path);
  for (const [value, path] of [
    [watched, watch.path],
    [rotated, rotate.path],
  ] as const) {
    if (value === undefined) return refused("PathNotFound", `there is nothing at ${formatPath(path)} in ${resource}/${object.metadata.name ?? ""}`);
  }
  const payload = storedContent(resource, objectWith(rotate.path, rotated));
  const bytes = recordSize(payload);
  if (bytes > maxRecordBytes) {
    return refused("ContentTooLarge", `a version of ${bytes} bytes does not fit into a Secret; rotate less of it with the annotation rotate-path`);
  }
  const writtenAtMs = writtenAt(object.metadata, watch.path);
  // Mostly they are the same, and then one text serves for both for as long as it is remembered.
  const [watchDigest, digest] = [digestOf(watched), digestOf(payload)];
  return {
    content: { ok: true, watchDigest: watchDigest === digest ? digest : watchDigest, digest },
    payload,
    ...(writtenAtMs !== undefined && { writtenAtMs }),
  };
}

function refused(reason: "PathNotFound" | "InvalidPath" | "ContentTooLarge", message: string): ReadSource {
  return { content: { ok: false, reason, message } };
}

function wrongPath(watch: ParsedPath, rotate: ParsedPath): string | undefined {
  if (!watch.ok) return `watch-path: ${watch.message}`;
  if (!rotate.ok) return `rotate-path: ${rotate.message}`;
  const [first] = rotate.path;
  if (first === undefined || !isOwnMember(first)) return undefined;
  return `rotate-path: .${first} belongs to the object itself and cannot be rotated; give a rotate-path such as .data`;
}

/** How large a version's record is, or its content if that is too large by itself. */
function recordSize(payload: Content): number {
  const text = JSON.stringify(payload);
  if (text.length <= surelyFitsBytes) return text.length;
  // What is longer could not be unpacked again.
  const bytes = Buffer.byteLength(text);
  return bytes > maxTextBytes ? bytes : deflateRawSync(text).byteLength;
}

/** When the latest of those who own something under the path, or what marks the source as one, last changed something. */
function writtenAt({ managedFields = [] }: ObjectMeta, path: ResourcePath): number | undefined {
  const times = managedFields
    .filter(({ fieldsV1 }) => touches(fieldsV1, path) || marks(fieldsV1))
    .map(({ time }) => Date.parse(time ?? ""))
    .filter((timeMs) => !Number.isNaN(timeMs));
  return times.length > 0 ? Math.max(...times) + timeStepMs : undefined;
}

function marks(fields: unknown): boolean {
  const metadata = isRecord(fields) ? fields["f:metadata"] : undefined;
  if (!isRecord(metadata)) return false;
  return [metadata["f:annotations"], metadata["f:labels"]].some(
    (owned) => isRecord(owned) && [sourceAnnotation, rotationSetAnnotation].some((mark) => Object.hasOwn(owned, `f:${mark}`)),
  );
}

function touches(fields: unknown, path: ResourcePath): boolean {
  if (!isRecord(fields)) return false;
  if (path.length === 0) return Object.keys(fields).some((name) => !isOwnMember(name.slice(2)));
  let owned: unknown = fields;
  for (const name of path) {
    if (!isRecord(owned)) return false;
    // Who owns a member and names nothing in it owns all of it.
    if (owned !== fields && Object.keys(owned).length === 0) return true;
    owned = owned[`f:${name}`];
  }
  return owned !== undefined;
}

// The kinds that can be rotated: Secrets and ConfigMaps, and those that a flag adds.

const defaults: readonly Kind[] = [Secret, ConfigMap];

/** Reads a kind as kubectl names it in full: `certificates.v1.cert-manager.io`, `services.v1`. Throws, saying what is wanted. */
export function parseSourceKind(text: string): Kind {
  const [plural = "", version = "", ...group] = text.split(".");
  if (!/^[a-z][a-z0-9-]*$/.test(plural) || !/^v[0-9]+((alpha|beta)[0-9]+)?$/.test(version) || group.includes("")) {
    throw new Error(`"${text}" is not plural.version.group, such as certificates.v1.cert-manager.io`);
  }
  // The name of the kind comes with every object; only it knows how it is written.
  return defineKind<KubeObject>({ group: group.join("."), version, kind: plural, plural, namespaced: true });
}

/** All kinds that can be sources, each once. */
export function sourceKinds(added: readonly Kind[]): readonly Kind[] {
  const kinds = new Map<string, Kind>();
  for (const kind of [...defaults, ...added]) if (!kinds.has(resourceOf(kind))) kinds.set(resourceOf(kind), kind);
  return [...kinds.values()];
}

// Time that counts: it stands still while the source is gone or unreadable.

/** More stretches than this are joined, oldest first: the time between two of them then does not count either, so that things happen later, never earlier. */
const maxStretches = 32;

/** When `delayMs` of counted time have passed since `fromMs`, given that time counts from the last stretch on. */
export function dueAfter(fromMs: number, delayMs: number, frozen: readonly FrozenStretch[]): number {
  let dueMs = fromMs + delayMs;
  for (const stretch of frozen) {
    if (stretch.toMs <= fromMs) continue;
    const beginsMs = Math.max(stretch.fromMs, fromMs);
    // What was due before the stretch began stays due then.
    if (dueMs <= beginsMs) break;
    dueMs += stretch.toMs - beginsMs;
  }
  return dueMs;
}

/** The stretches with one more at their end. */
export function withStretch(frozen: readonly FrozenStretch[], added: FrozenStretch): readonly FrozenStretch[] {
  const last = frozen.at(-1);
  const joined = last && last.toMs >= added.fromMs ? [...frozen.slice(0, -1), { fromMs: last.fromMs, toMs: added.toMs }] : [...frozen, added];
  const [first, second, ...rest] = joined;
  if (joined.length <= maxStretches || !first || !second) return joined;
  return [{ fromMs: first.fromMs, toMs: second.toMs }, ...rest];
}

// What the log says after a look at the source: one step of the source's state machine.

/** The source as it is seen now: one object that says something, or a reason why there is no such one. */
export type ObservedSource =
  | { readonly type: "present"; readonly source: SourceObservation; readonly watchDigest: string; readonly digest: string }
  | { readonly type: "gone" }
  | { readonly type: "unreadable"; readonly setBlocker: SetBlocker };

/** The log after the step, and whether the source has become something that no record is about. */
interface SourceStep {
  readonly log: RotationLog;
  readonly isNewVersion: boolean;
}

/** What is seen. Of two sources neither is guessed to be the one, and what is written to by rotation cannot be its source. */
export function observedSourceOf({ sources, targets }: Pick<SetObservation, "sources" | "targets">): ObservedSource {
  const [source, ...others] = sources;
  if (!source) return { type: "gone" };
  const conflict = (message: string): ObservedSource => ({ type: "unreadable", setBlocker: { reason: "SourceConflict", message } });
  if (others.length > 0) {
    const names = sources.map(({ resource, name }) => `${resource}/${name}`).toSorted();
    return conflict(`${names.join(" and ")} are all marked as the source of this set; leave the mark on one of them`);
  }
  const self = targets.find(({ objects }) => objects.some(({ uid }) => uid === source.uid));
  if (self) return conflict(`${source.resource}/${source.name} is marked as the source and is the object of target ${self.name}`);
  const { content } = source;
  if (!content.ok) return { type: "unreadable", setBlocker: { reason: content.reason, message: content.message } };
  return { type: "present", source, watchDigest: content.watchDigest, digest: content.digest };
}

/** The first step: there is no log yet. `commits` are what targets of an earlier life of the set still hold. */
export function firstStep(observedSource: ObservedSource & { readonly type: "present" }, commits: readonly Commit[], nowMs: number): SourceStep {
  const sinceMs = timeOfWrite(observedSource.source, { notedMs: 0, nowMs });
  return { log: { source: presentSince(observedSource, sinceMs), commits, frozen: [], backfilled: [] }, isNewVersion: true };
}

/** One step. `head` is the record of the version that the source was last seen as; if it is lost, and an older one says so, nobody knows since when the source is what it is. */
export function stepSource(
  log: RotationLog,
  head: Pick<RecordObservation, "seq" | "watchDigest">,
  { observedSource, nowMs }: { readonly observedSource: ObservedSource; readonly nowMs: number },
): SourceStep {
  const before = log.source;
  if (observedSource.type !== "present") {
    if (before.state === observedSource.type) return { log, isNewVersion: false };
    const source: SourceState = { state: observedSource.type, sinceMs: nowMs };
    return { log: { ...log, source, frozen: thawed(log, nowMs), commits: returned(log.commits) }, isNewVersion: false };
  }
  const isHeadLost = (log.commits.at(-1)?.seq ?? 0) > head.seq;
  const isNewVersion = isHeadLost || observedSource.watchDigest !== head.watchDigest;
  const isSameObject = before.state === "present" && before.uid === observedSource.source.uid;
  if (isSameObject && !isNewVersion && !wasInterrupted(observedSource, log)) return { log, isNewVersion };
  // When what made it unreadable went, no time of a write tells.
  const sinceMs = before.state === "unreadable" ? nowMs : timeOfWrite(observedSource.source, { notedMs: latestTimeOf(log), nowMs });
  const source = presentSince(observedSource, sinceMs);
  if (isSameObject && isNewVersion) return { log: { ...log, source }, isNewVersion };
  // Back, or another object with the same annotations, or it may have been another meanwhile: whatever was uninterrupted no longer is.
  return { log: { ...log, source, frozen: thawed(log, sinceMs), commits: returned(log.commits) }, isNewVersion };
}

/** By so much the time of a write and the time at which it was noted may differ: the server's are cut to seconds, and its clock is known to a second. */
const maxNotedMs = 2 * timeStepMs;

/**
 * True if the source was written since it was noted, and nobody watched: it may have been another for a while. While a delay is running, that is taken for so.
 * With what is live nothing runs, and who only annotates what is there should cause no write.
 */
function wasInterrupted({ source, digest }: ObservedSource & { readonly type: "present" }, { source: noted, commits }: RotationLog): boolean {
  const { isFirstLook, writtenAtMs = 0 } = source;
  return isFirstLook === true && writtenAtMs > noted.sinceMs + maxNotedMs && commits.at(-1)?.digest !== digest;
}

/** When the source was written, if the server says so. A write that is not newer than what was last noted cannot be what changed, and one to come is none. */
function timeOfWrite({ writtenAtMs }: SourceObservation, { notedMs, nowMs }: { readonly notedMs: number; readonly nowMs: number }): number {
  return writtenAtMs !== undefined && writtenAtMs > notedMs && writtenAtMs <= nowMs ? writtenAtMs : nowMs;
}

function presentSince({ source }: ObservedSource & { readonly type: "present" }, sinceMs: number): SourceState {
  return { state: "present", uid: source.uid, sinceMs };
}

/** The stretches that do not count, when one of them ends. */
function thawed({ source, frozen }: RotationLog, nowMs: number): RotationLog["frozen"] {
  return source.state === "present" ? frozen : withStretch(frozen, { fromMs: source.sinceMs, toMs: nowMs });
}

/** A departure that nothing has sealed yet is interrupted with the source. */
function returned(commits: readonly Commit[]): readonly Commit[] {
  const last = commits.at(-1);
  if (last?.departedMs === undefined) return commits;
  const { departedMs: _, ...rest } = last;
  return [...commits.slice(0, -1), rest];
}

/** The next number for a version whose record can have its name. */
export function nextFree(seq: number, taken: readonly number[]): number {
  const all = new Set(taken);
  let free = seq;
  while (all.has(free)) free++;
  return free;
}
