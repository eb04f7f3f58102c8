// Lists and watches as the simulated API server serves them: pages, cursors into the store's history, and how events reach the client.
import type { Selector } from "../../cache/selectors.ts";
import { apiVersionOf } from "../../client/kind.ts";
import type { Clock, Timer } from "../../clock.ts";
import { type Json, type JsonObject, parseObject, withKey } from "../../json.ts";
import { chance, drawInt, type Random } from "../../random.ts";
import { type ObjectStore, type ServedKind, type StoreChange, withVersion } from "./object-store.ts";
import type { ServerAnswer, View } from "./simulated-api-server.ts";
import { badRequest, expired, type Refusal, tooLargeResourceVersion } from "./status-response.ts";
import type { FaultRates } from "./world-trouble.ts";

/** What a watch was asked for. */
interface WatchRequest {
  readonly served: ServedKind;
  readonly selects: Selector;
  readonly view: View;
  /** Events after this revision are sent. */
  readonly since: number;
  /** First send the collection at `since` as ADDED events. */
  readonly initialEvents: boolean;
  /** And mark their end with a bookmark. */
  readonly initialBookmark: boolean;
  readonly bookmarks: boolean;
  /** The server ends the stream after this. */
  readonly timeoutMs: number;
}

/** Lines to send, and whether the stream ends after them. */
interface WatchOutput {
  readonly lines: readonly string[];
  readonly ended: boolean;
}

/** A watch in progress. */
export class WatchSession {
  readonly request: WatchRequest;
  readonly #store: ObjectStore;
  #cursor: number;
  #initial: string[] | undefined;
  #ended = false;

  constructor(store: ObjectStore, request: WatchRequest) {
    this.#store = store;
    this.request = request;
    this.#cursor = request.since;
    this.#initial = request.initialEvents ? this.#initialLines() : undefined;
  }

  /** Everything that has become known since the last read. */
  read(): WatchOutput {
    if (this.#ended) return { lines: [], ended: true };
    const lines = this.#initial ?? [];
    this.#initial = undefined;
    if (this.#cursor < this.#store.compacted) {
      this.#ended = true;
      return {
        lines: [...lines, eventLine("ERROR", expired(`too old resource version: ${this.#cursor} (${this.#store.compacted})`).body)],
        ended: true,
      };
    }
    for (const change of this.#store.changesSince(this.request.served.resource, this.#cursor)) {
      const line = this.#changeLine(change);
      if (line !== undefined) lines.push(line);
    }
    this.#cursor = Math.max(this.#cursor, this.#store.revision);
    return { lines, ended: false };
  }

  /** A bookmark for what has been read; undefined if none was asked for or the server is behind the client. */
  bookmark(): string | undefined {
    return this.request.bookmarks && !this.#ended && this.#cursor <= this.#store.revision ? this.#bookmarkLine({}) : undefined;
  }

  #initialLines(): string[] {
    const { served, selects, view, initialBookmark } = this.request;
    const lines = this.#store
      .list(served.resource, this.#cursor)
      .flatMap(([, object]) => (selects(object) ? [eventLine("ADDED", view(object))] : []));
    if (initialBookmark) lines.push(this.#bookmarkLine({ annotations: { "k8s.io/initial-events-end": "true" } }));
    return lines;
  }

  #changeLine({ before, after, revision }: StoreChange): string | undefined {
    const { selects, view } = this.request;
    const was = before !== undefined && selects(before);
    const is = after !== undefined && selects(after);
    if (is) return eventLine(was ? "MODIFIED" : "ADDED", view(after));
    return was ? eventLine("DELETED", view(withVersion(before, revision))) : undefined;
  }

  #bookmarkLine(metadata: JsonObject): string {
    const { served, view } = this.request;
    const object = {
      kind: served.kind.kind,
      apiVersion: apiVersionOf(served.kind),
      metadata: { resourceVersion: String(this.#cursor), ...metadata },
    };
    return eventLine("BOOKMARK", view(object));
  }
}

/** One watch event as it goes over the wire. */
export function eventLine(type: string, object: Json): string {
  return `${JSON.stringify({ type, object })}\n`;
}

// How a watch's events reach the client: in order, but late, in lumps, never, or with the connection cut.

/** Between what and what a delivery stands. */
interface WatchDeliveryOptions {
  readonly session: WatchSession;
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly clientClock: Clock;
  readonly random: Random;
  readonly faults: () => FaultRates;
  /** True while nothing gets through to the client. */
  readonly isCutOff: () => boolean;
  readonly isOpen: () => boolean;
  readonly receive: (bytes: Uint8Array) => void;
  readonly end: () => void;
  readonly fail: (reason: string) => void;
}

/** The API server sends a bookmark about once a minute. */
const bookmarkEveryMs = 60_000;

/** Carries one watch's output to its client until either side ends it. */
export class WatchDelivery {
  readonly #options: WatchDeliveryOptions;
  readonly #timers: Timer[] = [];
  #unsubscribe: (() => void) | undefined;
  /** Nothing is handed over before this, so that events stay in order. */
  #notBeforeMs = 0;
  #isStalled = false;
  #isScheduled = false;

  constructor(options: WatchDeliveryOptions) {
    this.#options = options;
  }

  start(): void {
    const { store, session, clock } = this.#options;
    this.#unsubscribe = store.onChange(({ resource }) => {
      if (resource === session.request.served.resource) this.#schedule();
    });
    this.#timers.push(clock.setTimer(session.request.timeoutMs, () => this.#finish()));
    this.#everyMinute();
    this.#schedule();
  }

