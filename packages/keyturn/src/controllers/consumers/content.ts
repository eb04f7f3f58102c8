// What Secrets, ConfigMaps and secret stores hold, as digests: how it is kept in memory, and what is written on workloads that were started with it. Pure.
import { createHmac, hash } from "node:crypto";
import { type ConfigMap, defineKind, type KubeObject, type ObjectKey, type Secret, type Stored } from "@keyturn/runtime";
import { limits } from "../../limits.ts";
import { shortened } from "../../workloads/restart-digest.ts";
import { type Followed, sourceWords } from "./annotations.ts";
import type { SourceKind } from "./references.ts";

/**
 * What is kept of a Secret or ConfigMap: one text, because there are many that nobody uses. A line for what it says of itself, and one for each key with a
 * digest. Digests of what is in memory need no key; none leaves the process like that.
 */
export type KeptContent = string;

const contentDigits = 32;

export function keepSecret({ metadata, data = {} }: Stored<Secret>): KeptContent {
  return kept(metadata, Object.entries(data));
}

export function keepConfigMap({ metadata, data = {}, binaryData = {} }: Stored<ConfigMap>): KeptContent {
  return kept(metadata, [...Object.entries(data), ...Object.entries(binaryData).map(([key, value]) => [key, `binary ${value}`] as const)]);
}

function kept({ annotations }: Stored<KubeObject>["metadata"], entries: readonly (readonly [string, string])[]): KeptContent {
  const { isIgnored, isMatched } = sourceWords(annotations);
  const words = [...(isIgnored ? ["ignored"] : []), ...(isMatched ? ["matched"] : [])].join(" ");
  const lines = entries.map(([key, value]) => `${key}=${hash("sha256", value).slice(0, contentDigits)}`).toSorted();
  return [words, ...lines].join("\n");
}

// What the CSI driver of secret stores has mounted, as it reports for each pod.

/** Known as far as it is needed. */
export interface SecretProviderClassPodStatus extends KubeObject {
  readonly status?: {
    readonly podName?: string;
    readonly secretProviderClassName?: string;
    readonly objects?: readonly { readonly id?: string; readonly version?: string }[];
  };
}
export const SecretProviderClassPodStatus = defineKind<SecretProviderClassPodStatus>({
  group: "secrets-store.csi.x-k8s.io",
  version: "v1",
  kind: "SecretProviderClassPodStatus",
  plural: "secretproviderclasspodstatuses",
  namespaced: true,
});

/** What one pod has mounted of a class. */
export interface KeptMount {
  readonly className: string;
  readonly content: KeptContent;
}

export function keepMount({ metadata, status = {} }: Stored<SecretProviderClassPodStatus>): KeptMount {
  const objects = status.objects ?? [];
  return {
    className: status.secretProviderClassName ?? "",
    content: kept(
      metadata,
      objects.map(({ id = "", version = "" }) => [id, version]),
    ),
  };
}

/** What a class gives, from what its pods have mounted: undefined while they differ, as long as the driver goes from one to the next. */
export function contentOfMounts(mounts: readonly KeptContent[]): KeptContent | undefined {
  const [first] = mounts;
  return mounts.every((mount) => mount === first) ? first : undefined;
}

// What of it a workload follows.

/** Names one thing that a workload follows, as it is written on the workload: `secret/db/password`, or `secret/db` for all of it. */
type EntryName = string;

/** What a workload was started with, or would be now. */
export type StartedWith = ReadonlyMap<EntryName, string>;

export function entryName({ kind, name, key }: Pick<Followed, "kind" | "name" | "key">): EntryName {
  return [kind.toLowerCase(), name, ...(key === undefined ? [] : [key])].join("/");
}

/** Where an entry's content is. */
interface SourceId {
  readonly kind: SourceKind;
  readonly namespace: string;
  readonly name: string;
}

/** What an optional thing has that is not there. */
const absent = "-";
const entryDigits = 16;

