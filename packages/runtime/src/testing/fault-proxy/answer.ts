// Faults that answer in the API server's place, with the `Status` that it would send.
import type { Fault, FaultScope, ProxyResponse } from "./fault.ts";
import { scopeOf } from "./fault.ts";

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
