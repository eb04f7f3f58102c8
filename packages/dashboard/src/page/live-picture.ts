// The picture that the server tells, live: the connection, tried again for ever, and what it brings.
import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import { believed, type Hello, type ObjectRecord, type StageRecord } from "../contract/index.ts";
import { doubtsOn } from "./doubt.ts";
import { readStream, type StreamEnd } from "./event-stream.ts";
import { forgetAccessToken, keepAccessToken, type PageClock, takeAccessToken } from "./page-state.ts";
import { addToPicture, emptyPicture, joinChanges, type Picture, type PictureEvent } from "./picture.ts";

// What the page knows about its connection, and what it does when that changes: one state machine, no timers of its own.

/** The states. `login` waits for a person; the others go on by themselves. */
export type Connection =
  | { readonly state: "connecting"; readonly attempt: number; readonly cutAtMs: number | undefined }
  /** `attempt` is how many tries it took. */
  | { readonly state: "live"; readonly sinceMs: number; readonly attempt: number }
  | { readonly state: "cut"; readonly attempt: number; readonly cutAtMs: number; readonly retryAtMs: number; readonly why: string }
  | { readonly state: "login"; readonly why: LoginReason; readonly message?: string };

/** Why somebody is asked for a token. */
export type LoginReason = "needed" | "wrong" | "refused" | "ended";

/** What can happen. */
type ConnectionInput =
  | { readonly type: "opened"; readonly nowMs: number }
  /** `heardMs` is when the last byte came. `spread` is a number from 0 to 1, so that a thousand pages do not come back at once. */
  | { readonly type: "failed"; readonly nowMs: number; readonly heardMs: number; readonly why: string; readonly spread: number }
  | { readonly type: "unauthorized"; readonly hadToken: boolean }
  /** With what the server says about it. */
  | { readonly type: "forbidden"; readonly message: string }
  | { readonly type: "sessionEnded" }
  /** The time for another try has come, somebody asked for it, or gave a token. */
  | { readonly type: "retry" };

export const firstConnection: Connection = { state: "connecting", attempt: 0, cutAtMs: undefined };

const firstPauseMs = 500;
const maxPauseMs = 15_000;
const steadyMs = 10_000;

/** How long to wait before try number `attempt`, counted from 0: doubling up to a quarter of a minute, spread by half. */
export function pauseMs(attempt: number, spread: number): number {
  const most = Math.min(maxPauseMs, firstPauseMs * 2 ** attempt);
  return most / 2 + (most / 2) * spread;
}

/** The state after an input. */
export function stepConnection(connection: Connection, input: ConnectionInput): Connection {
  switch (input.type) {
    case "opened":
      return { state: "live", sinceMs: input.nowMs, attempt: connection.state === "connecting" ? connection.attempt : 0 };
    case "failed":
      return cut(connection, input);
    case "unauthorized":
      return { state: "login", why: input.hadToken ? "wrong" : "needed" };
    case "forbidden":
      return { state: "login", why: "refused", message: input.message };
    case "sessionEnded":
      return { state: "login", why: "ended" };
    case "retry":
    default:
      return retry(connection);
  }
}

function cut(connection: Connection, { nowMs, heardMs, why, spread }: Extract<ConnectionInput, { type: "failed" }>): Connection {
  const cutAtMs = connection.state === "connecting" ? (connection.cutAtMs ?? heardMs) : heardMs;
  const attempt = attemptAfter(connection, nowMs);
  return { state: "cut", attempt, cutAtMs, retryAtMs: nowMs + pauseMs(attempt, spread), why };
}

/** A connection that held for a while was a good one. One that breaks at once counts as another failed try, or a server that is unwell would never be left alone. */
function attemptAfter(connection: Connection, nowMs: number): number {
  if (connection.state === "live") return nowMs - connection.sinceMs < steadyMs ? connection.attempt + 1 : 0;
  return connection.state === "connecting" ? connection.attempt : 0;
}

function retry(connection: Connection): Connection {
  switch (connection.state) {
    case "cut":
      return { state: "connecting", attempt: connection.attempt + 1, cutAtMs: connection.cutAtMs };
    case "login":
      return firstConnection;
    case "connecting":
    case "live":
    default:
      return connection;
  }
}

// The connection at work: reads the stream, tries again after a cut, and brings what it sends into signals once per frame.

const none: readonly ObjectRecord[] = [];

/** The records of a table as far as they can be believed; the same array if all of them can. */
export function believedTable(records: readonly ObjectRecord[], stages: readonly StageRecord[], connection: Connection): readonly ObjectRecord[] {
  const [first] = records;
  const doubts = first
    ? doubtsOn(
        connection,
        stages.find(({ step }) => step === first.step),
      )
    : [];
  return doubts.some(({ outdates }) => outdates !== undefined) ? records.map((record) => believed(record, doubts)) : records;
}

/** What the server tells, live. */
export interface LivePicture {
  readonly stages: ReadonlySignal<readonly StageRecord[]>;
  /** The records of a table as far as they can be believed. A signal each, so that a change concerns only who shows that table. */
  table(name: string): readonly ObjectRecord[];
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
  let heardMs = clock.read();
  const connection = signal<Connection>(firstConnection);
  const hello = signal<Hello | undefined>(undefined);
  const progress = signal(0);
  const stages = signal(picture.tables.stages);
  const objects = signal(picture.tables.objects);
  const tables = new Map<string, ReadonlySignal<readonly ObjectRecord[]>>();
  const tableOf = (name: string): ReadonlySignal<readonly ObjectRecord[]> => {
    const told = computed(() => objects.value.get(name) ?? none);
    return computed(() => believedTable(told.value, stages.value, connection.value));
  };

  function show(): void {
    const events = waiting;
    waiting = [];
    for (const event of joinChanges(events)) picture = addToPicture(picture, event);
    const { incoming, complete } = picture;
    batch(() => {
      stages.value = picture.tables.stages;
      objects.value = picture.tables.objects;
      hello.value = picture.hello;
      progress.value = complete ? 1 : incoming === undefined ? 0 : incoming.records.length / Math.max(1, incoming.total);
    });
  }

  function onEvent(event: PictureEvent): void {
    if (event.name === "hello") {
      clock.set(event.data.nowMs);
      heardMs = clock.read();
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
    const onHeard = (): void => {
      heardMs = clock.read();
    };
    const end = await readStream({ token, lastEventId: picture.lastEventId, onEvent, onHeard, signal: mine.signal });
    if (mine.signal.aborted) return;
    const input = inputOf(end);
    // Whoever may no longer look must not go on seeing what they saw.
    if (input.type !== "failed") forget();
    step(input);
  }

  function inputOf(end: StreamEnd): ConnectionInput {
    switch (end.type) {
      case "failed":
        return { type: "failed", nowMs: clock.read(), heardMs, why: end.why, spread: Math.random() };
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
    stages,
    table(name) {
      const table = tables.get(name) ?? tableOf(name);
      tables.set(name, table);
      return table.value;
    },
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
