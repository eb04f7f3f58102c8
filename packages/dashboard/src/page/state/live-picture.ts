// The connection at work: reads the stream, tries again after a cut, and brings what it tells into signals once per frame.
import { batch, signal, type ReadonlySignal } from "@preact/signals";
import type { Hello } from "../../contract/index.ts";
import { type Connection, type ConnectionInput, firstConnection, stepConnection } from "../stream/connection.ts";
import { addToPicture, emptyPicture, joinChanges, type Picture, type PictureEvent, type Tables } from "../stream/picture.ts";
import { readStream, type StreamEnd } from "../stream/stream-reader.ts";
import { forgetAccessToken, keepAccessToken, takeAccessToken } from "./access-token.ts";
import type { PageClock } from "./clock.ts";

/** A signal for each table, so that a change concerns only who shows that table. */
export type LiveTables = { readonly [T in keyof Tables]: ReadonlySignal<Tables[T]> };

/** What the server tells, live. */
export interface LivePicture {
  readonly tables: LiveTables;
  readonly hello: ReadonlySignal<Hello | undefined>;
  readonly connection: ReadonlySignal<Connection>;
  /** How much of the first snapshot is there, from 0 to 1; 1 from then on. */
  readonly progress: ReadonlySignal<number>;
  /** Tries again at once; with a token if one was asked for. */
  retry(token?: string): void;
  /** Forgets the token and leaves. */
  leave(): void;
  /** Asks for something with this page's access. */
  get(path: string, signal: AbortSignal): Promise<Response>;
}

/** Connects, and stays connected for as long as the page is there. */
export function startLivePicture(clock: PageClock): LivePicture {
  let picture: Picture = emptyPicture;
  let token = takeAccessToken();
  let waiting: PictureEvent[] = [];
  let current = new AbortController();
  const connection = signal<Connection>(firstConnection);
  const hello = signal<Hello | undefined>(undefined);
  const progress = signal(0);
  const tables = {
    step: signal(picture.tables.step),
    rotationSet: signal(picture.tables.rotationSet),
    keySet: signal(picture.tables.keySet),
    checksum: signal(picture.tables.checksum),
    agent: signal(picture.tables.agent),
    issued: signal(picture.tables.issued),
    workload: signal(picture.tables.workload),
  };

  function show(): void {
    const events = waiting;
    waiting = [];
    for (const event of joinChanges(events)) picture = addToPicture(picture, event);
    const { incoming, complete } = picture;
    batch(() => {
      tables.step.value = picture.tables.step;
      tables.rotationSet.value = picture.tables.rotationSet;
      tables.keySet.value = picture.tables.keySet;
      tables.checksum.value = picture.tables.checksum;
      tables.agent.value = picture.tables.agent;
      tables.issued.value = picture.tables.issued;
      tables.workload.value = picture.tables.workload;
      hello.value = picture.hello;
      progress.value = complete ? 1 : incoming === undefined ? 0 : incoming.records.length / Math.max(1, incoming.total);
    });
  }

  function onEvent(event: PictureEvent): void {
    if (event.name === "hello") {
      clock.set(event.data.nowMs);
      step({ type: "opened", nowMs: clock.read() });
    }
    if (event.name === "tick") clock.set(event.data.nowMs);
    if (waiting.push(event) > 1) return;
    // A hidden page draws no frames, and must not hoard.
    if (document.hidden) setTimeout(show, 1000);
    else requestAnimationFrame(show);
  }

  function step(input: ConnectionInput): void {
    const before = connection.value;
    const after = stepConnection(before, input);
    connection.value = after;
    if (after.state === "connecting" && after !== before) void connect();
    if (after.state === "cut") setTimeout(() => connection.value === after && step({ type: "retry" }), after.retryAtMs - clock.read());
  }

  async function connect(): Promise<void> {
    current.abort();
    const mine = new AbortController();
    current = mine;
    // What is not shown yet is shown first, because where to go on depends on it.
    show();
    const end = await readStream({ token, lastEventId: picture.lastEventId, onEvent, signal: mine.signal });
    if (mine.signal.aborted) return;
    const input = inputOf(end);
    // Whoever may no longer look must not go on seeing what they saw.
    if (input.type !== "failed") forget();
    step(input);
  }

  function inputOf(end: StreamEnd): ConnectionInput {
    switch (end.type) {
      case "failed":
        return { type: "failed", nowMs: clock.read(), why: end.why, spread: Math.random() };
      case "unauthorized":
        return { type: "unauthorized", hadToken: token !== undefined };
      case "forbidden":
        return { type: "forbidden", message: end.message };
      case "sessionEnded":
      default:
        return { type: "sessionEnded" };
    }
  }

  function forget(): void {
    token = undefined;
    picture = emptyPicture;
    waiting = [];
    forgetAccessToken();
    show();
  }

  void connect();
  addEventListener("online", () => step({ type: "retry" }));
  // A frame that was asked for before the page was hidden does not come until it is shown again.
  document.addEventListener("visibilitychange", show);
  return {
    tables,
    hello,
    connection,
    progress,
    retry(given) {
      if (given !== undefined) {
        forget();
        token = given;
        keepAccessToken(given);
      }
      step({ type: "retry" });
    },
    leave() {
      current.abort();
      forget();
      step({ type: "unauthorized", hadToken: false });
    },
    get: (path, signal) => fetch(path, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` }, cache: "no-store", signal }),
  };
}
