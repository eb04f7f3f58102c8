// The seam between the runtime and the wire: a real HTTP connection, the fault proxy's, or a simulated API server.

/** Requests on different lanes never share a socket: a busy or stalled lane cannot delay another. */
export type Lane = "call" | "watch" | "lease";

/** One HTTP request to the API server. */
export interface TransportRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query, starting with a slash. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Default `call`. */
  readonly lane?: Lane;
  /**
   * From sending to the response's headers, default 30,000; unless it is a GET, to the end of its body, which is small. The body of a GET has no
   * deadline: the caller aborts.
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
  readonly code = "Connection";
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ConnectionError";
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
