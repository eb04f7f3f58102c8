// What Secrets, ConfigMaps and secret stores hold, as digests: how it is kept in memory, and what is written on workloads that were started with it. Pure.
import { createHmac, hash } from "node:crypto";
import { type ConfigMap, defineKind, type KubeObject, type ObjectKey, type Secret, type Stored } from "@keyturn/runtime";
import { limits } from "../../limits.ts";
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

/** Stands behind the digest of what has changed since, for people who look and cannot compare. */
const behindMark = "!";

/** As an annotation; those that are `behind` have changed since. */
export function startedWithText(entries: StartedWith, behind: readonly EntryName[] = []): string {
  return textsOf(new Map(Array.from(entries, ([name, digest]) => [name, behind.includes(name) ? digest + behindMark : digest]))).join(",");
}

function textsOf(entries: StartedWith): readonly string[] {
  return Array.from(entries, ([name, digest]) => `${name}=${digest}`).toSorted();
}

/** What is too much for an annotation is one entry. */
export function boundedEntries(entries: StartedWith, key: Uint8Array): StartedWith {
  return entries.size <= limits.followedEntries ? entries : new Map([["all", keyed(key, textsOf(entries))]]);
}

/** The inverse; what cannot be read counts for nothing. */
export function readStartedWith(text: string | undefined): StartedWith | undefined {
  return text === undefined ? undefined : new Map(pairsOf(text).map(([name, digest]) => [name, digest.replaceAll(behindMark, "")]));
}

/** Those that were marked as behind. */
export function readBehind(text: string | undefined): readonly EntryName[] {
  return pairsOf(text ?? "").flatMap(([name, digest]) => (digest.endsWith(behindMark) ? [name] : []));
}

function pairsOf(text: string): readonly (readonly [name: EntryName, digest: string])[] {
  const pairs = text.split(",", limits.followedEntries).map((each) => each.split("=", 2));
  return pairs.flatMap(([name = "", digest = ""]) => (name !== "" && digest !== "" ? [[name, digest] as const] : []));
}

/** A part of the digest of a restart. */
export interface ChangeDigest {
  readonly digest: string;
  /** The entries that it stands for. */
  readonly names: readonly EntryName[];
}

/** One for each change: whoever waits for the same change knows it by that. Of very many there is one. */
export function changeDigests(changed: readonly EntryName[], now: StartedWith, key: Uint8Array): readonly ChangeDigest[] {
  const parts = changed.toSorted().map((name) => ({ digest: `consumers:${name}@${now.get(name) ?? absent}`, names: [name] }));
  if (parts.length <= limits.namedChanges) return parts;
  const digests = parts.map(({ digest }) => digest);
  return [{ digest: `consumers:all@${keyed(key, digests)}`, names: changed }];
}

/** For indexes. */
export function sourceKey({ kind, namespace, name }: SourceId): ObjectKey {
  return `${kind}/${namespace}/${name}`;
}

/** `secret/db/password` and so on, a few of them. */
export function changedInWords(changed: readonly EntryName[]): string {
  const named = changed.slice(0, maxNamed).map((name) => {
    const [kind = "", object = "", key] = name.split("/");
    return key === undefined ? `${kind} ${object} has changed` : `${key} of ${kind} ${object} has changed`;
  });
  return [...named, ...(changed.length > maxNamed ? [`and ${changed.length - maxNamed} more`] : [])].join(", ");
}

const maxNamed = 5;