/**
 * The digest of one thing; undefined if it is not there and pods need it, or if it is to be ignored: then there is nothing that they could have been started
 * with. Made with the installation's key: whoever may read workloads cannot try guesses.
 */
export function entryDigest(key: Uint8Array, namespace: string, followed: Followed, content: KeptContent | undefined): string | undefined {
  const [words = "", ...lines] = content?.split("\n") ?? [];
  const says = (word: string): boolean => words.split(" ").includes(word);
  if (says("ignored") || (followed.onlyIfMatched && !says("matched"))) return undefined;
  const seen = followed.key === undefined ? lines : lines.filter((line) => line.slice(0, line.lastIndexOf("=")) === followed.key);
  if (content === undefined || (followed.key !== undefined && seen.length === 0)) return followed.optional ? absent : undefined;
  return keyed(key, [namespace, entryName(followed), ...seen]);
}

function keyed(key: Uint8Array, parts: readonly string[]): string {
  return createHmac("sha256", key)
    .update(JSON.stringify(["consumers", ...parts]))
    .digest("hex")
    .slice(0, entryDigits);
}

/** Says which workload a record is of, and by whose key: a copy of it, or one by a key that was lost, says nothing. */
const ownerEntry = "of";

/** What stands there for the workload with this uid. */
export function ownerDigest(key: Uint8Array, uid: string): string {
  return keyed(key, [ownerEntry, uid]);
}

/** Stands behind the digest of what has changed since, for people who look and cannot compare. */
const behindMark = "!";
/** Stands behind a digest that was only seen: nobody knows that pods were started with it. */
const seenMark = "?";

/** Stands between the owner and how often what pods have was new: whoever puts an older record back cannot make it count. */
const countMark = ".";
const maxCount = 1e9;

/** What pods of a workload were started with. */
export interface StartRecord {
  readonly entries: StartedWith;
  /** Entries that were there at first sight, without a restart for them. */
  readonly onlySeen: readonly EntryName[];
  /** Entries that have changed since. */
  readonly behind: readonly EntryName[];
  /** How often they have got something new. */
  readonly count: number;
}

/** What is written on a workload. */
interface WrittenRecord extends Pick<StartRecord, "entries"> {
  readonly owner: string;
  /** Entries that have changed since. Default none. */
  readonly behind?: readonly EntryName[];
  /** Default none. */
  readonly onlySeen?: readonly EntryName[];
  /** Default 0. */
  readonly count?: number;
}

/** All annotations of an object take 256 KiB, of which others need some too. */
const maxText = 100_000;

/** As an annotation. Where names would take too much room, they are shortened. */
export function startedWithText({ owner, entries, behind = [], onlySeen = [], count = 0 }: WrittenRecord): string {
  const [isBehind, isOnlySeen] = [new Set(behind), new Set(onlySeen)];
  const marks = (name: EntryName): string => (isOnlySeen.has(name) ? seenMark : "") + (isBehind.has(name) ? behindMark : "");
  const marked = Array.from(entries, ([name, digest]) => [name, digest + marks(name)] as const);
  const first = `${ownerEntry}=${owner}${count > 0 ? `${countMark}${Math.min(count, maxCount)}` : ""}`;
  const text = [first, ...textsOf(marked)].join(",");
  return text.length <= maxText ? text : [first, ...textsOf(marked.map(([name, value]) => [shortName(name), value]))].join(",");
}

function textsOf(entries: Iterable<readonly [string, string]>): readonly string[] {
  return Array.from(entries, ([name, value]) => `${name}=${value}`).toSorted();
}

/** Stands for a name that is too long for all to be written down. */
function shortName(name: EntryName): string {
  return `#${hash("sha256", name).slice(0, 12)}`;
}

/** What is too much for an annotation even so is one entry. */
export function boundedEntries(entries: StartedWith, key: Uint8Array): StartedWith {
  return entries.size <= limits.followedEntries ? entries : new Map([["all", keyed(key, textsOf(entries))]]);
}

