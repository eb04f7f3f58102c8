// The tracks of all records. Those of a record are made once, and again only when it changes.
import { useMemo } from "preact/hooks";
import type { Track } from "./track.ts";

const made = new WeakMap<object, readonly Track[]>();

/** `tracksOf` must be the same for the same records. */
export function useTracks<T extends object>(records: readonly T[], tracksOf: (record: T) => readonly Track[]): readonly Track[] {
  return useMemo(
    () =>
      records.flatMap((record) => {
        const tracks = made.get(record) ?? tracksOf(record);
        made.set(record, tracks);
        return tracks;
      }),
    [records, tracksOf],
  );
}
