// The rules of rotation, as plainly as can be: an independent check of plan.ts. Nothing here is fast, and nothing is shared with the controller.
import {
  commitList,
  committedVersion,
  countedTime,
  heldVersion,
  latestTime,
  type Log,
  type LogEntry,
  reachedAt,
  retainedVersions,
  sincePurge,
  sourceState,
  versionOf,
} from "./rotation-log.ts";

/** A RotationTarget. */
export interface ModelTarget {
  readonly name: string;
  readonly order: number;
  readonly delayMs: number;
  readonly deletionMode: "keep" | "cascade";
  readonly whenUnfilled: "Backfill" | "Absent";
  /** Somebody else's object has its name. */
  readonly blocked: boolean;
}

/** What a run sees of the source: one object, none, or something that is no source. */
export type ModelSource =
  | { readonly found: "one"; readonly watched: string; readonly content: string; readonly uid: string; readonly writtenAt: number }
  | { readonly found: "none" }
  | { readonly found: "unreadable" };

/** What a run sees. */
export interface Sight {
  /** The estimate of the server's clock. */
  readonly clockMs: number;
  /** The clock is too far off to decide anything by it. */
  readonly skewed?: boolean;
  readonly source: ModelSource;
  readonly targets: readonly ModelTarget[];
  readonly changePolicy: "Settled" | "Queue";
}

/** Everything that one run does, in the order in which it is done: first the source is noted, then targets are written, then versions dropped. */
export function runOf(whole: Log, sight: Sight): readonly LogEntry[] {
  const log: LogEntry[] = [...sincePurge(whole)];
  const start = log.length;
  // Nothing is recorded for nobody.
  if (sight.targets.length === 0) return [];
  const latest = latestTime(
    log,
    sight.targets.map(({ name }) => name),
  );
  const now = Math.max(sight.clockMs, latest);
  if (sight.skewed) return sight.targets.flatMap((target) => repairOf(log, target));
  log.push(...noteSource(log, sight.source, { now, latest }));
  if (sourceState(log).state === "never") return [];
  if (isFirstFill(log, sight)) log.push({ type: "Fresh" });
  // What a sweep makes due is done by another one.
  while (sweep(log, sight, now));
  log.push(...dropsOf(log, sight));
  const isOver = ranksOf(sight.targets).every(({ delayMs, members }) =>
    members.every((target) => restorable(log, target.name) === undefined || isCascaded(log, target, now - delayMs)),
  );
  if (isOver && sight.source.found === "none") log.push({ type: "Purged" });
  return log.slice(start);
}

/** One step of every target for which one is due, the highest rank first; above the first rank, where contents wait for each other, as many as are due. */
function sweep(log: LogEntry[], sight: Sight, now: number): boolean {
  const before = log.length;
  for (const { rank, delayMs, members } of ranksOf(sight.targets).toReversed()) {
    // The members of the first rank move together.
    const live = rank === 1 ? liveOf(log, { delayMs, now, sight }) : undefined;
    for (const target of members) {
      const step = { target, rank, delayMs, now, sight, live };
      let done = stepOf(log, step);
      log.push(...done);
      while (step.rank > 1 && done.length > 0) log.push(...(done = stepOf(log, step)));
    }
  }
  return log.length > before;
}

interface Rank {
  readonly rank: number;
  /** The longest delay of its members, who move together. */
  readonly delayMs: number;
  readonly members: readonly ModelTarget[];
}

/** Equal orders share a rank; gaps do not matter. */
export function ranksOf(targets: readonly ModelTarget[]): readonly Rank[] {
  const orders = [...new Set(targets.map(({ order }) => order))].sort((a, b) => a - b);
  return orders.map((order, index) => {
    const members = targets.filter((target) => target.order === order).sort((a, b) => (a.name < b.name ? -1 : 1));
    return { rank: index + 1, delayMs: Math.max(...members.map(({ delayMs }) => delayMs)), members };
  });
}

