// What stands in the way of writing a target's object.
import type { Hindrance, SourceObservation, TargetObservation } from "./observation.ts";

/** The hindrances by the names of the targets. A target that is hindered keeps its rank and what it holds; the ranks after it wait. */
export function hindrancesOf(targets: readonly TargetObservation[], sources: readonly SourceObservation[]): ReadonlyMap<string, Hindrance> {
  return new Map(
    targets.flatMap((target) => {
      const hindrance = target.hindrance ?? ownSource(target, sources) ?? nameConflict(target);
      return hindrance ? [[target.name, hindrance] as const] : [];
    }),
  );
}

function ownSource({ objects }: TargetObservation, sources: readonly SourceObservation[]): Hindrance | undefined {
  const source = sources.find(({ uid }) => objects.some((object) => object.uid === uid));
  return (
    source && {
      reason: "SourceConflict",
      message: `${source.resource}/${source.name} is this target's object and is marked as the source; it was left as it is`,
    }
  );
}

function nameConflict({ objects, objectName }: TargetObservation): Hindrance | undefined {
  const foreign = objects.find(({ ours, name }) => !ours && name === objectName);
  if (!foreign) return undefined;
  const what = `${foreign.resource}/${foreign.name}`;
  return {
    reason: "NameConflict",
    message: `${what} exists and is not this target's; it was left as it is: remove it, or choose another targetName`,
  };
}
