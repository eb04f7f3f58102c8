// An error as the few fields that a log line needs, with its causes and without secrets.
import { redactAndCut, redactText } from "./redact.ts";

/** What is logged of an error. */
export interface ErrorFields {
  readonly type: string;
  readonly code?: string;
  readonly reason?: string;
  readonly message: string;
  /** Only for errors without a code: those are bugs, and their place matters. */
  readonly stack?: string;
  readonly cause?: ErrorFields;
  /** The first few errors of an AggregateError. */
  readonly errors?: readonly ErrorFields[];
}

const longestChain = 8;
const mostErrors = 5;
const longestMessage = 2000;

/** The fields of an error or of whatever else was thrown. Never throws. */
export function errorFields(thrown: unknown, depth = 0): ErrorFields {
  if (!(thrown instanceof Error)) return { type: typeof thrown, message: redactAndCut(describe(thrown), longestMessage) };
  const code = textOf(thrown, "code");
  const reason = textOf(thrown, "reason");
  const deeper = depth + 1 < longestChain;
  return {
    type: thrown.name,
    ...(code !== undefined && { code }),
    ...(reason !== undefined && { reason }),
    message: redactAndCut(thrown.message, longestMessage),
    ...(code === undefined && typeof thrown.stack === "string" && { stack: redactText(framesOf(thrown.stack)) }),
    ...(deeper && thrown.cause !== undefined && { cause: errorFields(thrown.cause, depth + 1) }),
    ...(deeper && thrown instanceof AggregateError && { errors: thrown.errors.slice(0, mostErrors).map((error) => errorFields(error, depth + 1)) }),
  };
}

function textOf(error: Error, name: string): string | undefined {
  const value: unknown = Reflect.get(error, name);
  return typeof value === "string" ? redactText(value) : typeof value === "number" ? String(value) : undefined;
}

function describe(thrown: unknown): string {
  if (typeof thrown === "string") return thrown;
  try {
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return "a value that cannot be printed was thrown";
  }
}

/** The frames alone: the message stands in a field of its own. */
function framesOf(stack: string): string {
  const first = stack.search(/^\s+at /m);
  return first < 0 ? "" : stack.slice(first).split("\n", 12).join("\n");
}
