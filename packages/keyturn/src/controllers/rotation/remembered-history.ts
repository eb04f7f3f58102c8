// What was seen of a set and is no longer written down anywhere: the operator keeps only what its rules can still ask for, and people want to look further back.
import type { HeldStretch, RotationLane, RotationSet, RotationVersion } from "./rotation-set.ts";

/** What is remembered of one set, for as long as this process lives. */
export interface RotationMemory {
  readonly versions: readonly RotationVersion[];
  /** By the name of the target. */
  readonly held: ReadonlyMap<string, readonly HeldStretch[]>;
}

/** As many are remembered of each lane, and of each set's versions. */
const maxRemembered = 40;

/** The set with what is remembered in it, and what is to be remembered from now on. */
export function withMemory(set: RotationSet, memory: RotationMemory | undefined): { readonly set: RotationSet; readonly memory: RotationMemory } {
  const lanes = set.lanes.map((lane) => longerLane(lane, memory?.held.get(lane.ref.name) ?? []));
  const versions = longerVersions(set.versions, memory?.versions ?? []);
  return {
    set: { ...set, lanes, versions },
    memory: { versions, held: new Map(lanes.map(({ ref, held }) => [ref.name, held])) },
  };
}

/** Stretches that ended before those that are still written down. */
function longerLane(lane: RotationLane, remembered: readonly HeldStretch[]): RotationLane {
  const [first] = lane.held;
  const earlier = first ? remembered.filter(({ fromMs }) => fromMs < first.fromMs) : [];
  if (!first || earlier.length === 0) return lane;
  const closed = earlier.map((stretch, index) => until(stretch, (earlier[index + 1] ?? first).fromMs));
  return { ...lane, held: [...closed, ...lane.held].slice(-maxRemembered) };
}

function until(stretch: HeldStretch, toMs: number): HeldStretch {
  return { ...stretch, toMs };
}

function longerVersions(versions: readonly RotationVersion[], remembered: readonly RotationVersion[]): readonly RotationVersion[] {
  const known = new Set(versions.map(({ seq }) => seq));
  const earlier = remembered.filter(({ seq }) => !known.has(seq));
  return [...versions, ...earlier].toSorted((a, b) => b.seq - a.seq).slice(0, maxRemembered);
}
