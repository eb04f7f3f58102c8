// The log that the naive simulator keeps: all that ever happened to one set, in order. Every question is answered by reading it from the start.

/** One thing that happened. Times are milliseconds. */
export type LogEntry =
  /** The source became this version. */
  | { readonly type: "Observed"; readonly seq: number; readonly watched: string; readonly content: string; readonly uid: string; readonly t: number }
  /** The source is there again, or is another object, with what it last held. */
  | { readonly type: "Back"; readonly uid: string; readonly t: number }
  /** There is no source that can be read; `deleted` if there is no source object at all. */
  | { readonly type: "Gone"; readonly deleted: boolean; readonly t: number }
  | { readonly type: "Committed"; readonly target: string; readonly seq: number; readonly rank: number; readonly at: number }
  /** The object was put back to its committed version. */
  | { readonly type: "Restored"; readonly target: string }
  /** The object was deleted because the source is gone. */
  | { readonly type: "Removed"; readonly target: string }
  | { readonly type: "Dropped"; readonly seq: number }
  /** No target holds anything any more: commits begin anew. */
  | { readonly type: "Fresh" }
  /** Neither source nor objects are left: whatever comes is a fresh start. */
  | { readonly type: "Purged" }
  /** Somebody deleted or edited a target's object. */
  | { readonly type: "Drifted"; readonly target: string; readonly to: "absent" | "edited" }
  /** A RotationTarget was deleted; its object stays or goes with it. */
  | { readonly type: "Left"; readonly target: string; readonly object: "stays" | "goes" };

export type Log = readonly LogEntry[];

/** A recorded version. */
type Version = Extract<LogEntry, { readonly type: "Observed" }>;

/** What the log says of the source now. */
type SourceState =
  | { readonly state: "never" }
  | { readonly state: "present"; readonly seq: number; readonly uid: string; readonly since: number }
  | { readonly state: "gone"; readonly seq: number; readonly deletedAt: number | undefined };

/** What came after the last purge. */
export function sincePurge(log: Log): Log {
  return log.slice(log.findLastIndex(({ type }) => type === "Purged") + 1);
}

/** The last word on the source. */
export function sourceState(log: Log): SourceState {
  let state: SourceState = { state: "never" };
  for (const entry of log) {
    if (entry.type === "Observed") state = { state: "present", seq: entry.seq, uid: entry.uid, since: entry.t };
    if (entry.type === "Back" && state.state !== "never") state = { state: "present", seq: state.seq, uid: entry.uid, since: entry.t };
    if (entry.type === "Gone" && state.state !== "never") {
      const before: number | undefined = state.state === "gone" ? state.deletedAt : undefined;
      state = { state: "gone", seq: state.seq, deletedAt: entry.deleted ? (before ?? entry.t) : undefined };
    }
  }
  return state;
}

/** The latest time in the log, as far as it is about the source and these targets. */
export function latestTime(log: Log, targets: readonly string[]): number {
  let latest = Number.NEGATIVE_INFINITY;
  for (const entry of log) {
    if (entry.type === "Observed" || entry.type === "Back" || entry.type === "Gone") latest = Math.max(latest, entry.t);
    if (entry.type === "Committed" && targets.includes(entry.target)) latest = Math.max(latest, entry.at);
  }
  return latest;
}

/** How much of the time between two moments counts: that in which the source was there. */
export function countedTime(log: Log, from: number, to: number): number {
  let counted = to - from;
  let goneAt: number | undefined;
  const leaveOut = (until: number): void => {
    if (goneAt !== undefined) counted -= Math.max(0, Math.min(until, to) - Math.max(goneAt, from));
    goneAt = undefined;
  };
  for (const entry of log) {
    if (entry.type === "Gone") goneAt ??= entry.t;
    if (entry.type === "Observed" || entry.type === "Back") leaveOut(entry.t);
  }
  leaveOut(to);
  return counted;
}

/** Every version that was recorded and not dropped, oldest first. */
export function retainedVersions(log: Log): readonly Version[] {
  const dropped = new Set(log.flatMap((entry) => (entry.type === "Dropped" ? [entry.seq] : [])));
  return log.filter((entry) => entry.type === "Observed").filter(({ seq }) => !dropped.has(seq));
}

/** A version of the log. */
export function versionOf(log: Log, seq: number): Version {
  const found = log.find((entry) => entry.type === "Observed" && entry.seq === seq);
  if (found?.type !== "Observed") throw new Error(`version ${seq} is not in the log`);
  return found;
}

/** The versions that were committed and are still in the history, oldest first. */
export function commitList(log: Log): readonly number[] {
  const current = log.slice(log.findLastIndex(({ type }) => type === "Fresh") + 1);
  const committed = new Set(current.flatMap((entry) => (entry.type === "Committed" ? [entry.seq] : [])));
  return retainedVersions(log).flatMap(({ seq }) => (committed.has(seq) ? [seq] : []));
}

/** The version that a target was last committed to. */
export function committedVersion(log: Log, target: string): number | undefined {
  let seq: number | undefined;
  for (const entry of log) {
    if (entry.type === "Left" && entry.target === target && entry.object === "goes") seq = undefined;
    if (entry.type === "Committed" && entry.target === target) seq = entry.seq;
  }
  return seq;
}

/** What a target's object holds: a version's number, or that it is absent or spoilt. */
export function heldVersion(log: Log, target: string): number | "absent" | "edited" {
  let held: number | "absent" | "edited" = "absent";
  let committed: number | undefined;
  for (const entry of log) {
    if (!("target" in entry) || entry.target !== target) continue;
    if (entry.type === "Committed") held = committed = entry.seq;
    if (entry.type === "Restored" && committed !== undefined) held = committed;
    if (entry.type === "Removed" || (entry.type === "Left" && entry.object === "goes")) held = "absent";
    if (entry.type === "Drifted" && (held !== "absent" || entry.to === "absent")) held = entry.to;
  }
  return held;
}

/** When a target first held this version or a later one. Of one that left and came back only the last commit is known. */
export function reachedAt(log: Log, target: string, seq: number): number | undefined {
  let at: number | undefined;
  let last: number | undefined;
  for (const entry of log) {
    if (entry.type === "Left" && entry.target === target) at &&= entry.object === "stays" ? last : undefined;
    if (entry.type !== "Committed" || entry.target !== target) continue;
    last = entry.at;
    if (entry.seq >= seq) at ??= entry.at;
  }
  return at;
}
