// A transport that makes a span of every request but watches, whose end says nothing.
import type { Tracer } from "@opentelemetry/api";
import { requestInfoOf } from "../client/request-info.ts";
import type { Transport } from "../client/transport.ts";
import { withSpan } from "./tracing.ts";

/** Sends through `transport`, each request within a span named after its verb and resource. */
export function traceTransport(transport: Transport, tracer: Tracer): Transport {
  return {
    send(request, signal) {
      if (request.lane === "watch") return transport.send(request, signal);
      const { verb, resource } = requestInfoOf(request.method, request.path);
      return withSpan(tracer, `${verb} ${resource}`, { "http.request.method": request.method }, async (span) => {
        const response = await transport.send(request, signal);
        span.setAttribute("http.response.status_code", response.status);
        return response;
      });
    },
    close: () => transport.close(),
  };
}
