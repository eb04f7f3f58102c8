// Faults inside a watch: events that the API server sent and the client never gets.
import { scopeOf } from "./fault.ts";
import type { Fault, FaultScope } from "./fault.ts";

/** An event as it stands on a line of a watch. */
export interface WatchLine {
  readonly type: string;
  readonly object: {
    readonly kind?: string;
    readonly metadata?: {
      readonly name?: string;
      readonly namespace?: string;
      readonly resourceVersion?: string;
      readonly annotations?: Readonly<Record<string, string>>;
    };
  };
}

/** Drops the events that `isDropped` picks from watches opened after this. A `times` in the scope counts watches. */
export function dropEvents(isDropped: (event: WatchLine) => boolean, scope: FaultScope = {}): Fault {
  return {
    ...scopeOf({ ...scope, watch: true }),
    async intervene(request, next) {
      const response = await next(request);
      return response.status === 200 ? { ...response, body: withoutEvents(response.body, isDropped) } : response;
    },
  };
}

/** Drops the bookmark that ends the initial events, so that a WatchList never completes. */
export function withholdEndBookmark(scope: FaultScope = {}): Fault {
  return dropEvents(({ type, object }) => type === "BOOKMARK" && object.metadata?.annotations?.["k8s.io/initial-events-end"] === "true", scope);
}

async function* withoutEvents(body: AsyncIterable<Uint8Array>, isDropped: (event: WatchLine) => boolean): AsyncGenerator<Uint8Array> {
  const newline = 0x0a;
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of body) {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline)) {
      const line = rest.subarray(0, end + 1);
      rest = rest.subarray(end + 1);
      if (!isDropped(JSON.parse(line.toString()) as WatchLine)) yield line;
    }
  }
  if (rest.length > 0) yield rest;
}
