// One watch as the simulated API server serves it: a cursor into the store's history that turns changes into watch events.
import { apiVersionOf } from "../../client/kind.ts";
import type { View } from "./api-route.ts";
import type { Json, JsonObject } from "./json.ts";
import { withVersion } from "./object-store.ts";
import type { ObjectStore, StoreChange } from "./object-store.ts";
import type { Selector } from "./selector.ts";
import type { ServedKind } from "./served-kind.ts";
import { expired } from "./status-answer.ts";

/** What a watch was asked for. */
export interface WatchRequest {
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
export interface WatchOutput {
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
