// When a target is promoted: the rules of a chain of targets, their order, when contents move, what comes next, and which versions are still needed. Pure.
import { type Commit, heldBy, liveSinceMs, namesIn, reachedMs, type RotationLog } from "./history.ts";
import type { TargetObservation } from "./observe.ts";
import type { PendingStep } from "./plan.ts";
import { publishedFromMs } from "./publish-before.ts";
import { gapMsOf, type Rank, settlesAtMs } from "./shape.ts";
import { dueAfter } from "./source.ts";

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
  /** Names of targets whose object is as the log says. What only the log says they hold may be nowhere. */
  readonly intact: ReadonlySet<string>;
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
      ? (last.departedMs ?? nextQueued(last, versions)?.seenAtMs)
      : head.digest === last.digest
        ? undefined
        : (last.departedMs ?? source.sinceMs);
  if (departedMs === last.departedMs) return log;
  const { departedMs: _, ...rest } = last;
  const noted: Commit = { ...rest, ...(departedMs !== undefined && { departedMs }) };
  return { ...log, commits: [...commits.slice(0, -1), noted] };
}

/** With Queue, the version that becomes live after this one. One with the same content would push out an older one and bring nothing. */
function nextQueued(last: Pick<Version, "seq" | "digest">, versions: readonly Version[]): Version | undefined {
  return versions.find(({ seq, digest }) => seq > last.seq && digest !== last.digest);
}

/**
 * The log after one sweep over the ranks, or the same log if nothing is due. While the source is gone or unreadable nothing is.
 * What a sweep makes due is left to the next one: a rank takes only what was in the rank before when the sweep began, so the highest can be written first.
 */
export function sweep(log: RotationLog, input: ChainInput): RotationLog {
  if (log.source.state !== "present") return log;
  const filled = firstFill(log, input);
  if (filled !== log) return filled;
  const swept: SweepInput = { ...input, before: log.commits };
  // The highest rank first: what a rank loses, the next one has already taken.
  return input.ranks.toReversed().reduce((so, rank) => (rank.rank === 1 ? stepFirstRank(so, rank, swept) : stepRank(so, rank, swept)), log);
}

