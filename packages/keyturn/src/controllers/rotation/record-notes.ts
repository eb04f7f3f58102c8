// What is noted with version records, and when it has to be noted anew.
import type { RecordObservation, TargetObservation } from "./observation.ts";
import type { RotationLog } from "./rotation-log.ts";
import type { RotationWrite } from "./rotation-plan.ts";

/** The owners of every record: with the last of the set's targets the history goes too. */
export function ownersOf(targets: readonly TargetObservation[]): readonly string[] {
  return targets.map(({ uid }) => uid).toSorted();
}

/** A note of the log, if it is another than what the record says. */
export function logNote(record: RecordObservation, log: RotationLog, owners: readonly string[]): RotationWrite | undefined {
  if (log === record.log && hasOwners(record, owners)) return undefined;
  return { verb: "noteRecord", seq: record.seq, precondition: preconditionOf(record), log, owners };
}

/** A note of the owners alone, if they are others than what the record says. */
export function ownersNote(record: RecordObservation, owners: readonly string[]): readonly RotationWrite[] {
  if (hasOwners(record, owners)) return [];
  return [{ verb: "noteRecord", seq: record.seq, precondition: preconditionOf(record), log: undefined, owners }];
}

/** Which state of a record a write is meant for. */
export function preconditionOf({ uid, resourceVersion }: RecordObservation): { readonly uid: string; readonly resourceVersion: string } {
  return { uid, resourceVersion };
}

function hasOwners(record: RecordObservation, owners: readonly string[]): boolean {
  const has = record.owners.toSorted();
  return has.length === owners.length && has.every((uid, index) => uid === owners[index]);
}
