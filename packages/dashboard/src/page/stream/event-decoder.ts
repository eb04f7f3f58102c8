// From the text of a server-sent event to an event of the contract. The server is the one that this page was loaded from, so shapes are trusted.
import type { ServerSentEvent } from "./event-stream.ts";
import type { PictureEvent } from "./picture.ts";

const names: ReadonlySet<string> = new Set<PictureEvent["name"]>(["hello", "snapshot", "changes", "tick", "end"]);

/** Undefined for events that a newer server may send and this page does not know. */
export function decodeEvent({ id, event, data }: ServerSentEvent): PictureEvent | undefined {
  if (!names.has(event)) return undefined;
  return { name: event, id, data: JSON.parse(data) } as PictureEvent;
}