/** What one sweep is made from. */
interface SweepInput extends ChainInput {
  /** The commits when it began: who holds another one by now is written before those that come after it. */
  readonly before: readonly Commit[];
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

/** How long the source must have been this version before the first rank takes it: not at all if somebody has promoted it. */
function firstDelayMs(seq: number, ranks: readonly Rank[]): number {
  const [first] = ranks;
  return !first || first.members.some(({ promoted = 0 }) => seq <= promoted) ? 0 : first.delayMs;
}

/** The next version of the first rank, and when it is due. */
function nextLive(log: RotationLog, { ranks, policy, versions }: ChainInput): { readonly version: Version; readonly dueMs: number } | undefined {
  const last = log.commits.at(-1);
  if (log.source.state !== "present" || !last) return undefined;
  if (policy === "Queue") {
    const version = nextQueued(last, versions);
    return version && { version, dueMs: dueAfter(version.seenAtMs, firstDelayMs(version.seq, ranks), log.frozen) };
  }
  const version = versions.at(-1);
  if (!version || version.seq <= last.seq || version.digest === last.digest) return undefined;
  return { version, dueMs: log.source.sinceMs + firstDelayMs(version.seq, ranks) };
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
  // Who has just left may have been filled before a crash: then all get what it was.
  const first = settlesAtMs(log) === undefined ? versions.at(-1) : versions[0];
  if (!first || isFilled(log)) return log;
  const at: Record<string, number> = {};
  const backfilled: string[] = [];
  for (const { rank, members } of ranks) {
    for (const member of members) {
      const { name, whenUnfilled } = member;
      if (blocked.has(name) || publishedFromMs(member, first) > nowMs || (rank > 1 && whenUnfilled === "Absent")) continue;
      at[name] = nowMs;
      if (rank > 1) backfilled.push(name);
    }
  }
  if (Object.keys(at).length === 0) return log;
  return { ...log, commits: [{ seq: first.seq, digest: first.digest, liveMs: nowMs, settledMs: 0, at }], backfilled };
}

function isFilled({ commits }: RotationLog): boolean {
  return commits.some(({ at }) => Object.keys(at).length > 0);
}

/** The first rank takes what the source has been, without interruption, for its delay; a member that is behind takes what is live. */
function stepFirstRank(log: RotationLog, { members }: Rank, input: SweepInput): RotationLog {
  const { blocked, versions, nowMs } = input;
  const writable = members.filter(({ name }) => !blocked.has(name));
  const next = mayMove(log, input) ? nextLive(log, input) : undefined;
  const mayTakeNext = (member: TargetObservation): boolean =>
    next !== undefined && publishedFromMs(member, next.version) <= nowMs && leavesAtMs(member.name, log, input) <= nowMs;
  const isDue = next !== undefined && next.dueMs <= nowMs && writable.some(mayTakeNext);
  let stepped = isDue ? { ...log, commits: withCommit(log.commits, next.version, { log, input }) } : log;
  const live = stepped.commits.at(-1);
  if (!live || !versions.some(({ seq }) => seq === live.seq)) return stepped;
  for (const member of writable) {
    const { name } = member;
    if (publishedFromMs(member, live) > nowMs) continue;
    const held = heldBy(name, stepped.commits);
    const isBehind = held && held.seq < live.seq && catchesUpMs(live, stepped, input) <= nowMs && leavesAtMs(name, stepped, input) <= nowMs;
    if (!held || (isBehind && mayMove(log, input))) stepped = taken(stepped, live.seq, { name, backfilled: false, nowMs });
  }
  return stepped;
}

/** False while contents stay where they are: no window is open, or the set has just been changed. Who holds nothing is filled all the same. */
function mayMove(log: RotationLog, { nowMs, opensFrom }: ChainInput): boolean {
  return (settlesAtMs(log) ?? 0) <= nowMs && opensFrom(nowMs) <= nowMs;
}

/** True if one of the target's objects has what the log says that the target holds. */
export function isIntact({ name, objects }: TargetObservation, commits: readonly Commit[]): boolean {
  const held = heldBy(name, commits);
  return held !== undefined && objects.some(({ ours, applied, digest }) => ours && applied?.digest === held.digest && digest === held.digest);
}

/** When a member of the first rank that is behind may take what is live: if the source has been that for the rank's delay, as it is now. Other delays may have been asked for when it became live. */
function catchesUpMs({ seq, digest, settledMs }: Commit, { source }: RotationLog, { ranks, versions, nowMs }: ChainInput): number {
  const delayMs = firstDelayMs(seq, ranks);
  if (settledMs === undefined || settledMs >= delayMs) return nowMs;
  return source.state === "present" && versions.at(-1)?.digest === digest ? source.sinceMs + delayMs : Number.POSITIVE_INFINITY;
}

/**
 * When a target may let go of what it holds: at once if another one truly has it, else when it has been kept for all the further delays together since it
 * was live; infinity if only another target's taking it can make that possible. With delays that grow, or with Queue, the history alone keeps it for a while.
 */
function leavesAtMs(target: string, log: RotationLog, { ranks, policy, intact, before, nowMs }: SweepInput): number {
  const { commits, frozen } = log;
  const held = heldBy(target, commits);
  if (!held || policy === "Queue" || ranks.some((rank) => gapMsOf(rank, ranks) > 0)) return nowMs;
  const isTaken = (name: string): boolean => heldBy(name, before)?.seq !== heldBy(name, commits)?.seq;
  const isElsewhere = ({ name }: TargetObservation): boolean =>
    name !== target && heldBy(name, commits)?.digest === held.digest && (intact.has(name) || isTaken(name));
  if (ranks.some(({ members }) => members.some(isElsewhere))) return nowMs;
  const furtherMs = ranks.slice(1).reduce((sum, { delayMs }) => sum + delayMs, 0);
  // A content that came back was live until it left for the last time.
  const next = commits[commits.findLastIndex(({ digest }) => digest === held.digest) + 1];
  if (!next) return furtherMs === 0 ? nowMs : Number.POSITIVE_INFINITY;
  return Math.max(nowMs, dueAfter(liveSinceMs(next), furtherMs, frozen));
}

function stepRank(log: RotationLog, rank: Rank, input: SweepInput): RotationLog {
  let stepped = log;
  for (const member of rank.members) {
    if (input.blocked.has(member.name)) continue;
    const isUnfilled = heldBy(member.name, stepped.commits) === undefined;
    if (!isUnfilled && (!mayMove(log, input) || leavesAtMs(member.name, stepped, input) > input.nowMs)) continue;
    const due = lastDue(stepped, member, rank, input);
    if (due) stepped = taken(stepped, due.seq, { name: member.name, backfilled: false, nowMs: input.nowMs });
    else if (isUnfilled && member.whenUnfilled === "Backfill") stepped = backfill(stepped, member, rank, input);
  }
  return stepped;
}

/** The furthest commit that is due for a target and whose content is at hand. */
function lastDue(log: RotationLog, member: TargetObservation, rank: Rank, { ranks, versions, nowMs }: ChainInput): Commit | undefined {
  const { commits } = log;
  const target = member.name;
  const isAtHand = (commit: Commit): boolean => versions.some(({ seq }) => seq === commit.seq) && publishedFromMs(member, commit) <= nowMs;
  let furthest: Commit | undefined;
  for (let index = nextIndex(target, commits); index < commits.length; index++) {
    const dueMs = followDueMs(log, index, rank, ranks);
    if (dueMs === undefined || dueMs > nowMs) break;
    const commit = commits[index];
    if (commit && isAtHand(commit)) furthest = commit;
  }
  const fitting = furthest && withinNeighbours(log, furthest, rank, { ranks, target });
  return fitting && isAtHand(fitting) ? fitting : undefined;
}

/** A target that never held anything gets the oldest version there is, so that pods can mount it. */
function backfill(log: RotationLog, member: TargetObservation, rank: Rank, { ranks, versions, nowMs }: ChainInput): RotationLog {
  const { name } = member;
  const oldest = log.commits.find((commit) => versions.some(({ seq }) => seq === commit.seq));
  const fitting = oldest && withinNeighbours(log, oldest, rank, { ranks, target: name });
  if (!fitting || !versions.some(({ seq }) => seq === fitting.seq) || publishedFromMs(member, fitting) > nowMs) return log;
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

function withCommit(
  commits: readonly Commit[],
  { seq, digest }: Version,
  { log: { source }, input: { policy, versions, nowMs } }: { readonly log: RotationLog; readonly input: ChainInput },
): readonly Commit[] {
  const followed = policy === "Queue" ? nextQueued({ seq, digest }, versions)?.seenAtMs : undefined;
  const settledMs = policy === "Queue" ? undefined : nowMs - source.sinceMs;
  return [
    ...commits,
    { seq, digest, liveMs: nowMs, ...(settledMs !== undefined && { settledMs }), ...(followed !== undefined && { departedMs: followed }), at: {} },
  ];
}

// How each target stands and what comes next, if nothing changes but the time.

/** A source that has been another for this many delays of the first rank, and never stayed, is unstable. */
const unstableDelays = 2;

/** The version that a target gets next, if it is known when. */
export function pendingOf(target: string, log: RotationLog, rank: Rank, input: ChainInput): PendingStep | undefined {
  if (log.source.state !== "present" || input.blocked.has(target)) return undefined;
  const next = rank.rank === 1 ? nextOfFirst(target, log, input) : nextOfRank(target, log, rank, input);
  if (!next) return undefined;
  const publishedMs = publicationMs(target, next, rank, input);
  // What is due, and nobody knows until when it is not published, has no time.
  if (!Number.isFinite(publishedMs) && next.notBeforeMs <= input.nowMs) return undefined;
  if (Number.isFinite(publishedMs) && publishedMs > Math.max(next.notBeforeMs, input.nowMs))
    return within({ ...next, notBeforeMs: Math.max(publishedMs, settlesAtMs(log) ?? 0), reason: "Publishing" }, input);
  const settledMs = Math.max(next.notBeforeMs, settlesAtMs(log) ?? 0);
  // What is not due yet may well be elsewhere by then.
  const leavesMs = settledMs <= input.nowMs ? leavesAtMs(target, log, { ...input, before: log.commits }) : 0;
  if (leavesMs > input.nowMs) return Number.isFinite(leavesMs) ? within({ ...next, notBeforeMs: leavesMs, reason: "Retaining" }, input) : undefined;
  const step = within(settledMs > next.notBeforeMs ? { ...next, notBeforeMs: settledMs, reason: "SetChanged" } : next, input);
  return rank.rank > 1 && step.notBeforeMs <= input.nowMs ? undefined : step;
}

function publicationMs(target: string, { seq }: PendingStep, { members }: Rank, { versions }: ChainInput): number {
  const member = members.find(({ name }) => name === target);
  const version = versions.find((each) => each.seq === seq);
  return member && version ? publishedFromMs(member, version) : 0;
}

function nextOfFirst(target: string, log: RotationLog, input: ChainInput): PendingStep | undefined {
  const next = nextLive(log, input);
  if (next) return { seq: next.version.seq, notBeforeMs: next.dueMs, reason: "Settling" };
  const live = log.commits.at(-1);
  const held = heldBy(target, log.commits);
  if (!live || !held || held.seq >= live.seq) return undefined;
  const notBeforeMs = catchesUpMs(live, log, input);
  return Number.isFinite(notBeforeMs) ? { seq: live.seq, notBeforeMs, reason: "Settling" } : undefined;
}

function nextOfRank(target: string, log: RotationLog, rank: Rank, { ranks }: ChainInput): PendingStep | undefined {
  const index = nextIndex(target, log.commits);
  const dueMs = followDueMs(log, index, rank, ranks);
  const commit = log.commits[index];
  return dueMs === undefined || !commit ? undefined : { seq: commit.seq, notBeforeMs: dueMs, reason: "Following" };
}

/** True if a target is to move on, and cannot before another one has taken what it holds: only that keeps the version from being nowhere. */
export function isRetaining(target: string, log: RotationLog, input: ChainInput): boolean {
  return (
    leavesAtMs(target, log, { ...input, before: log.commits }) === Number.POSITIVE_INFINITY &&
    (nextLive(log, input)?.dueMs ?? Number.POSITIVE_INFINITY) <= input.nowMs
  );
}

/** The step as the maintenance windows let it be made. */
function within(step: PendingStep, { nowMs, opensFrom }: ChainInput): PendingStep {
  const opensMs = opensFrom(Math.max(step.notBeforeMs, nowMs));
  return opensMs > Math.max(step.notBeforeMs, nowMs) ? { ...step, notBeforeMs: opensMs, reason: "OutsideWindow" } : step;
}

/** When a window opens for what would be done now. */
export function heldBackMs(log: RotationLog, input: ChainInput): number | undefined {
  const opensMs = input.opensFrom(input.nowMs);
  return opensMs > input.nowMs && sweep(log, { ...input, opensFrom: (timeMs) => timeMs }) !== log ? opensMs : undefined;
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
  const declared = new Set(targets.map(({ name }) => name));
  // Who has left a short time ago may be back, and get what it held.
  const gone = namesIn(log.shape)
    .filter((name) => !declared.has(name))
    .map((name) => ({ name, whenUnfilled: "Backfill" as const }));
  const commits = cut(log.commits, [...targets, ...gone]);
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

function cut(commits: readonly Commit[], targets: readonly Pick<TargetObservation, "name" | "whenUnfilled">[]): readonly Commit[] {
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
