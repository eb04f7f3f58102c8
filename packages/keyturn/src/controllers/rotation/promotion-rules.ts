// When a target is promoted: the rules of a chain of targets, their order, when contents move, what comes next, and which versions are still needed. Pure.
import { type Commit, type FrozenStretch, heldBy, reachedMs, type RotationLog } from "./history.ts";
import type { TargetObservation } from "./observe.ts";
import type { PendingStep } from "./plan.ts";

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

// The places of a set's targets in the chain.

/** The targets of one order. They share one delay, the longest of theirs, and so move together. */
export interface Rank {
  /** Counted from 1. */
  readonly rank: number;
  readonly delayMs: number;
  /** In the order of their names. */
  readonly members: readonly TargetObservation[];
}

/** The ranks of a set, the first one first. */
export function ranksOf(targets: readonly TargetObservation[]): readonly Rank[] {
  const byOrder = Map.groupBy(targets, ({ order }) => order);
  return [...byOrder.keys()]
    .sort((a, b) => a - b)
    .map((order, index) => {
      const members = byOrder.get(order) ?? [];
      return {
        rank: index + 1,
        delayMs: Math.max(...members.map(({ delayMs }) => delayMs)),
        members: members.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      };
    });
}

// The chain: which target holds which version, from the log and the time alone. Contents move up one rank at a time and never back.

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
  readonly blocked: ReadonlySet<string>;
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
function nextLive(log: RotationLog, { ranks, policy, versions }: ChainInput): { readonly version: Version; readonly dueMs: number } | undefined {
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
function followDueMs(log: RotationLog, index: number, rank: Rank, ranks: readonly Rank[]): number | undefined {
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
function nextIndex(target: string, commits: readonly Commit[]): number {
  const held = heldBy(target, commits)?.seq ?? -1;
  const index = commits.findIndex(({ seq }) => seq > held);
  return index < 0 ? commits.length : index;
}

/** While no target holds anything, what the source is goes everywhere at once: nothing is protected yet. */
function firstFill(log: RotationLog, { ranks, blocked, versions, nowMs }: ChainInput): RotationLog {
  const first = versions.at(-1);
  if (!first || log.commits.some(({ at }) => Object.keys(at).length > 0)) return log;
  const at: Record<string, number> = {};
  const backfilled: string[] = [];
  for (const { rank, members } of ranks) {
    for (const { name, whenUnfilled } of members) {
      if (blocked.has(name) || (rank > 1 && whenUnfilled === "Absent")) continue;
      at[name] = nowMs;
      if (rank > 1) backfilled.push(name);
    }
  }
  if (Object.keys(at).length === 0) return log;
  return { ...log, commits: [{ seq: first.seq, digest: first.digest, at }], backfilled };
}

/** The first rank takes what the source has been, without interruption, for its delay; a member that is behind takes what is live. */
function stepFirstRank(log: RotationLog, { members }: Rank, input: ChainInput): RotationLog {
  const { blocked, versions, nowMs } = input;
  const writable = members.filter(({ name }) => !blocked.has(name));
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
    if (input.blocked.has(member.name)) continue;
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

// How each target stands and what comes next, if nothing changes but the time.

/** A source that has been another for this many delays of the first rank, and never stayed, is unstable. */
const unstableDelays = 2;

/** The version that a target gets next, if it is known when. */
export function pendingOf(target: string, log: RotationLog, rank: Rank, input: ChainInput): PendingStep | undefined {
  if (log.source.state !== "present" || input.blocked.has(target)) return undefined;
  if (rank.rank === 1) {
    const next = nextLive(log, input);
    return next && within({ seq: next.version.seq, notBeforeMs: next.dueMs, reason: "Settling" }, input);
  }
  const index = nextIndex(target, log.commits);
  const dueMs = followDueMs(log, index, rank, input.ranks);
  const commit = log.commits[index];
  if (dueMs === undefined || !commit) return undefined;
  const step = within({ seq: commit.seq, notBeforeMs: dueMs, reason: "Following" }, input);
  return step.notBeforeMs <= input.nowMs ? undefined : step;
}

/** The step as the maintenance windows let it be made. */
function within(step: PendingStep, { nowMs, opensFrom }: ChainInput): PendingStep {
  const opensMs = opensFrom(Math.max(step.notBeforeMs, nowMs));
  return opensMs > Math.max(step.notBeforeMs, nowMs) ? { ...step, notBeforeMs: opensMs, reason: "OutsideWindow" } : step;
}

/** How long a version is in no target at all on its way to this rank. */
export function gapMsOf(rank: Rank, ranks: readonly Rank[]): number {
  const before = ranks[rank.rank - 2];
  return before ? Math.max(0, rank.delayMs - before.delayMs) : 0;
}

/** When the source counts as unstable, if it does not come to rest before. */
export function unstableAtMs(log: RotationLog, input: ChainInput): number | undefined {
  const departedMs = log.commits.at(-1)?.departedMs;
  const next = nextLive(log, input);
  if (!next || departedMs === undefined || input.policy === "Queue") return undefined;
  const atMs = departedMs + unstableDelays * (input.ranks[0]?.delayMs ?? 0);
  return next.dueMs > atMs ? atMs : undefined;
}

/** When objects go because their source is gone. */
export function removalTimes({ source, commits }: RotationLog, ranks: readonly Rank[]): readonly number[] {
  if (source.state !== "gone") return [];
  return ranks.flatMap(({ delayMs, members }) =>
    members.flatMap(({ name, deletionMode }) => (deletionMode === "cascade" && heldBy(name, commits) ? [source.sinceMs + delayMs] : [])),
  );
}

// What of the history is still needed: versions that a target holds or may yet get.

/** Beyond so many commits, the oldest that no target holds are given up; and beyond so many versions that wait to be committed, the oldest of those. */
const maxCommits = 100;

/** The log without what no rule can ask for any more. */
export function trimmed(
  log: RotationLog,
  targets: readonly TargetObservation[],
  { versions, policy }: { readonly versions: readonly Version[]; readonly policy: "Settled" | "Queue" },
): RotationLog {
  const commits = cut(log.commits, targets);
  // Only versions that stay count, else the log would be trimmed once more when the others are gone.
  const frozen = log.frozen.length === 0 ? log.frozen : stillCounting({ ...log, commits }, retained(versions, { commits }, policy));
  const isSame = commits === log.commits && frozen.length === log.frozen.length;
  return isSame ? log : { ...log, commits, frozen };
}

/** The versions whose records stay: the newest, those in the log, and with Queue those that wait. */
export function retained(versions: readonly Version[], { commits }: Pick<RotationLog, "commits">, policy: "Settled" | "Queue"): readonly Version[] {
  const head = versions.at(-1);
  // Nobody has been given anything yet: what the source was before is of no use.
  const last = commits.at(-1)?.seq ?? Number.POSITIVE_INFINITY;
  const waiting = policy === "Queue" ? versions.filter(({ seq }) => seq > last).slice(-maxCommits) : [];
  return versions.filter((version) => version === head || commits.some(({ seq }) => seq === version.seq) || waiting.includes(version));
}

function cut(commits: readonly Commit[], targets: readonly TargetObservation[]): readonly Commit[] {
  const held = targets.map(({ name, whenUnfilled }) => heldBy(name, commits)?.seq ?? (whenUnfilled === "Absent" ? 0 : Number.POSITIVE_INFINITY));
  const last = commits.at(-1);
  const oldest = Math.min(...held, last?.seq ?? 0);
  const needed = commits.filter(({ seq }) => seq >= oldest);
  const surplus = needed.length - maxCommits;
  if (surplus <= 0) return needed.length === commits.length ? commits : needed;
  const given = new Set(needed.filter((commit) => commit !== last && !held.includes(commit.seq)).slice(0, surplus));
  return needed.filter((commit) => !given.has(commit));
}

/** The stretches that lie after the oldest time from which something is still counted. */
function stillCounting({ source, commits, frozen }: RotationLog, versions: readonly Version[]): RotationLog["frozen"] {
  const last = commits.at(-1)?.seq ?? 0;
  const anchorMs = Math.min(
    source.sinceMs,
    ...commits.flatMap(({ at, departedMs }) => [...Object.values(at), ...(departedMs === undefined ? [] : [departedMs])]),
    ...versions.filter(({ seq }) => seq > last).map(({ seenAtMs }) => seenAtMs),
  );
  return frozen.filter(({ toMs }) => toMs > anchorMs);
}