/** The inverse of `startedWithText` for somebody who knows what may be named there; undefined for what is somebody else's, or nobody's. */
export function readStartedWith(text: string | undefined, owner: string, names: readonly EntryName[] = []): StartRecord | undefined {
  const { of, ...record } = readAnybodys(text);
  if (of !== owner) return undefined;
  if (!Array.from(record.entries.keys()).some((name) => name.startsWith("#"))) return record;
  const { entries, onlySeen, behind, count } = record;
  const long = new Map(names.map((name) => [shortName(name), name]));
  const whole = (name: EntryName): EntryName => long.get(name) ?? name;
  return {
    entries: new Map(Array.from(entries, ([name, digest]) => [whole(name), digest])),
    onlySeen: onlySeen.map(whole),
    behind: behind.map(whole),
    count,
  };
}

/** The same for people, who cannot tell whose it is. */
export function readNames(text: string | undefined): { readonly names: readonly EntryName[]; readonly behind: readonly EntryName[] } {
  const { entries, behind } = readAnybodys(text);
  return { names: [...entries.keys()], behind };
}

function readAnybodys(text = "") {
  const pairs = text.split(",", limits.followedEntries + 1).map((each) => each.split("=", 2));
  const written = pairs.flatMap(([name = "", value = ""]) => {
    const digest = value.split(/[!?]/, 1)[0] ?? "";
    return name !== "" && digest !== "" ? [{ name, digest: digest.slice(0, entryDigits), marks: value.slice(digest.length), value }] : [];
  });
  const entries = written.filter(({ name }) => name !== ownerEntry);
  const marked = (mark: string): readonly EntryName[] => entries.flatMap(({ name, marks }) => (marks.includes(mark) ? [name] : []));
  const owner = written.find(({ name }) => name === ownerEntry);
  const count = Number(owner?.value.split(countMark)[1] ?? 0);
  return {
    of: owner?.digest,
    count: Number.isSafeInteger(count) && count > 0 ? Math.min(count, maxCount) : 0,
    entries: new Map(entries.map(({ name, digest }) => [name, digest])),
    behind: marked(behindMark),
    onlySeen: marked(seenMark),
  };
}

/** True if it says that pods were started with exactly that, and not only that it was seen. */
export function saysStartedWith(text: string, name: EntryName, digest: string): boolean {
  const all = `${text},`;
  return all.includes(`,${name}=${digest},`) || all.includes(`,${shortName(name)}=${digest},`);
}

/** A part of the digest of a restart: all that has changed in one Secret, ConfigMap or secret store. */
export interface ChangeDigest {
  /** Ends with a `@` and what it has now: other changes of the same are known by what stands before. */
  readonly digest: string;
  /** The entries that it stands for. */
  readonly names: readonly EntryName[];
}

/** One for each source. The names of very many are shortened. */
export function changeDigests(changed: readonly EntryName[], now: StartedWith, key: Uint8Array): readonly ChangeDigest[] {
  const bySource = Map.groupBy(changed.toSorted(), (name) => name.split("/", 2).join("/"));
  return Array.from(bySource, ([source, names]) => {
    const content = keyed(
      key,
      names.flatMap((name) => [name, now.get(name) ?? absent]),
    );
    const digest = `consumers:${source}@${content}`;
    return { digest: bySource.size > limits.namedChanges ? shortened(digest) : digest, names };
  });
}

/** For indexes. */
export function sourceKey({ kind, namespace, name }: SourceId): ObjectKey {
  return `${kind}/${namespace}/${name}`;
}

/** `secret/db/password` and so on, a few of them. */
export function changedInWords(changed: readonly EntryName[]): string {
  const named = changed.slice(0, maxNamed).map((name) => {
    const [kind = "", object, key] = name.split("/");
    if (object === undefined) return "something that it uses has changed";
    return key === undefined ? `${kind} ${object} has changed` : `${key} of ${kind} ${object} has changed`;
  });
  return [...named, ...(changed.length > maxNamed ? [`and ${changed.length - maxNamed} more`] : [])].join(", ");
}

const maxNamed = 5;
