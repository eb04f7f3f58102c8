// The addresses of the server, below the page's own. All are GET.
import type { ObjectRef } from "./record.ts";

/** `Session`. */
export const sessionPath = "api/session";

/**
 * Server-sent events, see `StreamEvents`. Wants `Authorization: Bearer …` (the token, or the secret from the page's address), which an EventSource cannot send:
 * the page reads the stream with `fetch`. With `Last-Event-ID` it goes on after that event; only `changes`, `tick` and the last `snapshot` have an id.
 */
export const eventStreamPath = "api/stream";

/** `ObjectDetail` of one object; wants the same header. */
export function objectPath({ resource, namespace, name }: Pick<ObjectRef, "resource" | "namespace" | "name">): string {
  return `api/object?${new URLSearchParams({ resource, namespace, name }).toString()}`;
}