/** What is new about the source. */
function noteSource(log: Log, source: ModelSource, { now, latest }: { readonly now: number; readonly latest: number }): readonly LogEntry[] {
  const last = sourceState(log);
  if (source.found !== "one") {
    const deleted = source.found === "none";
    const isKnown = last.state === "gone" && (last.deletedAt !== undefined) === deleted;
    return last.state === "never" || isKnown ? [] : [{ type: "Gone", deleted, t: now }];
  }
  const { watched, content, uid, writtenAt } = source;
  // A write that is not newer than what was noted last cannot be what changed: then nobody knows since when.
  // Nor when it became readable.
  const wasUnreadable = last.state === "gone" && last.deletedAt === undefined;
  const t = !wasUnreadable && writtenAt > latest && writtenAt <= now ? writtenAt : now;
  if (last.state === "never" || versionOf(log, last.seq).watched !== watched) {
    return [{ type: "Observed", seq: last.state === "never" ? 1 : last.seq + 1, watched, content, uid, t }];
  }
  return last.state === "gone" || last.uid !== uid ? [{ type: "Back", uid, t }] : [];
}

/** R0: the source is there, and nobody has anything. */
function isFirstFill(log: Log, { targets }: Sight): boolean {
  const [first] = ranksOf(targets);
  const canBeFilled = targets.some((target) => !target.blocked && (target.whenUnfilled === "Backfill" || first?.members.includes(target)));
  return sourceState(log).state === "present" && canBeFilled && targets.every(({ name }) => restorable(log, name) === undefined);
}

interface Step {
  readonly target: ModelTarget;
  readonly rank: number;
  readonly delayMs: number;
  readonly now: number;
  readonly sight: Sight;
  /** What the first rank is to hold. */
  readonly live: number | undefined;
}

/** What is to be done about one target now: one thing at most. */
function stepOf(log: Log, step: Step): readonly LogEntry[] {
  const { target, rank, delayMs, now } = step;
  const { name } = target;
  if (target.blocked) return [];
  const source = sourceState(log);
  const held = heldVersion(log, name);
  if (isCascaded(log, target, now - delayMs)) return held === "absent" ? [] : [{ type: "Removed", target: name }];
  const committed = restorable(log, name);
  const next = source.state === "present" ? (committed === undefined ? fillOf(log, step) : nextOf(log, committed, step)) : undefined;
  if (next !== undefined) return [{ type: "Committed", target: name, seq: next, rank, at: now }];
  return committed === undefined || held === committed ? [] : [{ type: "Restored", target: name }];
}

/** True if the target's object goes with its source, which was deleted by that time. */
function isCascaded(log: Log, { deletionMode }: ModelTarget, byMs: number): boolean {
  const source = sourceState(log);
  return deletionMode === "cascade" && source.state === "gone" && source.deletedAt !== undefined && source.deletedAt <= byMs;
}

/** What a target was last committed to, unless it lost that and there is no record of it any more. */
function restorable(log: Log, name: string): number | undefined {
  const committed = committedVersion(log, name);
  const isThere = committed === heldVersion(log, name) || retainedVersions(log).some(({ seq }) => seq === committed);
  return isThere ? committed : undefined;
}

/** All that is done while the clock cannot be trusted. */
function repairOf(log: Log, target: ModelTarget): readonly LogEntry[] {
  const { name, blocked } = target;
  const mayBeRemoved = isCascaded(log, target, Number.POSITIVE_INFINITY);
  const committed = restorable(log, name);
  return blocked || mayBeRemoved || committed === undefined || heldVersion(log, name) === committed ? [] : [{ type: "Restored", target: name }];
}

/** The version that a target without one is given: of the history, or where there is none, R0, the source's. */
function fillOf(log: Log, step: Step): number | undefined {
  const { target, rank, sight } = step;
  const source = sourceState(log);
  if (source.state !== "present") return undefined;
  const commits = commitList(log);
  if (rank === 1) return step.live;
  const own = commits.findLast((_, index) => isDue(log, index, step));
  if (own === undefined && target.whenUnfilled === "Absent") return undefined;
  const wanted = own ?? commits[0] ?? source.seq;
  const contents = (side: (other: number) => boolean): readonly number[] =>
    ranksOf(sight.targets)
      .filter((each) => side(each.rank))
      .flatMap(({ members }) => members.flatMap(({ name }) => restorable(log, name) ?? []));
  const atLeast = Math.max(wanted, ...contents((other) => other > rank));
  return Math.min(atLeast, ...contents((other) => other < rank));
}

