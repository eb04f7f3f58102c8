// What of the history is still needed: versions that a target holds or may yet get.
import type { Version } from "./chain.ts";
import type { TargetObservation } from "./observation.ts";
import { type Commit, heldBy, type RotationLog } from "./rotation-log.ts";

/** Beyond so many commits, the oldest that no target holds are given up; and beyond so many versions that wait to be committed, the oldest of those. */
const mostCommits = 100;

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
  const waiting = policy === "Queue" ? versions.filter(({ seq }) => seq > last).slice(-mostCommits) : [];
  return versions.filter((version) => version === head || commits.some(({ seq }) => seq === version.seq) || waiting.includes(version));
}

function cut(commits: readonly Commit[], targets: readonly TargetObservation[]): readonly Commit[] {
  const held = targets.map(({ name, whenUnfilled }) => heldBy(name, commits)?.seq ?? (whenUnfilled === "Absent" ? 0 : Number.POSITIVE_INFINITY));
  const last = commits.at(-1);
  const oldest = Math.min(...held, last?.seq ?? 0);
  const needed = commits.filter(({ seq }) => seq >= oldest);
  const surplus = needed.length - mostCommits;
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
