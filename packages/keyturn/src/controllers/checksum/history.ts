// The checksums of a namespace in their order: which of them counts, which came before it, which is announced.
import { isOfState, type PublishedCheckSum, timestampMsOf } from "./check-sum-object.ts";
import type { SetState } from "./member-set.ts";

/** A checksum whose state has been there. */
export interface SettledCheckSum {
  readonly checksum: PublishedCheckSum;
  /** Since when it counts: since it was made, or, if it was announced, since its state was there. */
  readonly sinceMs: number;
}

/** The checksums of a namespace that are ours. */
export interface History {
  /** Newest first; the first is the one that counts. */
  readonly settled: readonly SettledCheckSum[];
  /** The announced state that is still to come. */
  readonly awaited: { readonly checksum: PublishedCheckSum; readonly expiresMs: number } | undefined;
  /** The announced state that is there now for the first time; the first of `settled`. */
  readonly reached: PublishedCheckSum | undefined;
  /** Announced states that did not come in time, or that a newer checksum has overtaken. */
  readonly over: readonly PublishedCheckSum[];
  /** What somebody changed after it was published. */
  readonly damaged: readonly PublishedCheckSum[];
}

/** Puts the checksums in order. Nobody can announce for longer than `longestAnnouncementMs`, counted from the API server's own date. */
export function historyOf(
  published: readonly PublishedCheckSum[],
  { state, longestAnnouncementMs, nowMs }: { readonly state: SetState; readonly longestAnnouncementMs: number; readonly nowMs: number },
): History {
  const newestFirst = published.filter(({ intact }) => intact).sort(newerFirst);
  const settled = newestFirst.filter((checksum) => !isUnreached(checksum)).map((checksum) => ({ checksum, sinceMs: countsSinceMs(checksum) }));
  const announced = newestFirst.filter(isUnreached);
  const [last] = settled;
  const open = announced.find((checksum) => !last || newerFirst(checksum, last.checksum) < 0);
  const reached = open && isOfState(open, state) ? open : undefined;
  const expiresMs = open ? expiryMsOf(open, longestAnnouncementMs) : 0;
  const awaited = open && !reached && nowMs < expiresMs ? { checksum: open, expiresMs } : undefined;
  return {
    settled: reached ? [{ checksum: reached, sinceMs: nowMs }, ...settled] : settled,
    awaited,
    reached,
    over: announced.filter((checksum) => checksum !== reached && checksum !== awaited?.checksum),
    damaged: published.filter(({ intact }) => !intact),
  };
}

/** Of two checksums of the same second one must come first, and always the same one. */
function newerFirst(left: PublishedCheckSum, right: PublishedCheckSum): number {
  return timestampMsOf(right) - timestampMsOf(left) || (left.object.metadata.name < right.object.metadata.name ? -1 : 1);
}

function isUnreached({ object: { spec, status } }: PublishedCheckSum): boolean {
  return spec.announcement !== undefined && status?.reached === undefined;
}

function countsSinceMs({ object: { metadata, spec, status } }: PublishedCheckSum): number {
  return Date.parse(status?.reached ?? metadata.creationTimestamp ?? spec.timestamp);
}

function expiryMsOf({ object: { metadata, spec } }: PublishedCheckSum, longestMs: number): number {
  return Math.min(Date.parse(spec.announcement?.expires ?? spec.timestamp), Date.parse(metadata.creationTimestamp ?? spec.timestamp) + longestMs);
}
