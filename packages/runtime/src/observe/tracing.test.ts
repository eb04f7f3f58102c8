// Spans with a provider of our own in place of an SDK, and without any.
import { SpanStatusCode, context, trace } from "@opentelemetry/api";
import { describe, expect, test } from "vitest";
import { recordingTracer } from "./recording-tracer.fixture.ts";
import { runtimeTracer, withSpan } from "./tracing.ts";

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
