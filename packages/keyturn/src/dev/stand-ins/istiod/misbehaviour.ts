// The ways in which a control plane can fail its callers.
import type { ServerResponse } from "node:http";
import { answer, reviewOf } from "./answer.ts";

/** What to do instead of answering properly. */
export type Misbehaviour =
  /** `allowed: false`, with a message or without any status. */
  | { readonly type: "refuse"; readonly message?: string }
  | { readonly type: "status"; readonly code: number }
  /** Takes the question and never answers. */
  | { readonly type: "silence" }
  /** Begins an answer and never ends it. */
  | { readonly type: "halfAnswer" }
  /** Closes the connection instead of answering. */
  | { readonly type: "hangUp" }
  | { readonly type: "text"; readonly text: string }
  /** An answer of this many bytes. */
  | { readonly type: "huge"; readonly bytes: number }
  /** A proper answer with these fields of its response changed. */
  | { readonly type: "alter"; readonly response: Readonly<Record<string, unknown>> };

/** Fails a caller who should have got `proper`. */
export function fail(response: ServerResponse, how: Misbehaviour, proper: { readonly uid: string }): void {
  const { uid } = proper;
  switch (how.type) {
    case "refuse":
      return answer(response, 200, reviewOf({ uid, allowed: false, ...(how.message !== undefined && { status: { message: how.message } }) }));
    case "status":
      return answer(response, how.code, "out of order\n");
    case "halfAnswer":
      return void response.writeHead(200, { "content-type": "application/json" }).write('{"kind":');
    case "hangUp":
      return void response.destroy();
    case "text":
      return answer(response, 200, how.text);
    case "huge":
      return answer(response, 200, " ".repeat(how.bytes));
    case "alter":
      return answer(response, 200, reviewOf({ ...proper, ...how.response }));
    case "silence":
    default:
  }
}
