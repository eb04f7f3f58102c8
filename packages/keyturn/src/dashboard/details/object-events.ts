// The Events of one object, read when somebody looks.
import type { EventView, ObjectRef } from "@keyturn/dashboard/contract";
import { type Client, Event } from "@keyturn/runtime";
import { timeMs } from "../../controllers/summary.ts";
import { shownText } from "../records/record-base.ts";

/** More are not read by anybody. */
const mostEvents = 100;

/** The newest first. */
export async function objectEvents(client: Client, { kind, namespace, name }: ObjectRef, signal: AbortSignal): Promise<readonly EventView[]> {
  const fields = `regarding.kind=${kind},regarding.name=${name}`;
  const { items } = await client.list(Event, { namespace: namespace === "" ? "default" : namespace, fields }, signal);
  return items
    .map(eventView)
    .toSorted((left, right) => right.lastMs - left.lastMs)
    .slice(0, mostEvents);
}

/** Events that were made through the old API have their times and counts elsewhere. */
interface OldEvent {
  readonly deprecatedFirstTimestamp?: string | null;
  readonly deprecatedLastTimestamp?: string | null;
  readonly deprecatedCount?: number;
}

export function eventView(event: Event & OldEvent): EventView {
  const { type, reason, note = "", action, eventTime, series, reportingController, metadata } = event;
  const firstMs = timeMs(eventTime) ?? timeMs(event.deprecatedFirstTimestamp) ?? timeMs(metadata.creationTimestamp) ?? 0;
  return {
    type: type === "Warning" ? "Warning" : "Normal",
    reason,
    note: shownText(note),
    action,
    firstMs,
    lastMs: timeMs(series?.lastObservedTime) ?? timeMs(event.deprecatedLastTimestamp) ?? firstMs,
    count: series?.count ?? event.deprecatedCount ?? 1,
    controller: reportingController,
  };
}