/** The version that a target moves on to now, if it does. */
function nextOf(log: Log, committed: number, step: Step): number | undefined {
  if (step.rank === 1) return step.live !== undefined && step.live > committed ? step.live : undefined;
  const index = commitList(log).findIndex((seq) => seq > committed);
  return index >= 0 && isDue(log, index, step) ? commitList(log)[index] : undefined;
}

/** R1, or with Queue the next version in the order in which they came; else what is live already. */
function liveOf(log: Log, { delayMs, now, sight }: Pick<Step, "delayMs" | "now" | "sight">): number | undefined {
  const source = sourceState(log);
  if (source.state !== "present") return undefined;
  const last = commitList(log).at(-1);
  if (last === undefined) return source.seq;
  if (sight.changePolicy === "Queue") {
    // A version of the same content brings nothing.
    const next = retainedVersions(log).find(({ seq, content }) => seq > last && content !== versionOf(log, last).content);
    return next && countedTime(log, next.t, now) >= delayMs ? next.seq : last;
  }
  const isOther = versionOf(log, source.seq).content !== versionOf(log, last).content;
  return isOther && now - source.since >= delayMs ? source.seq : last;
}

/** R3: may rank k ≥ 2 hold the commit of this index? */
function isDue(log: Log, index: number, { rank, delayMs, now, sight }: Step): boolean {
  const commits = commitList(log);
  const seq = commits[index];
  const behind = commits[index + rank - 2];
  if (seq === undefined || behind === undefined) return false;
  const departed = departureOf(log, behind, sight.changePolicy);
  const before = ranksOf(sight.targets).find((each) => each.rank === rank - 1)?.members ?? [];
  const reached = before.map(({ name }) => reachedAt(log, name, seq));
  return [departed, ...reached].every((from) => from !== undefined && countedTime(log, from, now) >= delayMs);
}

/** R2: since when the source has been there and something else than this commit; up to the next commit, which makes it final. */
function departureOf(log: Log, seq: number, policy: Sight["changePolicy"]): number | undefined {
  if (policy === "Queue") {
    return log.filter((entry) => entry.type === "Observed").find((entry) => entry.seq > seq && entry.content !== versionOf(log, seq).content)?.t;
  }
  const finalAt = log.findIndex((entry) => entry.type === "Committed" && entry.rank === 1 && entry.seq > seq);
  const { content } = versionOf(log, seq);
  let start: number | undefined;
  let uid: string | undefined;
  let current: string | undefined;
  for (const entry of finalAt < 0 ? log : log.slice(0, finalAt)) {
    if (entry.type === "Gone") start = undefined;
    if (entry.type !== "Observed" && entry.type !== "Back") continue;
    if (entry.type === "Observed") current = entry.content;
    if (current === content) start = undefined;
    else start = uid === entry.uid ? (start ?? entry.t) : entry.t;
    uid = entry.uid;
  }
  if (finalAt < 0 || start !== undefined) return start;
  // Only after orders were edited: rank 1 was given a version of the same content anew.
  const after = log[finalAt];
  return after?.type === "Committed" ? versionOf(log, after.seq).t : undefined;
}

/** R7, and what vanishes: versions that nobody holds or waits for. */
function dropsOf(log: Log, { targets, changePolicy }: Sight): readonly LogEntry[] {
  const source = sourceState(log);
  if (source.state === "never") return [];
  const commits = new Set(commitList(log));
  const committed = targets.flatMap(({ name }) => restorable(log, name) ?? []);
  // Who is to be absent until there is a version of its own still waits for all of them.
  const isWaited = targets.some(({ name, whenUnfilled }) => whenUnfilled === "Absent" && restorable(log, name) === undefined);
  const oldest = isWaited ? 0 : Math.min(...committed, Math.max(...commits));
  const isWaiting = (seq: number): boolean => changePolicy === "Queue" && seq > Math.max(...commits, ...(commits.size > 0 ? [] : [seq]));
  return retainedVersions(log)
    .filter(({ seq }) => seq !== source.seq && !committed.includes(seq) && !isWaiting(seq) && (!commits.has(seq) || seq < oldest))
    .map(({ seq }) => ({ type: "Dropped", seq }));
}
