// What has happened to an object, as far as its record remembers.
import type { DashboardRecord, HistoryEntry, ObjectRef } from "@keyturn/dashboard/contract";

/** The newest first. */
export function objectHistory(ref: ObjectRef, record: DashboardRecord | undefined): readonly HistoryEntry[] {
  const entries = record ? entriesOf(ref, record) : [];
  return entries.filter(({ atMs }) => atMs > 0).toSorted((left, right) => right.atMs - left.atMs);
}

function entriesOf(ref: ObjectRef, record: DashboardRecord): readonly HistoryEntry[] {
  switch (record.type) {
    case "rotationSet":
      return [
        ...created(record),
        ...record.versions.map(({ seq, digest, seenMs }) => ({ atMs: seenMs, what: `the source became version ${seq} (${short(digest)})` })),
        ...record.lanes.flatMap(({ target, held }) =>
          held.map(({ seq, fromMs, backfilled }) => ({
            atMs: fromMs,
            what: `${target.name === ref.name ? "got" : `${target.name} got`} version ${seq}${backfilled ? ", filled in for want of an older one" : ""}`,
          })),
        ),
        ...record.frozen.flatMap(({ fromMs, toMs }) => [
          { atMs: fromMs, what: "the source was gone or could not be read" },
          ...(toMs === undefined ? [] : [{ atMs: toMs, what: "the source was back" }]),
        ]),
      ];
    case "keySet":
      return [
        ...created(record),
        ...record.keys.flatMap(({ kid, sinceMs, replacedMs, removeMs, state }) => [
          { atMs: sinceMs, what: `key ${short(kid)} was published` },
          ...(replacedMs === undefined ? [] : [{ atMs: replacedMs, what: `key ${short(kid)} was replaced` }]),
          ...(state === "Removed" && removeMs !== undefined ? [{ atMs: removeMs, what: `key ${short(kid)} went` }] : []),
        ]),
      ];
    case "checksum":
      return record.checksums.map(({ checksum, count, sinceMs, timestampMs, announcedUntilMs }) => ({
        atMs: sinceMs ?? timestampMs,
        what: `checksum ${short(checksum)} of ${count} objects was ${announcedUntilMs === undefined ? "published" : "announced"}`,
      }));
    case "agent":
      return [
        ...created(record),
        ...(record.promotedMs === undefined ? [] : [{ atMs: record.promotedMs, what: `took over checksum ${short(record.checksum)}` }]),
      ];
    case "issued":
      return [
        ...created(record),
        ...(record.issuedMs === undefined ? [] : [{ atMs: record.issuedMs, what: "its credentials were issued" }]),
        ...(record.deletingSinceMs === undefined ? [] : [{ atMs: record.deletingSinceMs, what: "somebody asked for its deletion" }]),
      ];
    case "workload":
      return record.restartedMs === undefined ? [] : [{ atMs: record.restartedMs, what: "was restarted for its sidecar" }];
    case "step":
    default:
      return [];
  }
}

function created({ createdMs }: { readonly createdMs?: number }): readonly HistoryEntry[] {
  return createdMs === undefined ? [] : [{ atMs: createdMs, what: "was created" }];
}

function short(digest: string): string {
  return digest.slice(0, 12);
}
