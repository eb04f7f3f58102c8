// The checksums of a scope in their order: which of them counts, which came before it, which are announced, and which go.
import { earliest } from "@keyturn/runtime";
import { type AnnouncedChange, type LiveObjects, type Progress, progressOf } from "./announcement.ts";
import { isOfState, type PublishedCheckSum, timestampMsOf } from "./check-sum-object.ts";
import type { SetState } from "./members.ts";

/** A checksum whose state has been there. */
export interface SettledCheckSum {
  readonly checksum: PublishedCheckSum;
  /** Since when it counts: since it was made, or, if it was announced, since its state was there. */
  readonly sinceMs: number;
}

/** An announcement that is still to come. */
interface AwaitedCheckSum {
  readonly checksum: PublishedCheckSum;
  readonly expiresMs: number;
  /** `untrusted`: it counts for nothing, because it is not signed. */
  readonly progress: Exclude<Progress, "complete"> | "untrusted";
}

/** The checksums that are ours. */
export interface History {
  /** Newest first; the first is the one that counts. */
  readonly settled: readonly SettledCheckSum[];
  /** Announcements that are still to come, newest first. */
  readonly awaited: readonly AwaitedCheckSum[];
  /** Announcements that are there now for the first time; among `settled`. */
  readonly reached: readonly PublishedCheckSum[];
  /** Announcements that did not come in time, or of a whole state that a newer checksum has overtaken. */
  readonly over: readonly PublishedCheckSum[];
  /** What somebody changed after it was published. */
  readonly damaged: readonly PublishedCheckSum[];
}

/** What an order depends on. */
interface HistoryFacts {
  readonly state: SetState;
  readonly live: LiveObjects;
  /** Nobody can announce for longer, counted from the API server's own date. */
  readonly maxAnnouncementMs: number;
  /** Whether an announcement counts. */
  readonly isTrusted: (checksum: PublishedCheckSum) => boolean;
  readonly nowMs: number;
}

/** Puts the checksums in order. */
export function historyOf(published: readonly PublishedCheckSum[], facts: HistoryFacts): History {
  const { state, live, isTrusted, nowMs } = facts;
  const newestFirst = published.filter(({ intact }) => intact).sort(newerFirst);
  const settled = newestFirst.filter((checksum) => !isUnreached(checksum)).map((checksum) => ({ checksum, sinceMs: countsSinceMs(checksum) }));
  const announced = newestFirst.filter(isUnreached);
  const [last] = settled;
  // Of announcements of a whole state only the newest can come true, and only before anything else is published.
  const whole = announced.find((checksum) => !changesOf(checksum));
  const openWhole = whole && (!last || newerFirst(whole, last.checksum) < 0) ? whole : undefined;
  const [reached, awaited, over]: [PublishedCheckSum[], AwaitedCheckSum[], PublishedCheckSum[]] = [[], [], []];
  for (const checksum of announced) {
    const changes = changesOf(checksum);
    const isOpen = changes !== undefined || checksum === openWhole;
    const progress = changes ? progressOf(changes, live) : isOfState(checksum, state) ? "complete" : "begun";
    const expiresMs = expiryMsOf(checksum, facts.maxAnnouncementMs);
    if (isOpen && progress === "complete" && isTrusted(checksum)) reached.push(checksum);
    else if (isOpen && nowMs < expiresMs)
      awaited.push({ checksum, expiresMs, progress: progress === "complete" || !isTrusted(checksum) ? "untrusted" : progress });
    else over.push(checksum);
  }
  const since = [...reached.map((checksum) => ({ checksum, sinceMs: nowMs })), ...settled];
  return {
    settled: since.sort((left, right) => newerFirst(left.checksum, right.checksum)),
    awaited,
    reached,
    over,
    damaged: published.filter(({ intact }) => !intact),
  };
}

/** The checksum that counts, as far as it can be said without looking at the objects. */
export function newestSettled(published: readonly PublishedCheckSum[]): PublishedCheckSum | undefined {
  return published.filter((checksum) => checksum.intact && !isUnreached(checksum)).sort(newerFirst)[0];
}

/** What an announcement is about; undefined for a checksum that is none, or is of a whole state. */
export function changesOf({ object }: PublishedCheckSum): readonly AnnouncedChange[] | undefined {
  return object.spec.announcement?.changes;
}

/** Of two checksums of the same second one must come first, and always the same one. */
export function newerFirst(left: PublishedCheckSum, right: PublishedCheckSum): number {
  return timestampMsOf(right) - timestampMsOf(left) || (left.object.metadata.name < right.object.metadata.name ? -1 : 1);
}

function isUnreached({ object: { spec, status } }: PublishedCheckSum): boolean {
  return spec.announcement !== undefined && status?.reached === undefined;
}

export function countsSinceMs({ object: { metadata, spec, status } }: PublishedCheckSum): number {
  return Date.parse(status?.reached ?? metadata.creationTimestamp ?? spec.timestamp);
}

function expiryMsOf({ object: { metadata, spec } }: PublishedCheckSum, maxMs: number): number {
  return Math.min(Date.parse(spec.announcement?.expires ?? spec.timestamp), Date.parse(metadata.creationTimestamp ?? spec.timestamp) + maxMs);
}

// How long checksums of earlier states stay: long enough for gateways that are a little behind, not so long that a stale state is accepted for ever.

/** Which of the earlier ones stay and which go. */
interface Retention {
  readonly staying: readonly PublishedCheckSum[];
  readonly going: readonly PublishedCheckSum[];
  /** When the next of those that stay goes. */
  readonly nextAtMs: number | undefined;
}

/** Decides about earlier checksums, newest first. `replacedMs` is when the newest of them was replaced; each of the others was by the one before it. */
export function retentionOf(
  earlier: readonly SettledCheckSum[],
  {
    replacedMs,
    policy,
    speaking,
    nowMs,
  }: {
    readonly replacedMs: number;
    readonly policy: { readonly keep: number; readonly keepForMs: number };
    /** Announcements that have to stay for what they say. */
    readonly speaking: ReadonlySet<PublishedCheckSum>;
    readonly nowMs: number;
  },
): Retention {
  const dated = earlier.map(({ checksum }, index) => ({ checksum, goesAtMs: (earlier[index - 1]?.sinceMs ?? replacedMs) + policy.keepForMs }));
  const stays = ({ checksum, goesAtMs }: (typeof dated)[number], index: number): boolean =>
    (index < policy.keep && nowMs < goesAtMs) || speaking.has(checksum);
  const staying = dated.filter(stays);
  return {
    staying: staying.map(({ checksum }) => checksum),
    going: dated.filter((each, index) => !stays(each, index)).map(({ checksum }) => checksum),
    nextAtMs: earliest(staying.map(({ goesAtMs }) => (goesAtMs > nowMs ? goesAtMs : undefined))),
  };
}
