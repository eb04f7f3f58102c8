// Spans with a provider of our own in place of an SDK, and without any.
import { SpanStatusCode, context, trace } from "@opentelemetry/api";
import type { Attributes, Exception, Span, SpanStatus, Tracer } from "@opentelemetry/api";
import { describe, expect, test } from "vitest";
import { runtimeTracer, withSpan } from "./tracing.ts";

interface Recorded {
  readonly name: string;
  attributes?: Attributes;
  status?: SpanStatus;
  exception?: Exception;
  ended: boolean;
}

/** As much of an SDK as `withSpan` can see. */
function recordingTracer(): { readonly tracer: Tracer; readonly spans: Recorded[] } {
  const spans: Recorded[] = [];
  const startSpan = (name: string): Span => {
    const recorded: Recorded = { name, ended: false };
    spans.push(recorded);
    const span: Span = {
      spanContext: () => ({ traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", traceFlags: 1 }),
      isRecording: () => true,
      setAttribute: () => span,
      setAttributes: (attributes) => ((recorded.attributes = attributes), span),
      addEvent: () => span,
      addLink: () => span,
      addLinks: () => span,
      setStatus: (status) => ((recorded.status = status), span),
      updateName: () => span,
      end: () => void (recorded.ended = true),
      recordException: (exception) => void (recorded.exception = exception),
    };
    return span;
  };
  return {
    spans,
    tracer: {
      startSpan,
      startActiveSpan: () => {
        throw new Error("not used");
      },
    },
  };
}

describe("withSpan", () => {
  test("ends the span with what it wraps", async () => {
    const { tracer, spans } = recordingTracer();
    expect(await withSpan(tracer, "reconcile", { key: "shop/web", note: "password=hunter2" }, async () => 5)).toBe(5);
    expect(spans).toEqual([{ name: "reconcile", attributes: { key: "shop/web", note: "password=[redacted]" }, ended: true }]);
  });

  test("marks a failure without secrets and throws it on", async () => {
    const { tracer, spans } = recordingTracer();
    const failure = new Error("refused token=abc123def");
    await expect(withSpan(tracer, "reconcile", {}, () => Promise.reject(failure))).rejects.toBe(failure);
    expect(spans[0]).toMatchObject({
      status: { code: SpanStatusCode.ERROR, message: "refused token=[redacted]" },
      exception: { message: "refused token=[redacted]" },
      ended: true,
    });
  });

  test("without an SDK calls through with a span that records nothing", async () => {
    const before = context.active();
    const result = await withSpan(runtimeTracer(), "reconcile", {}, (span) =>
      Promise.resolve([span.isRecording(), context.active() === before, trace.getActiveSpan()]),
    );
    expect(result).toEqual([false, true, undefined]);
  });
});
