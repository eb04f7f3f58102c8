// What is kept of a checksum object, and which of two is the newer.
import type { DeepReadonly, Stored } from "@keyturn/runtime";
import type { SecretCheckSum } from "../controllers/checksum/api.ts";
import type { SetState } from "../controllers/checksum/member-set.ts";
import type { Stamp } from "./manifest.ts";

/** A checksum object as the agent remembers it. */
export interface ObservedChecksum {
  readonly name: string;
  /** Empty if the object has none; it then matches nothing. */
  readonly checksum: string;
  readonly sha256?: string;
  /** Undefined if they did not fit into the object. */
  readonly ids?: readonly string[];
  readonly stamp: Stamp;
  /** Of a state that is still to be written: until when it is awaited. */
  readonly announcedUntilMs?: number;
}

/** What is kept of an object. A timestamp that cannot be read is taken for the time of its creation. */
export function observedChecksum({ metadata, spec, status }: Stored<DeepReadonly<SecretCheckSum>>): ObservedChecksum {
  const createdMs = Date.parse(metadata.creationTimestamp ?? "") || 0;
  const { checksum = "", sha256, ids, timestamp, announcement } = spec;
  return {
    name: metadata.name,
    checksum,
    ...(sha256 !== undefined && { sha256 }),
    ...(ids && { ids }),
    stamp: { timestampMs: Date.parse(timestamp) || createdMs, createdMs },
    ...(announcement && !status?.reached && { announcedUntilMs: Date.parse(announcement.expires) || 0 }),
  };
}

/** Negative if the first is the older. Times are whole seconds, so that two objects can be equally new. */
export function compareStamps(left: Stamp, right: Stamp): number {
  return left.timestampMs - right.timestampMs || left.createdMs - right.createdMs;
}

/** The newest first; equally new ones by name. */
export function newestFirst(objects: Iterable<ObservedChecksum>): readonly ObservedChecksum[] {
  return [...objects].sort((left, right) => compareStamps(right.stamp, left.stamp) || (left.name < right.name ? -1 : 1));
}

/** Whether the object is of this state: the same ids and, where the object covers them, the same contents. */
export function isOfState(object: ObservedChecksum, state: SetState): boolean {
  return object.checksum === state.checksum && (object.sha256 === undefined || object.sha256 === (state.sha256 ?? object.sha256));
}

/** The newer of two; undefined only if there is none. */
export function newerStamp(left: Stamp | undefined, right: Stamp | undefined): Stamp | undefined {
  if (!left || !right) return left ?? right;
  return compareStamps(left, right) < 0 ? right : left;
}
