// What went wrong between a command and the API server, in one sentence and at once: the address, what happened, what to do.
import { ConnectionError, isApiError, messageOf, missingRight, type Transport, type TransportRequest } from "@keyturn/runtime";

/** Nobody waits longer for an answer. */
const patienceMs = 10_000;

/** The API server cannot be reached. Not a `ConnectionError`: nothing is gained by another try right away. */
export class UnreachableError extends Error {
  readonly code = "Unreachable";
  override name = "UnreachableError";
  /** What happened, without the address. */
  readonly what: string;
  constructor(server: string, what: string, options?: ErrorOptions) {
    super(
      `cannot reach the API server at ${server}: ${what}; check that it is running, and that --kubeconfig and --context name the right cluster`,
      options,
    );
    this.what = what;
  }
}

/** The same transport for people who wait: a request that finds nobody, or gets no answer in time, fails at once. Watches go on as ever: they say themselves how they fare. */
export function impatientTransport(transport: Transport, { server, now }: { readonly server: string; readonly now: () => number }): Transport {
  return {
    async send(request: TransportRequest, signal) {
      if (request.lane === "watch") return transport.send(request, signal);
      const timeoutMs = Math.min(request.timeoutMs ?? patienceMs, patienceMs);
      const sentMs = now();
      try {
        return await transport.send({ ...request, timeoutMs }, signal);
      } catch (error) {
        if (!(error instanceof ConnectionError) || error.code !== "Connection") throw error;
        const what = now() - sentMs >= timeoutMs ? `no answer within ${timeoutMs / 1000} s` : whyUnreachable(error);
        throw new UnreachableError(server, what, { cause: error });
      }
    },
    close: () => transport.close(),
  };
}

/** By the system's codes. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "the connection was reset",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "no route to the network",
  ENOTFOUND: "the host name cannot be resolved",
  EAI_AGAIN: "the host name cannot be resolved now",
  ETIMEDOUT: "the connection timed out",
  EPROTO: "the server does not speak TLS",
};

/** The first cause whose code is known; otherwise the words of the error. */
function whyUnreachable(error: ConnectionError): string {
  const known = causesOf(error).find((cause) => "code" in cause && typeof cause.code === "string" && cause.code in reasons);
  if (known && "code" in known) return reasons[String(known.code)] ?? messageOf(error);
  const [innermost = error] = causesOf(error).toReversed();
  return messageOf(innermost);
}

/** The error and what it was caused by, outermost first. */
function causesOf(error: unknown): readonly Error[] {
  if (!(error instanceof Error)) return [];
  const causes: readonly unknown[] = error instanceof AggregateError ? error.errors : [error.cause];
  return [error, ...causes.flatMap(causesOf)];
}

/** An answer that means that the person has to do something first, in words for people; any other error as it is. */
export function inPlainWords(error: unknown, server: string): unknown {
  if (isApiError(error, "Unauthorized")) {
    return new Error(`the API server at ${server} does not accept your credentials; log in again, or choose another --context`, { cause: error });
  }
  if (!isApiError(error, "Forbidden")) return error;
  const right = missingRight(error);
  return right === undefined ? error : new Error(`you lack the right to ${right}; ask whoever manages access to ${server}`, { cause: error });
}
