// What has happened to a set, as far as it still matters: the whole memory of the rules. Kept with the newest version record of the set.

/** What the source is, and since when. Only `gone` means that there is no source object; `unreadable` is one that says nothing, or two that contradict. */
export type SourceState =
  | { readonly state: "present"; readonly uid: string; readonly sinceMs: number }
  | { readonly state: "gone" | "unreadable"; readonly sinceMs: number };

/** A stretch of time that does not count, because the source was gone or unreadable. */
export interface FrozenStretch {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A version that became live: it was written to the targets of the first rank. */
export interface Commit {
  readonly seq: number;
  /** Digest of the version's content. */
  readonly digest: string;
  /**
   * When the source left this content for good: the start of the uninterrupted stretch in which it exists and is another.
   * Of the last commit it is provisional, and absent while the source is this version.
   */
  readonly departedMs?: number;
  /** When each target, by name, was written with this version. */
  readonly at: Readonly<Record<string, number>>;
}

/** The log of a set. The version whose record holds it is the one that the source was last seen as. */
export interface RotationLog {
  readonly source: SourceState;
  /** Oldest first; those that no rule can ask for any more are left out. */
  readonly commits: readonly Commit[];
  readonly frozen: readonly FrozenStretch[];
  /** Targets, by name, that hold a version only because there is no older one for them. */
  readonly backfilled: readonly string[];
}

/** The latest time in the log: time never runs back behind it. */
export function latestTimeOf({ source, commits, frozen }: RotationLog): number {
  let latestMs = Math.max(source.sinceMs, frozen.at(-1)?.toMs ?? 0);
  for (const { at, departedMs = 0 } of commits) {
    latestMs = Math.max(latestMs, departedMs);
    for (const target in at) latestMs = Math.max(latestMs, at[target] ?? 0);
  }
  return latestMs;
}

/** The version that a target was last written with; undefined if with none. */
export function heldBy(target: string, commits: readonly Commit[]): Commit | undefined {
  return commits.findLast(({ at }) => at[target] !== undefined);
}

/** When a target first held this version or a later one; undefined if it does not yet. */
export function reachedMs(target: string, seq: number, commits: readonly Commit[]): number | undefined {
  let firstMs: number | undefined;
  for (const commit of commits) {
    const atMs = commit.at[target];
    if (commit.seq >= seq && atMs !== undefined) firstMs = Math.min(atMs, firstMs ?? atMs);
  }
  return firstMs;
}
