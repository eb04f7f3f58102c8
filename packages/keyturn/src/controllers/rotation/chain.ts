// The settled chain: which target holds which version, from the log and the time alone. Contents move up one rank at a time and never back.
import { dueAfter } from "./counted-time.ts";
import type { TargetObservation } from "./observation.ts";
import type { Rank } from "./ranks.ts";
import { type Commit, heldBy, reachedMs, type RotationLog } from "./rotation-log.ts";

/** A state of the source that is, or is about to be, recorded. */
export interface Version {
  readonly seq: number;
  readonly resource: string;
  readonly watchDigest: string;
  readonly digest: string;
  readonly seenAtMs: number;
}

/** What the rules are applied to. */
export interface ChainInput {
  readonly ranks: readonly Rank[];
  /** Names of targets whose object cannot be written. */
  readonly hindered: ReadonlySet<string>;
  readonly policy: "Settled" | "Queue";
  /** Every version whose content is at hand, oldest first; the last is what the source was last seen as. */
  readonly versions: readonly Version[];
  readonly nowMs: number;
  /** When a move that is due at a time may be made. */
  readonly opensFrom: (timeMs: number) => number;
}

/** Notes since when the source has been another than what is live. With Queue every version counts, however soon the source returned. */
export function withDeparture(log: RotationLog, { policy, versions }: Pick<ChainInput, "policy" | "versions">): RotationLog {
  const { source, commits } = log;
  const last = commits.at(-1);
  const head = versions.at(-1);
  if (!last || !head || source.state !== "present") return log;
  const departedMs =
    policy === "Queue"
      ? (last.departedMs ?? versions.find(({ seq }) => seq > last.seq)?.seenAtMs)
      : head.digest === last.digest
        ? undefined
        : (last.departedMs ?? source.sinceMs);
  if (departedMs === last.departedMs) return log;
  const noted: Commit = { seq: last.seq, digest: last.digest, ...(departedMs !== undefined && { departedMs }), at: last.at };
  return { ...log, commits: [...commits.slice(0, -1), noted] };
}

/**
 * The log after one sweep over the ranks, or the same log if nothing is due. While the source is gone or unreadable nothing is.
 * What a sweep makes due is left to the next one: a rank takes only what was in the rank before when the sweep began, so the highest can be written first.
 */
export function sweep(log: RotationLog, input: ChainInput): RotationLog {
  if (log.source.state !== "present") return log;
  const filled = firstFill(log, input);
  if (filled !== log) return filled;
  // The highest rank first: what a rank loses, the next one has already taken.
  return input.ranks.toReversed().reduce((swept, rank) => (rank.rank === 1 ? stepFirstRank(swept, rank, input) : stepRank(swept, rank, input)), log);
}

/** The log in which a version that was only filled in is the target's own as soon as enough others have followed it. */
export function withOwnVersions(log: RotationLog, ranks: readonly Rank[]): RotationLog {
  const { commits } = log;
  const ranksByName = new Map(ranks.flatMap(({ rank, members }) => members.map(({ name }) => [name, rank] as const)));
  const backfilled = log.backfilled.filter((name) => {
    const held = heldBy(name, commits);
    return held !== undefined && commits.length - commits.indexOf(held) < (ranksByName.get(name) ?? 1);
  });
  return backfilled.length === log.backfilled.length ? log : { ...log, backfilled };
}

/** The next version of the first rank, and when it is due. */
export function nextLive(
  log: RotationLog,
  { ranks, policy, versions }: ChainInput,
): { readonly version: Version; readonly dueMs: number } | undefined {
  const last = log.commits.at(-1);
  const delayMs = ranks[0]?.delayMs ?? 0;
  if (log.source.state !== "present" || !last) return undefined;
  if (policy === "Queue") {
    const version = versions.find(({ seq }) => seq > last.seq);
    return version && { version, dueMs: dueAfter(version.seenAtMs, delayMs, log.frozen) };
  }
  const version = versions.at(-1);
  return version && version.seq > last.seq && version.digest !== last.digest ? { version, dueMs: log.source.sinceMs + delayMs } : undefined;
}

/**
 * When a target of rank 2 or more may take this commit: its delay after the source departed from the version that is then live behind it,
 * and its delay after the rank before got the content. Undefined if that has not happened yet.
 */
export function followDueMs(log: RotationLog, index: number, rank: Rank, ranks: readonly Rank[]): number | undefined {
  const { commits, frozen } = log;
  const wanted = commits[index];
  const before = ranks[rank.rank - 2];
  const behind = index + rank.rank - 2;
  const departed = commits[behind];
  if (!wanted || !before || !departed) return undefined;
  // Of a commit that others followed, the departure is known, or lies before all that is remembered.
  const departedMs = departed.departedMs ?? (behind < commits.length - 1 ? 0 : undefined);
  if (departedMs === undefined) return undefined;
  let anchorMs = departedMs;
  for (const { name } of before.members) {
    const reached = reachedMs(name, wanted.seq, commits);
    if (reached === undefined) return undefined;
    anchorMs = Math.max(anchorMs, reached);
  }
  return dueAfter(anchorMs, rank.delayMs, frozen);
}

/** Where in the list of commits a target goes next. */
export function nextIndex(target: string, commits: readonly Commit[]): number {
  const held = heldBy(target, commits)?.seq ?? -1;
  const index = commits.findIndex(({ seq }) => seq > held);
  return index < 0 ? commits.length : index;
}

