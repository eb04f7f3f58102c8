// Reads server-sent events from a response. `EventSource` would do the same, but cannot send a token in a header.
import { eventStreamPath, type ObjectDetail, type Refusal, type Session } from "../contract/index.ts";
import type { PictureEvent } from "./picture.ts";

/** One event as it was sent. */
export interface ServerSentEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** What has been read so far and is not yet an event. */
interface ParserState {
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

// From the text of a server-sent event to an event of the contract. The server is the one that this page was loaded from, so shapes are trusted.

const names: ReadonlySet<string> = new Set<PictureEvent["name"]>(["hello", "snapshot", "changes", "tick", "end"]);

/** Undefined for events that a newer server may send and this page does not know. */
function decodeEvent({ id, event, data }: ServerSentEvent): PictureEvent | undefined {
  if (!names.has(event)) return undefined;
  return { name: event, id, data: JSON.parse(data) } as PictureEvent;
}

// From the body of an answer to a shape of the contract. The server is the one that this page was loaded from, so shapes are trusted.

export async function sessionOf(response: Response): Promise<Session> {
  return (await response.json()) as Session;
}

export async function objectDetailOf(response: Response): Promise<ObjectDetail> {
  return (await response.json()) as ObjectDetail;
}

/** Why something was refused: the server's own words, or the status if it has none, as from a proxy in between. */
export async function refusalOf(response: Response): Promise<string> {
  const refusal = (await response.json().catch(() => ({}))) as Partial<Refusal>;
  return refusal.error ?? `the server answered ${response.status}`;
}

// One connection to the stream, from its opening to its end.

/** How a connection ended, or why there was none. */
export type StreamEnd =
  | { readonly type: "failed"; readonly why: string }
  | { readonly type: "unauthorized" }
  | { readonly type: "forbidden"; readonly message: string }
  | { readonly type: "sessionEnded" };

/** The server sends something every 15 s; after three times as long the connection is dead. */
const silenceMs = 45_000;

/** Reads until the stream ends, one way or another. `onEvent` is called in the order of sending. */
export async function readStream(options: {
  readonly token: string | undefined;
  readonly lastEventId: string | undefined;
  readonly onEvent: (event: PictureEvent) => void;
  /** Called for everything that comes, if only to say that the stream is alive. */
  readonly onHeard: () => void;
  readonly signal: AbortSignal;
}): Promise<StreamEnd> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), silenceMs);
  const heard = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), silenceMs);
    options.onHeard();
  };
  try {
    const response = await fetch(eventStreamPath, {
      headers: {
        ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
        ...(options.lastEventId === undefined ? {} : { "last-event-id": options.lastEventId }),
      },
      cache: "no-store",
      signal: AbortSignal.any([options.signal, silence.signal]),
    });
    if (response.status === 401) return { type: "unauthorized" };
    if (response.status === 403) return { type: "forbidden", message: await refusalOf(response) };
    if (!response.ok || response.body === null) return { type: "failed", why: `the server answered ${response.status}` };
    return await readBody(response.body, { onEvent: options.onEvent, heard });
  } catch (error) {
    if (silence.signal.aborted) return { type: "failed", why: "the server has been silent for too long" };
    return { type: "failed", why: error instanceof TypeError ? "the server does not answer" : String(error) };
  } finally {
    clearTimeout(timer);
  }
}

async function readBody(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { onEvent, heard }: { readonly onEvent: (event: PictureEvent) => void; readonly heard: () => void },
): Promise<StreamEnd> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let state = nothingRead;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { type: "failed", why: "the server closed the connection" };
    heard();
    const step = readEvents(state, value);
    state = step.state;
    for (const sent of step.events) {
      const event = decodeEvent(sent);
      if (event !== undefined) onEvent(event);
      if (event?.name === "end") return event.data.reason === "access" ? { type: "sessionEnded" } : { type: "failed", why: event.data.message };
    }
  }
}
