// Spans through the OpenTelemetry API alone: whoever registers an SDK gets them, everyone else pays nothing.
import { ProxyTracerProvider, SpanStatusCode, context, isSpanContextValid, trace } from "@opentelemetry/api";
import type { Attributes, Span, Tracer } from "@opentelemetry/api";
import { errorFields, errorLine } from "./error-fields.ts";
import { redactText } from "./redact.ts";

const tracerName = "@keyturn/runtime";

/** The tracer under which the runtime's spans appear. */
export function runtimeTracer(version?: string): Tracer {
  return trace.getTracer(tracerName, version);
}

/** True if an SDK has been registered, so that somebody gets the spans. */
export function isTracing(): boolean {
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer(tracerName) !== undefined;
}

/**
 * Runs `fn` within a span that ends with it; what `fn` throws marks the span as failed and is thrown on. Texts are redacted.
 * Without a registered SDK `fn` is called directly, with a span that records nothing.
 */
export async function withSpan<T>(tracer: Tracer, name: string, attributes: Attributes, fn: (span: Span) => Promise<T>): Promise<T> {
  const span = tracer.startSpan(name);
  if (!isSpanContextValid(span.spanContext())) return fn(span);
  if (span.isRecording()) span.setAttributes(safeAttributes(attributes));
  try {
    return await context.with(trace.setSpan(context.active(), span), fn, undefined, span);
  } catch (error) {
    const { type, code, message } = errorFields(error);
    span.recordException({ name: type, message, ...(code !== undefined && { code }) });
    span.setStatus({ code: SpanStatusCode.ERROR, message: errorLine(error) });
    throw error;
  } finally {
    span.end();
  }
}

function safeAttributes(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, typeof value === "string" ? redactText(value) : value]));
}