/** While no target holds anything, what the source is goes everywhere at once: nothing is protected yet. */
function firstFill(log: RotationLog, { ranks, hindered, versions, nowMs }: ChainInput): RotationLog {
  const first = versions.at(-1);
  if (!first || log.commits.some(({ at }) => Object.keys(at).length > 0)) return log;
  const at: Record<string, number> = {};
  const backfilled: string[] = [];
  for (const { rank, members } of ranks) {
    for (const { name, whenUnfilled } of members) {
      if (hindered.has(name) || (rank > 1 && whenUnfilled === "Absent")) continue;
      at[name] = nowMs;
      if (rank > 1) backfilled.push(name);
    }
  }
  if (Object.keys(at).length === 0) return log;
  return { ...log, commits: [{ seq: first.seq, digest: first.digest, at }], backfilled };
}

/** The first rank takes what the source has been, without interruption, for its delay; a member that is behind takes what is live. */
function stepFirstRank(log: RotationLog, { members }: Rank, input: ChainInput): RotationLog {
  const { hindered, versions, nowMs } = input;
  const writable = members.filter(({ name }) => !hindered.has(name));
  const next = nextLive(log, input);
  const commits = next && next.dueMs <= nowMs && writable.length > 0 ? withCommit(log.commits, next.version, input) : log.commits;
  const live = commits.at(-1);
  const behind = writable.filter(({ name }) => live && (heldBy(name, commits)?.seq ?? -1) < live.seq);
  if (!live || behind.length === 0 || !versions.some(({ seq }) => seq === live.seq)) return commits === log.commits ? log : { ...log, commits };
  return { ...log, commits: withAt(commits, live.seq, { names: behind.map(({ name }) => name), nowMs }) };
}

function stepRank(log: RotationLog, rank: Rank, input: ChainInput): RotationLog {
  let stepped = log;
  for (const member of rank.members) {
    if (input.hindered.has(member.name)) continue;
    const isUnfilled = heldBy(member.name, stepped.commits) === undefined;
    const due = lastDue(stepped, member.name, rank, input);
    if (due) stepped = taken(stepped, due.seq, { name: member.name, backfilled: false, nowMs: input.nowMs });
    else if (isUnfilled && member.whenUnfilled === "Backfill") stepped = backfill(stepped, member, rank, input);
  }
  return stepped;
}

/** The furthest commit that is due for a target and whose content is at hand. */
function lastDue(log: RotationLog, target: string, rank: Rank, { ranks, versions, nowMs }: ChainInput): Commit | undefined {
  const { commits } = log;
  let furthest: Commit | undefined;
  for (let index = nextIndex(target, commits); index < commits.length; index++) {
    const dueMs = followDueMs(log, index, rank, ranks);
    if (dueMs === undefined || dueMs > nowMs) break;
    const commit = commits[index];
    if (commit && versions.some(({ seq }) => seq === commit.seq)) furthest = commit;
  }
  const fitting = furthest && withinNeighbours(log, furthest, rank, { ranks, target });
  return fitting && versions.some(({ seq }) => seq === fitting.seq) ? fitting : undefined;
}

/** A target that never held anything gets the oldest version there is, so that pods can mount it. */
function backfill(log: RotationLog, { name }: TargetObservation, rank: Rank, { ranks, versions, nowMs }: ChainInput): RotationLog {
  const oldest = log.commits.find((commit) => versions.some(({ seq }) => seq === commit.seq));
  const fitting = oldest && withinNeighbours(log, oldest, rank, { ranks, target: name });
  if (!fitting || !versions.some(({ seq }) => seq === fitting.seq)) return log;
  return taken(log, fitting.seq, { name, backfilled: true, nowMs });
}

/** For a target that holds nothing yet: not older than what higher ranks hold, and above all not newer than what lower ranks hold. */
function withinNeighbours(
  { commits }: RotationLog,
  wanted: Commit,
  { rank }: Rank,
  { ranks, target }: { readonly ranks: readonly Rank[]; readonly target: string },
): Commit {
  if (heldBy(target, commits)) return wanted;
  const heldIn = (chosen: (other: number) => boolean): readonly Commit[] =>
    ranks.filter((other) => chosen(other.rank)).flatMap(({ members }) => members.flatMap(({ name }) => heldBy(name, commits) ?? []));
  const raised = [wanted, ...heldIn((other) => other > rank)].reduce((a, b) => (b.seq > a.seq ? b : a));
  return [raised, ...heldIn((other) => other < rank)].reduce((a, b) => (b.seq < a.seq ? b : a));
}

function taken(
  log: RotationLog,
  seq: number,
  { name, backfilled, nowMs }: { readonly name: string; readonly backfilled: boolean; readonly nowMs: number },
): RotationLog {
  const others = log.backfilled.filter((other) => other !== name);
  return { ...log, commits: withAt(log.commits, seq, { names: [name], nowMs }), backfilled: backfilled ? [...others, name] : others };
}

function withAt(
  commits: readonly Commit[],
  seq: number,
  { names, nowMs }: { readonly names: readonly string[]; readonly nowMs: number },
): readonly Commit[] {
  const added = Object.fromEntries(names.map((name) => [name, nowMs]));
  return commits.map((commit) => (commit.seq === seq ? { ...commit, at: { ...commit.at, ...added } } : commit));
}

function withCommit(commits: readonly Commit[], { seq, digest }: Version, { policy, versions }: ChainInput): readonly Commit[] {
  const followed = policy === "Queue" ? versions.find((version) => version.seq > seq)?.seenAtMs : undefined;
  return [...commits, { seq, digest, ...(followed !== undefined && { departedMs: followed }), at: {} }];
}
