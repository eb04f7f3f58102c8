// Which targets the log is ahead of. It is written before they are, so that a move is known even if the object that it was made to is lost right after it. Pure.
import { type Commit, heldBy, type RotationLog, writtenMs } from "./history.ts";
import type { ObjectObservation, TargetObservation } from "./observe.ts";

/** A move that is in the log and may not have been made yet. */
export interface Ahead {
  /** The target. */
  readonly name: string;
  readonly seq: number;
  /** The commit that it held before, which may be trimmed meanwhile; absent if none. */
  readonly before?: Commit;
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
  return { name, seq, ...(before && { before }), ...(made.backfilled.includes(name) && { backfilled: true }) };
}

/**
 * The log without the moves that a crash, or an API server that refused, has left undone: the target's object is there and as it was before. Of an object that
 * is gone, or that says neither, the log's word is taken: what it held may have been the later version.
 */
export function withoutUnmade(log: RotationLog, targets: readonly TargetObservation[]): RotationLog {
  // The last one first: what it was made from may say what one before it did.
  return (log.ahead ?? []).reduceRight((known, move) => {
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

function withHeld(commits: readonly Commit[], name: string, before: Commit): readonly Commit[] {
  const known = commits.find(({ seq }) => seq === before.seq);
  if (!known) return [...commits, before].sort((a, b) => a.seq - b.seq);
  const atMs = writtenMs(before, name);
  return commits.map((commit) => (commit === known && atMs !== undefined ? { ...known, at: { ...known.at, [name]: atMs } } : commit));
}
