// Faults: what can stand between a request and its response.
import { type Clock, sleep, systemClock } from "../../clock.ts";
import type { ProxiedRequest, RequestMatch } from "./exchange.ts";

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

// Faults that answer in the API server's place, with the `Status` that it would send.

/** The refusals that can be had, with the reason the API server gives. */
const reasons = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Expired",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
} as const;

/** An HTTP status that the proxy can answer with. */
export type RefusalStatus = keyof typeof reasons;

/** What a refusal says. */
export interface Refusal {
  readonly status: RefusalStatus;
  /** Sent as the header `Retry-After` and in the body. Default none. */
  readonly retryAfterSeconds?: number;
  /** Default a sentence that names the fault proxy. */
  readonly message?: string;
}

/** Answers matching requests with a refusal; they do not reach the API server. */
export function answerWith(refusal: Refusal, scope: FaultScope = {}): Fault {
  return { ...scopeOf(scope), intervene: () => Promise.resolve(refusalResponse(refusal)) };
}

/** Opens matching watches and ends them with an `ERROR` event, as the API server does when a watch cannot go on. */
export function endWatchWith(refusal: Refusal, scope: FaultScope = {}): Fault {
  const event = { type: "ERROR", object: statusOf(refusal) };
  return { ...scopeOf({ ...scope, watch: true }), intervene: () => Promise.resolve(jsonResponse(200, `${JSON.stringify(event)}\n`)) };
}

/** Refuses watches that ask for `sendInitialEvents`, in the words of an API server that has WatchList turned off (it answers 422). */
export function refuseSendInitialEvents(options: { readonly status?: 400 | 422 } & FaultScope = {}): Fault {
  const { status = 422, ...scope } = options;
  const field = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
  const message = `ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: ${field}`;
  return answerWith({ status, message }, { ...scope, watch: true, path: /[?&]sendInitialEvents=true/ });
}

function refusalResponse(refusal: Refusal): ProxyResponse {
  const { retryAfterSeconds } = refusal;
  const response = jsonResponse(refusal.status, JSON.stringify(statusOf(refusal)));
  return retryAfterSeconds === undefined ? response : { ...response, headers: { ...response.headers, "retry-after": String(retryAfterSeconds) } };
}

function statusOf({ status, retryAfterSeconds, message }: Refusal): object {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: message ?? `the fault proxy answers ${status}`,
    reason: reasons[status],
    ...(retryAfterSeconds !== undefined && { details: { retryAfterSeconds } }),
    code: status,
  };
}

function jsonResponse(status: number, text: string): ProxyResponse {
  return { status, headers: { "content-type": "application/json" }, body: onceOf(Buffer.from(text)) };
}

async function* onceOf(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(chunk);
}

// A fault that breaks connections at a chosen point of an exchange.

/** When to cut: the API server has not heard of the request; it has acted on it and the client hears nothing; the client has got that many bytes of the answer. */
export type CutPoint = "before" | "after" | { readonly bytes: number };

/** Cuts the connections of matching requests. */
export function cutAt(point: CutPoint, scope: FaultScope = {}): Fault {
  return {
    ...scopeOf(scope),
    async intervene(request, next) {
      if (point === "before") throw new CutConnection();
      const response = await next(request);
      if (point === "after") throw new CutConnection();
      return { ...response, body: firstBytes(response.body, point.bytes) };
    },
  };
}

async function* firstBytes(body: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const chunk of body) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) throw new CutConnection();
  }
}

// A fault that makes the way to the API server long.

/** Passes matching requests on only after `delayMs`. */
export function delayBy(delayMs: number, scope: FaultScope = {}, clock: Clock = systemClock): Fault {
  return {
    ...scopeOf(scope),
    async intervene(request, next) {
      await sleep(clock, delayMs);
      return next(request);
    },
  };
}
