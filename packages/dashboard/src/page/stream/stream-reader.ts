// One connection to the stream, from its opening to its end.
import { eventStreamPath } from "../../contract/index.ts";
import { refusalOf } from "./answers.ts";
import { decodeEvent } from "./event-decoder.ts";
import { nothingRead, readEvents } from "./event-stream.ts";
import type { PictureEvent } from "./picture.ts";

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
  readonly signal: AbortSignal;
}): Promise<StreamEnd> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), silenceMs);
  const heard = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), silenceMs);
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
