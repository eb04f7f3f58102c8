// A tracer that remembers its spans, in place of an SDK.
import type { Attributes, Exception, Span, SpanStatus, Tracer } from "@opentelemetry/api";

/** A span as it was recorded. */
export interface Recorded {
  readonly name: string;
  attributes?: Attributes;
  status?: SpanStatus;
  exception?: Exception;
  ended: boolean;
}

/** As much of an SDK as `withSpan` can see. */
export function recordingTracer(): { readonly tracer: Tracer; readonly spans: Recorded[] } {
  const spans: Recorded[] = [];
  const startSpan = (name: string): Span => {
    const recorded: Recorded = { name, ended: false };
    spans.push(recorded);
    const span: Span = {
      spanContext: () => ({ traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", traceFlags: 1 }),
      isRecording: () => true,
      setAttribute: (name, value) => ((recorded.attributes = { ...recorded.attributes, [name]: value }), span),
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
