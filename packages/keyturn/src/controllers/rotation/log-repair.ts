// The log as it really stands: a target's object says in one write what it holds and since when, so that it knows of commits that a crash kept out of the log.
import type { ObjectObservation, RecordObservation, TargetObservation } from "./observation.ts";
import type { Commit, RotationLog } from "./rotation-log.ts";
import { heldBy } from "./rotation-log.ts";

/** The commits that the targets' objects tell of. */
export function commitsOfObjects(targets: readonly TargetObservation[]): readonly Commit[] {
  return withObjects([], targets, 0);
}

/** The log with what the targets' objects tell, and without what cannot be held any more because both the object and its version are lost. */
export function repairedLog(
  log: RotationLog,
  {
    targets,
    records,
    headSeq,
  }: { readonly targets: readonly TargetObservation[]; readonly records: readonly RecordObservation[]; readonly headSeq: number },
): RotationLog {
  const names = new Set(targets.map(({ name }) => name));
  const told = withObjects(withoutStrangers(log.commits, names), targets, headSeq);
  const newlyTold = targets.filter(({ name }) => heldBy(name, log.commits) === undefined && heldBy(name, told) !== undefined).map(({ name }) => name);
  const commits = targets.reduce((left, target) => withoutLost(left, target, records), told);
  if (commits === log.commits) return log;
  // A target that is told of for the first time holds what others hold too: it was filled in the pass that crashed.
  const filled = newlyTold.filter((name) => heldBy(name, commits) === commits[0] && log.commits.length === 0);
  return { ...log, commits, backfilled: [...log.backfilled.filter((name) => names.has(name)), ...filled] };
}

/** A target that has left the set is forgotten. */
function withoutStrangers(commits: readonly Commit[], names: ReadonlySet<string>): readonly Commit[] {
  if (commits.every(({ at }) => Object.keys(at).every((name) => names.has(name)))) return commits;
  return commits.map((commit) => ({ ...commit, at: Object.fromEntries(Object.entries(commit.at).filter(([name]) => names.has(name))) }));
}

function withObjects(commits: readonly Commit[], targets: readonly TargetObservation[], headSeq: number): readonly Commit[] {
  let told = commits;
  for (const { name, objects } of targets) {
    for (const { ours, applied, digest } of objects) {
      if (!ours || !applied || (heldBy(name, told)?.seq ?? -1) >= applied.seq) continue;
      // A number beyond all records is believed only if the content is what it says: the record may have been lost.
      if (applied.seq > headSeq && applied.digest !== digest) continue;
      told = withCommitted(told, name, applied);
    }
  }
  return told;
}

function withCommitted(
  commits: readonly Commit[],
  name: string,
  { seq, digest, atMs }: NonNullable<ObjectObservation["applied"]>,
): readonly Commit[] {
  const known = commits.find((commit) => commit.seq === seq);
  const changed: Commit = known ? { ...known, at: { ...known.at, [name]: atMs } } : { seq, digest, at: { [name]: atMs } };
  return [...commits.filter((commit) => commit !== known), changed].sort((a, b) => a.seq - b.seq);
}

/** A version without a record is held only for as long as the object is intact. */
function withoutLost(commits: readonly Commit[], { name, objects }: TargetObservation, records: readonly RecordObservation[]): readonly Commit[] {
  const held = heldBy(name, commits);
  if (!held || records.some(({ seq }) => seq === held.seq)) return commits;
  const isIntact = objects.some(({ ours, applied, digest }) => ours && applied?.seq === held.seq && applied.digest === digest);
  if (isIntact) return commits;
  return commits
    .map((commit) =>
      name in commit.at ? { ...commit, at: Object.fromEntries(Object.entries(commit.at).filter(([other]) => other !== name)) } : commit,
    )
    .filter(({ at }, index, all) => Object.keys(at).length > 0 || index === all.length - 1);
}
