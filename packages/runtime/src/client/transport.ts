// The seam between the runtime and the wire: a real HTTP connection, the fault proxy's, or a simulated API server.
import type { Kind } from "./kind.ts";

/** Requests on different lanes never share a socket: a busy or stalled lane cannot delay another. */
export type Lane = "call" | "watch" | "lease";

/**
 * The right to send a write, for as long as it lasts.
 *
 * It is asked for when the bytes are about to go out, not when the request is made: in between it may have waited for credentials or for a socket.
 */
export interface SendPermit {
  /**
   * Aborts when the right has ended. What has not been sent then never is, what has been sent in part is broken off, and what has been sent is called
   * back as far as the kernel still can; all of them reject with the signal's reason.
   */
  readonly signal: AbortSignal;
  /** Throws if the right has ended, whether or not the signal says so yet. The request is then not sent, and rejects with what is thrown. */
  check(): void;
}

/** In whose name a client sends. */
export interface Sender {
  /** Requests of one flow wait for each other if there are too many of them, and never for those of another. */
  readonly flow: string;
  /** What writes need. Default: nothing. */
  readonly permit?: SendPermit;
  /** True for kinds of which a write is answered with the whole object, whatever less is asked for: its fields must be known. Default none. */
  readonly answersWhole?: (kind: Kind) => boolean;
}

/** One HTTP request to the API server. */
export interface TransportRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query, starting with a slash. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Default `call`. */
  readonly lane?: Lane;
  /** See `Sender`. Default: the flow of all who have no other. */
  readonly flow?: string;
  /** See `SendPermit`. Default: may be sent at any time. */
  readonly permit?: SendPermit;
  /**
   * From sending to the response's headers, default 30,000; unless it is a GET, to the end of its body, which is small. The body of a GET may take longer,
   * but not stand still for that long; on the lane of watches it may, and the caller aborts.
   */
  readonly timeoutMs?: number;
}

/** What came back. A caller that does not read `body` to its end must abort the request's signal. */
export interface TransportResponse {
  readonly status: number;
  /** Lower-case header names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body in the chunks in which it arrived. Ends with an error if the connection breaks before the body's end. */
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * Sends a request and resolves when the response's headers are there; every HTTP status is a response, not an error.
 * Rejects with a `ConnectionError` when no response could be had, and with the signal's reason when it aborts.
 */
export interface Transport {
  send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse>;
  /** Closes idle sockets and aborts open ones. */
  close(): void;
}

/** No HTTP response: refused, reset, timed out, TLS or name resolution failed. Always worth a retry. */
export class ConnectionError extends Error {
  readonly code: "Connection" | "AnswerTooLong" = "Connection";
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ConnectionError";
  }
}

/** What of an answer has a limit: its head, an event of a watch, the whole of a body that is read in one piece. */
type LimitedPart = "head" | "event" | "body";

/** What a server may send at most; more is an `AnswerTooLongError`. The defaults are far above what an API server sends, which stores a few MiB of an object. */
export interface AnswerLimits {
  /** The head of an answer, and its trailers. Default 256 KiB. */
  readonly maxHeadBytes?: number;
  /** One event of a watch. Default 32 MiB. */
  readonly maxEventBytes?: number;
  /** An answer that is read in one piece: an object, a page of a list. Default 128 MiB. */
  readonly maxBodyBytes?: number;
}

/** The server sent more than it may. The connection is given up, and the rest is not read: no server can take more memory than the limits allow. */
export class AnswerTooLongError extends ConnectionError {
  override readonly code = "AnswerTooLong";
  readonly part: LimitedPart;
  readonly maxBytes: number;
  constructor(part: LimitedPart, maxBytes: number, attempt?: string) {
    const what = { head: "the answer's head", event: "an event of the watch", body: "the answer" }[part];
    const option = { head: "maxHeadBytes", event: "maxEventBytes", body: "maxBodyBytes" }[part];
    super(`${attempt === undefined ? "" : `${attempt}: `}${what} is longer than ${maxBytes} bytes: ask for less or raise ${option}`);
    this.name = "AnswerTooLongError";
    this.part = part;
    this.maxBytes = maxBytes;
  }
}

// Waiting for shared work only as long as the one who waits wants to.

/** Settles as `work` does, or rejects with the reason of the first signal to abort; the work itself goes on for others. */
export function abortRace<T>(work: Promise<T>, ...signals: readonly (AbortSignal | undefined)[]): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (event: Event): void => settle(() => reject(event.target instanceof AbortSignal ? event.target.reason : undefined));
    const settle = (how: () => void): void => {
      for (const signal of signals) signal?.removeEventListener("abort", onAbort);
      how();
    };
    work.then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    );
    for (const signal of signals) {
      if (signal?.aborted) return settle(() => reject(signal.reason));
      signal?.addEventListener("abort", onAbort, { once: true });
    }
  });
}
