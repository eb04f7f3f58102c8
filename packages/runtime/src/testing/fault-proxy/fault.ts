// What a fault is: something that stands between a request and its answer.
import type { ProxiedRequest, RequestMatch } from "./proxied-request.ts";

/** An answer on its way back. */
export interface ProxyResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** Gives a request its answer. Throws `CutConnection` to break the connection instead. */
export type Handler = (request: ProxiedRequest) => Promise<ProxyResponse>;

/** A disturbance of the requests it matches. */
export interface Fault {
  /** Which requests it is about. */
  readonly on: RequestMatch;
  /** How many of them; after that it does nothing. Default all. */
  readonly times?: number;
  /** Answers the request itself, or passes it on to `next` and changes what comes back. */
  intervene(request: ProxiedRequest, next: Handler): Promise<ProxyResponse>;
}

/** Which requests a ready-made fault is about. */
export interface FaultScope extends RequestMatch {
  /** How many of them; default all. */
  readonly times?: number;
}

/** Thrown by a handler: the client's connection is broken off without an answer, or in the middle of one. */
export class CutConnection extends Error {
  readonly code = "CutConnection";
  constructor(message = "the fault proxy cuts this connection") {
    super(message);
    this.name = "CutConnection";
  }
}

/** Splits a scope into the parts of a fault. */
export function scopeOf({ times, ...on }: FaultScope): Pick<Fault, "on" | "times"> {
  return times === undefined ? { on } : { on, times };
}
