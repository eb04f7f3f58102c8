// What signed announcements say about single Secrets: with keys, nothing else makes the agent adopt a certificate, or give one up. Pure.
import { type AnnouncedChange, isDone, isNothingElse, type LiveObjects, maxAheadMs, takeBack } from "../controllers/checksum/announcement.ts";
import type { ObservedChecksum, ObservedSet } from "../controllers/checksum/difference.ts";
import type { SecretEntry } from "./manifest.ts";

/** The newest word on each Secret. */
export interface Statements {
  /** When somebody signed that the Secret is to be exactly this; undefined if nobody did, or its batch is not complete. */
  adopts(secret: string, live: { readonly id: string; readonly digest: string | undefined }): number | undefined;
  /** When somebody last signed everything there is, and nothing else. */
  readonly confirmedMs: number | undefined;
  /**
   * When somebody signed that the Secret is given up; by its id alone if its name was not known. One that was adopted by a word is given up by a later one
   * whatever came in between: a gateway that was away has not seen that.
   */
  givesUp(secret: string, served: Pick<SecretEntry, "id" | "announcedMs">): number | undefined;
}

interface Statement {
  readonly change: AnnouncedChange;
  readonly announcement: ObservedChecksum;
}

/**
 * Reads announcements whose signatures were checked. A batch counts when all of it is there that no later announcement has replaced. Words of a time that is
 * still to come do not count yet: none that a stolen key has signed shuts out those that follow it.
 */
export function statementsOf(announcements: readonly ObservedChecksum[], { secrets, state }: ObservedSet, nowMs: number): Statements {
  const ids = new Set(state.ids);
  const live: LiveObjects = { member: (name) => secrets.get(name)?.member, hasId: (id) => ids.has(id) };
  const oldestFirst = announcements
    .filter((announcement) => saidMsOf(announcement) <= nowMs + maxAheadMs)
    .toSorted((left, right) => saidMsOf(left) - saidMsOf(right));
  const newest = new Map<string, Statement>();
  const nameless = new Map<string, Statement>();
  let confirmedMs: number | undefined;
  for (const announcement of oldestFirst) {
    for (const change of announcement.changes ?? []) {
      // What was given up by its id may come back.
      if (change.to !== undefined) nameless.delete(change.to);
      if (isNothingElse(change)) {
        takeBack(newest);
        confirmedMs = saidMsOf(announcement);
      } else if (change.name !== "") newest.set(change.name, { change, announcement });
      else if (change.from !== undefined && change.to === undefined) nameless.set(change.from, { change, announcement });
    }
  }
  const isCurrent = (change: AnnouncedChange): boolean =>
    (change.name === "" ? nameless.get(change.from ?? "") : newest.get(change.name))?.change === change;
  const complete = new Set(
    oldestFirst.filter(({ changes = [] }) => changes.every((change) => change.unchanged || !isCurrent(change) || isDone(change, live))),
  );
  const timeOf = (statement: Statement | undefined): number | undefined =>
    statement && (statement.change.unchanged || complete.has(statement.announcement)) ? saidMsOf(statement.announcement) : undefined;
  return {
    confirmedMs,
    adopts(secret, { id, digest }) {
      const statement = newest.get(secret);
      const isMeant = statement?.change.to === id && digest !== undefined && statement.change.sha256 === digest;
      return isMeant ? timeOf(statement) : undefined;
    },
    givesUp(secret, { id, announcedMs }) {
      const named = newest.get(secret);
      const isMeant = named && named.change.to === undefined && (named.change.from === id || announcedMs !== undefined);
      const times = [isMeant ? timeOf(named) : undefined, timeOf(nameless.get(id))].filter((timeMs) => timeMs !== undefined);
      return times.length > 0 ? Math.max(...times) : undefined;
    },
  };
}

/** When it was said. Of two words of one second the order is in what was signed, and not in what an API server says about them. */
function saidMsOf({ saidMs, stamp }: ObservedChecksum): number {
  return saidMs ?? stamp.timestampMs;
}
