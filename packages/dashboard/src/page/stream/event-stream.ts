// Reads server-sent events from a response. `EventSource` would do the same, but cannot send a token in a header.

/** One event as it was sent. */
export interface ServerSentEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** What has been read so far and is not yet an event. */
export interface ParserState {
  readonly rest: string;
}

export const nothingRead: ParserState = { rest: "" };

/** Takes the next piece of text; gives the events that are complete with it. Comments, which keep a connection alive, are passed over. */
export function readEvents(state: ParserState, piece: string): { readonly state: ParserState; readonly events: readonly ServerSentEvent[] } {
  const blocks = (state.rest + piece).split("\n\n");
  const rest = blocks.pop() ?? "";
  return { state: { rest }, events: blocks.map(parseBlock).filter((event) => event !== undefined) };
}

function parseBlock(block: string): ServerSentEvent | undefined {
  let id: string | undefined;
  let event = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const field = line.slice(0, colon);
    const value = line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "id") id = value;
    else if (field === "event") event = value;
    else if (field === "data") data.push(value);
  }
  return data.length === 0 ? undefined : { id, event, data: data.join("\n") };
}
