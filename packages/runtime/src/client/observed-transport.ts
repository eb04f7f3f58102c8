// A transport that tells somebody about every request, for metrics.
import type { Clock } from "../clock.ts";
import { requestInfoOf } from "./request-info.ts";
import type { Transport, TransportRequest } from "./transport.ts";

/** A request that was answered, or could not be. */
export interface RequestObservation {
  readonly method: TransportRequest["method"];
  /** `plural.group`; empty for paths that are no resource. */
  readonly resource: string;
  readonly verb: string;
  /** The HTTP status; undefined if there was no answer. */
  readonly status: number | undefined;
  /** From sending to the response's headers. */
  readonly durationMs: number;
}

/** What to tell, and by which clock. */
export interface ObserveOptions {
  readonly clock: Clock;
  readonly onRequest: (observation: RequestObservation) => void;
}

/** Sends through `transport` and reports each request once, when its headers are there or it has failed. */
export function observeTransport(transport: Transport, { clock, onRequest }: ObserveOptions): Transport {
  return {
    async send(request, signal) {
      const { verb, resource } = requestInfoOf(request.method, request.path);
      const startMs = clock.monotonic();
      const report = (status: number | undefined): void =>
        onRequest({ method: request.method, resource, verb, status, durationMs: clock.monotonic() - startMs });
      try {
        const response = await transport.send(request, signal);
        report(response.status);
        return response;
      } catch (error) {
        report(undefined);
        throw error;
      }
    },
    close: () => transport.close(),
  };
}