  #everyMinute(): void {
    const { clock, random } = this.#options;
    const timer = clock.setTimer(bookmarkEveryMs * (0.75 + random() / 4), () => {
      if (!this.#isAlive()) return;
      if (!chance(random, this.#options.faults().bookmarkWithheld)) this.#hand(() => this.#options.session.bookmark() ?? "");
      this.#timers.splice(this.#timers.indexOf(timer), 1);
      this.#everyMinute();
    });
    this.#timers.push(timer);
  }

  /** Several changes at once are read together: one delivery is enough for all that happened until it is made. */
  #schedule(): void {
    if (this.#isScheduled || this.#isStalled) return;
    this.#isScheduled = true;
    const { random, faults } = this.#options;
    const { watchDelay, watchDelayMs, watchStall, watchCut } = faults();
    const extraMs = chance(random, watchDelay) ? drawInt(random, watchDelayMs) : 0;
    if (chance(random, watchStall)) this.#isStalled = true;
    if (chance(random, watchCut)) this.#cutOff(chance(random, 0.5));
    else this.#hand(() => this.#read(), extraMs);
  }

  #read(): string {
    this.#isScheduled = false;
    const { lines, ended } = this.#options.session.read();
    if (ended) this.#hand(() => this.#finishNow());
    return lines.join("");
  }

  #cutOff(isClean: boolean): void {
    this.#hand(() => {
      if (isClean) return this.#finishNow();
      this.#close();
      this.#options.fail("connection reset");
      return "";
    });
  }

  #finish(): void {
    if (!this.#isAlive() || this.#isStalled) return;
    this.#hand(() => this.#read() + (this.#options.session.bookmark() ?? ""));
    this.#hand(() => this.#finishNow());
  }

  #finishNow(): string {
    this.#close();
    this.#options.end();
    return "";
  }

  /** Hands over what `produce` makes, at the time it arrives, unless the stream has gone silent by then. */
  #hand(produce: () => string, extraMs = 0): void {
    const { clock, clientClock, random, faults, receive, isCutOff } = this.#options;
    const arrivesMs = Math.max(this.#notBeforeMs, clock.monotonic() + drawInt(random, faults().latencyMs) + extraMs);
    this.#notBeforeMs = arrivesMs;
    clientClock.setTimer(arrivesMs - clock.monotonic(), () => {
      if (!this.#isAlive()) return;
      // A stream that loses a packet to a partition stays silent: nobody retransmits for as long as that lasts.
      if (isCutOff()) this.#isStalled = true;
      if (this.#isStalled) return;
      const text = produce();
      if (text !== "") receive(Buffer.from(text));
    });
  }

  #isAlive(): boolean {
    if (this.#options.isOpen()) return true;
    this.#close();
    return false;
  }

  #close(): void {
    this.#unsubscribe?.();
    for (const timer of this.#timers.splice(0)) timer.cancel();
  }
}

// The answer to a LIST: a page of a collection at one revision, with a token for the next page.

/** What was asked for. */
interface ListRequest {
  readonly served: ServedKind;
  readonly selects: Selector;
  readonly view: View;
  readonly isPartial: boolean;
  readonly query: URLSearchParams;
  /** The revision at which reads from the watch cache are served. */
  readonly cached: number;
}

interface PageStart {
  readonly revision: number;
  /** The first key is the one after this. */
  readonly after: string;
}

/** Serves the list. Pages of one list are all of the revision of the first. */
export function answerList(store: ObjectStore, list: ListRequest): ServerAnswer {
  const start = startOf(store, list);
  if ("code" in start) return { type: "answer", status: start.code, body: JSON.stringify(start.body) };
  const { served, selects, view, isPartial, query } = list;
  const rest = store.list(served.resource, start.revision).filter(([key, object]) => key > start.after && selects(object));
  const limit = Number(query.get("limit") ?? 0);
  const page = limit > 0 ? rest.slice(0, limit) : rest;
  const metadata: Record<string, Json> = { resourceVersion: String(start.revision) };
  const last = page.at(-1);
  if (last && page.length < rest.length) {
    metadata["continue"] = tokenOf({ revision: start.revision, after: last[0] });
    metadata["remainingItemCount"] = rest.length - page.length;
  }
  const type = isPartial
    ? { kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" }
    : { kind: `${served.kind.kind}List`, apiVersion: apiVersionOf(served.kind) };
  const items = page.map(([, object]) => (isPartial || served.typedItems ? view(object) : untyped(object)));
  return { type: "answer", status: 200, body: JSON.stringify({ ...type, metadata, items }) };
}

function startOf(store: ObjectStore, { query, cached }: ListRequest): PageStart | Refusal {
  const token = query.get("continue") ?? "";
  const version = query.get("resourceVersion") ?? "";
  if (token === "") {
    if (!/^\d*$/.test(version)) return badRequest(`invalid resource version "${version}"`);
    if (Number(version) > store.revision) return tooLargeResourceVersion(version, store.revision);
    if (query.get("resourceVersionMatch") === "Exact") {
      return Number(version) < store.compacted ? expired("The provided resource version is too old") : { revision: Number(version), after: "" };
    }
    return { revision: version === "" ? store.revision : Math.max(cached, Number(version)), after: "" };
  }
  const parsed = parseObject(Buffer.from(token, "base64url").toString());
  const { revision, after } = parsed ?? {};
  if (typeof revision !== "number" || typeof after !== "string") return badRequest("continue key is not valid");
  if (revision < store.compacted || revision > store.revision) {
    return expired(
      "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.",
    );
  }
  return { revision, after };
}

function tokenOf({ revision, after }: PageStart): string {
  return Buffer.from(JSON.stringify({ revision, after })).toString("base64url");
}

function untyped(object: JsonObject): JsonObject {
  return withKey(withKey(object, "kind", undefined), "apiVersion", undefined);
}
