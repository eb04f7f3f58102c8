// Which marks of targets' objects are believed: anybody who can make an object can write our label and annotations on it.
import type { ObjectObservation, RecordObservation, SetObservation, TargetObservation } from "./observation.ts";

/** What marks are held against. */
type Known = Pick<SetObservation, "sources" | "records">;

/**
 * The targets with only those marks that prove themselves. What lies in a target's own place is the target's all the same, and is repaired;
 * anything else that is not what it says is left alone.
 */
export function withBelievedMarks(targets: readonly TargetObservation[], known: Known): readonly TargetObservation[] {
  const kinds = new Set([...known.sources, ...known.records].map(({ resource }) => resource));
  return targets.map((target) => ({
    ...target,
    objects: target.objects.flatMap((object) => {
      const isOwnPlace = object.name === target.objectName && kinds.has(object.resource);
      if (!object.ours || isBelieved(object, { kinds, records: known.records, isOwnPlace })) return [object];
      const { applied: _, ...bare } = object;
      return isOwnPlace ? [bare] : [];
    }),
  }));
}

/** True if a record is about the very version that an object says it was written with. */
export function isRecorded({ seq, digest }: NonNullable<ObjectObservation["applied"]>, records: readonly RecordObservation[]): boolean {
  return records.some((record) => record.seq === seq && record.digest === digest);
}

/** A version that there is a record of is believed by it, one whose record is lost by the object's content; and where people have edited it, only in its own place. */
function isBelieved(
  { applied, digest, resource }: ObjectObservation,
  {
    kinds,
    records,
    isOwnPlace,
  }: { readonly kinds: ReadonlySet<string>; readonly records: readonly RecordObservation[]; readonly isOwnPlace: boolean },
): boolean {
  if (!applied) return false;
  const isIntact = applied.digest === digest;
  const record = records.find(({ seq }) => seq === applied.seq);
  if (record) return record.digest === applied.digest && record.resource === resource && (isIntact || isOwnPlace);
  const told = records.flatMap(({ log }) => log?.commits ?? []).filter(({ seq }) => seq === applied.seq);
  return isIntact && (kinds.size === 0 || kinds.has(resource)) && told.every((commit) => commit.digest === applied.digest);
}
