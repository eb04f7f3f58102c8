// Finds what the page knows about an object: its record, and the lane if it is a target among others.
import type { ConditionView, Health, ObjectRef } from "../../contract/index.ts";
import type { ObjectName } from "../route/route.ts";
import type { LiveTables } from "../state/live-picture.ts";
import { keyTracks } from "../timeline/key-tracks.ts";
import { rotationTracks } from "../timeline/rotation-tracks.ts";
import type { Fact, Track } from "../timeline/track.ts";
import { stepInfos } from "./step-info.ts";
import { objectFacts } from "./object-facts.ts";
import { allTables, type ObjectRecord } from "./step-records.ts";

export interface FoundObject {
  readonly ref: ObjectRef;
  /** Differs when anything about it has changed. */
  readonly record: ObjectRecord;
  readonly health: Health;
  readonly reason: string;
  readonly message: string;
  readonly conditions: readonly ConditionView[];
  readonly facts: readonly Fact[];
  readonly tracks: readonly Track[];
}

/** Undefined if no record is about it. */
export function findObject(tables: LiveTables, name: ObjectName): FoundObject | undefined {
  const lane = tables.rotationSet.value.flatMap((record) =>
    record.lanes
      .filter(({ target, object }) => isSame(target, name) || (object !== undefined && isSame(object, name)))
      .map((found) => ({ record, lane: found })),
  )[0];
  if (lane !== undefined) {
    const { health, reason, message, conditions, target } = lane.lane;
    return {
      ref: target,
      record: lane.record,
      health,
      reason,
      message,
      conditions,
      facts: objectFacts(lane.record, lane.lane),
      tracks: rotationTracks(lane.record),
    };
  }
  for (const { step } of stepInfos) {
    const record = allTables(tables, step)
      .flat()
      .find(
        (candidate) =>
          isSame(candidate.ref, name) || (candidate.type === "rotationSet" && candidate.source !== undefined && isSame(candidate.source, name)),
      );
    if (record === undefined) continue;
    const { ref, health, reason, message, conditions } = record;
    return { ref, record, health, reason, message, conditions, facts: objectFacts(record), tracks: tracksOf(record) };
  }
  return undefined;
}

function isSame(ref: ObjectName, name: ObjectName): boolean {
  return ref.resource === name.resource && ref.namespace === name.namespace && ref.name === name.name;
}

function tracksOf(record: ObjectRecord): readonly Track[] {
  if (record.type === "rotationSet") return rotationTracks(record);
  return record.type === "keySet" ? keyTracks(record) : [];
}
