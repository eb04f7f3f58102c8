// Which targets the log is ahead of. It is written before they are, so that a move is known even if the object that it was made to is lost right after it. Pure.
import { type Commit, heldBy, type RotationLog, writtenMs } from "./history.ts";
import type { ObjectObservation, TargetObservation } from "./observe.ts";

/** A move that is in the log and may not have been made yet. */
export interface Ahead {
  /** The target. */
  readonly name: string;
  readonly seq: number;
  /** What it held before; absent if nothing. */
  readonly before?: { readonly seq: number; readonly digest: string; readonly atMs: number };
  /** What it held before was filled in. */
  readonly backfilled?: true;
}

/** The log to be written before its moves are made; `made` is the log without them. Of targets that have left nobody knows yet whether they were written. */
export function withAhead(log: RotationLog, made: RotationLog, targets: readonly TargetObservation[]): RotationLog {
  const names = new Set(targets.map(({ name }) => name));
  const ahead = [...(log.ahead ?? []).filter(({ name }) => !names.has(name)), ...targets.flatMap(({ name }) => moveOf(name, log, made) ?? [])];
  const { ahead: _, ...rest } = log;
  return ahead.length > 0 ? { ...rest, ahead } : rest;
}

function moveOf(name: string, log: RotationLog, made: RotationLog): Ahead | undefined {
  const held = heldBy(name, log.commits);
  const before = heldBy(name, made.commits);
  if (!held || held.seq === before?.seq) return undefined;
  const { seq } = held;
  if (!before) return { name, seq };
  const { digest } = before;
  const isBackfilled = made.backfilled.includes(name);
  return { name, seq, before: { seq: before.seq, digest, atMs: writtenMs(before, name) ?? 0 }, ...(isBackfilled && { backfilled: true }) };
}

/**
 * The log without the moves that a crash, or an API server that refused, has left undone: the target's object is there and as it was before. Of an object that
 * is gone, or that says neither, the log's word is taken: what it held may have been the later version.
 */
export function withoutUnmade(log: RotationLog, targets: readonly TargetObservation[]): RotationLog {
  return (log.ahead ?? []).reduce((known, move) => {
    const target = targets.find(({ name }) => name === move.name);
    return target && isUnmade(move, target) ? withoutMove(known, move) : known;
  }, log);
}

function isUnmade({ seq, before }: Ahead, { objects, reportedSeq = 0 }: TargetObservation): boolean {
  const ours = objects.filter((object) => object.ours);
  if (reportedSeq >= seq || ours.some(({ applied }) => (applied?.seq ?? 0) >= seq)) return false;
  if (!before) return ours.length === 0;
  const isAsBefore = ({ applied, digest }: ObjectObservation): boolean => (applied ? applied.seq === before.seq : digest === before.digest);
  return ours.some(isAsBefore);
}

function withoutMove(log: RotationLog, { name, seq, before, backfilled }: Ahead): RotationLog {
  const commits = log.commits.flatMap((commit): readonly Commit[] => {
    if (commit.seq !== seq || !Object.hasOwn(commit.at, name)) return [commit];
    const at = Object.fromEntries(Object.entries(commit.at).filter(([other]) => other !== name));
    // Nobody else has it, so it never became live.
    return Object.keys(at).length > 0 ? [{ ...commit, at }] : [];
  });
  const others = log.backfilled.filter((other) => other !== name);
  return { ...log, commits: before ? withHeld(commits, name, before) : commits, backfilled: backfilled ? [...others, name] : others };
}

/** Of a version that was trimmed meanwhile, this is all that is still known. */
function withHeld(commits: readonly Commit[], name: string, { seq, digest, atMs }: NonNullable<Ahead["before"]>): readonly Commit[] {
  if (heldBy(name, commits)?.seq === seq) return commits;
  const known = commits.find((commit) => commit.seq === seq);
  const held: Commit = known ? { ...known, at: { ...known.at, [name]: atMs } } : { seq, digest, at: { [name]: atMs } };
  return [...commits.filter((commit) => commit !== known), held].sort((a, b) => a.seq - b.seq);
}
