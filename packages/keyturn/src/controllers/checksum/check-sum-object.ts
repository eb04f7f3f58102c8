// A checksum as an object: how one is made, named, and read back.
import { hash } from "node:crypto";
import type { KubeObject, Stored } from "@keyturn/runtime";
import { type AnnouncedChange, type AnnouncementKey, isOfWholeState, isSigned, maxAheadMs, saidMsOf, type Statement } from "./announcement.ts";
import type { CheckSumSpec, CheckSumStatus } from "./api.ts";
import { type Peaks, withMeant } from "./blast-radius.ts";
import { checksumOfSorted } from "./ids.ts";
import type { SetState } from "./members.ts";
import { limits } from "../../limits.ts";

/** An object of either kind. */
export interface CheckSumObject extends KubeObject {
  readonly spec: CheckSumSpec;
  readonly status?: CheckSumStatus;
}

/** What is kept of a published checksum: everything but the ids, which can be a megabyte. */
export interface PublishedCheckSum {
  readonly object: Stored<CheckSumObject>;
  /** False if somebody changed what was published: its name, checksum and ids no longer belong together. */
  readonly intact: boolean;
  readonly listsIds: boolean;
  /** When it was announced, by what was signed; undefined if none of the keys that were given has signed it. */
  readonly signedMs: number | undefined;
}

/** The checksum of a state. Ids that do not fit into an object are left out: they only serve to say what differs. */
export function checkSumObject(
  { ids, checksum, sha256 }: SetState,
  options: {
    readonly namespace: string;
    readonly prefix: string;
    readonly timestampMs: number;
    readonly announcement?: CheckSumSpec["announcement"];
    /** How large the set was lately. */
    readonly peaks?: Peaks | undefined;
  },
): CheckSumObject {
  const { namespace, prefix, timestampMs, announcement, peaks = [] } = options;
  const spec: CheckSumSpec = {
    timestamp: rfc3339(timestampMs),
    checksum,
    ...(fitsObject(ids) && { ids }),
    count: ids.length,
    ...(sha256 !== undefined && { sha256 }),
    ...(announcement && { announcement }),
  };
  return withPeaks(
    named(namespace, prefix, spec),
    peaks.filter(({ count }) => count > ids.length),
  );
}

/** How many objects there were in the last hour, and until when: what is lost little by little is counted from there. */
const peaksAnnotation = "keyturn.io/recent-peaks";

/** The object with what is to be remembered of the last hour. */
export function withPeaks(object: CheckSumObject, peaks: Peaks): CheckSumObject {
  if (peaks.length === 0) return object;
  const text = peaks.map(({ count, atMs }) => `${count} ${rfc3339(atMs)}`).join(",");
  return { ...object, metadata: { ...object.metadata, annotations: { [peaksAnnotation]: text } } };
}

/** The peaks that a checksum was published with. */
export function recordedPeaksOf({ object: { metadata } }: Pick<PublishedCheckSum, "object">): Peaks {
  const texts = (metadata.annotations?.[peaksAnnotation] ?? "").slice(0, 1000).split(",");
  return texts.flatMap((text) => {
    const [, count, at = ""] = /^(\d{1,9}) (\S{1,32})$/.exec(text) ?? [];
    const atMs = Date.parse(at);
    return count === undefined || Number.isNaN(atMs) ? [] : [{ count: Number(count), atMs }];
  });
}

/** The peaks that an announcement takes over from the checksum that it is built on: what went before it unannounced, it does not make good. */
export function carriedPeaks(last: PublishedCheckSum | undefined, changes: readonly AnnouncedChange[]): Peaks {
  if (!last || isOfWholeState(changes)) return [];
  const more = changes.reduce((sum, { from, to }) => sum + (to === undefined ? 0 : 1) - (from === undefined ? 0 : 1), 0);
  return withMeant(recordedPeaksOf(last), more);
}

/** The object of a spec, under the name that says what is in it. */
export function named(namespace: string, prefix: string, spec: CheckSumSpec): CheckSumObject {
  return { metadata: { namespace, name: nameFor(prefix, spec) }, spec };
}

/** True if the ids can be listed in one object. Each stands in the JSON with two quotes and a comma. */
export function fitsObject(ids: readonly string[]): boolean {
  return ids.reduce((sum, id) => sum + id.length + 3, 0) <= limits.idsBytes;
}

/** For `watch(kind, { keep })`. Signatures are checked here, once: there can be as many announcements as certificates. */
export function keepCheckSum(prefix: string, keys: readonly AnnouncementKey[] = []): (object: Stored<CheckSumObject>) => PublishedCheckSum {
  return (object) => {
    const { managedFields: _, ...metadata } = object.metadata;
    const { ids, ...spec } = object.spec;
    const fits = ids === undefined || (ids.length === spec.count && checksumOfSorted(ids) === spec.checksum);
    const kept = { object: { ...object, metadata, spec }, intact: fits && metadata.name === nameFor(prefix, spec), listsIds: ids !== undefined };
    const statement = statementOf(kept);
    return { ...kept, signedMs: isSigned(statement, keys) ? saidMsOf(statement) : undefined };
  };
}

/** When a checksum was made. */
export function timestampMsOf({ object }: PublishedCheckSum): number {
  return madeMsOf(object);
}

/**
 * When a checksum was made, for operator, agents and announcers alike. A time that cannot be read, or that is far ahead of the object's creation, is taken for
 * that: it would put all that follow behind it, and after the last second of the year 9999 nothing can follow.
 */
export function madeMsOf({
  metadata: { creationTimestamp = "" },
  spec: { timestamp },
}: {
  readonly metadata: { readonly creationTimestamp?: string | undefined };
  readonly spec: Pick<CheckSumSpec, "timestamp">;
}): number {
  const [createdMs, saidMs] = [Date.parse(creationTimestamp) || 0, Date.parse(timestamp)];
  const isFarAhead = createdMs > 0 && saidMs > createdMs + maxAheadMs;
  return Number.isNaN(saidMs) || isFarAhead ? createdMs : saidMs;
}

/** What it says, as it is signed. */
export function statementOf({ object: { metadata, kind = "", spec } }: Pick<PublishedCheckSum, "object">): Statement {
  return { namespace: metadata.namespace ?? "", kind, spec };
}

/** True if a state is the one that the checksum is of. */
export function isOfState({ object: { spec } }: PublishedCheckSum, { checksum, sha256 }: SetState): boolean {
  return spec.checksum === checksum && spec.sha256 === sha256;
}

/** A time as in a spec, in whole seconds: Tengine's reader has no finer ones. */
export function rfc3339(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19)}Z`;
}

/** The name says what is in it, so that the same checksum, made twice, is one object, and one that was edited shows. */
function nameFor(prefix: string, { timestamp, checksum, sha256, announcement }: CheckSumSpec): string {
  const { expires = "", changes, signature } = announcement ?? {};
  const said = [
    timestamp,
    checksum,
    sha256 ?? "",
    expires,
    ...(changes
      ? [
          changes.map(({ name, from, to, sha256: content, unchanged }) =>
            unchanged ? [name, from, to, content, unchanged] : [name, from, to, content],
          ),
        ]
      : []),
  ];
  const digest = hash("sha256", JSON.stringify(signature ? [...said, signature.key, signature.value] : said), "hex");
  return `${prefix}-${BigInt(`0x${digest.slice(0, 16)}`)
    .toString(36)
    .padStart(13, "0")
    .slice(-10)}`;
}
