// The requests that the stand-in for IAS answers, by name, and what can go wrong with each, as data.
import { empty, type IasAnswer, json } from "./ias-protocol.ts";

/** One kind of request. */
export type IasStep = "find" | "create" | "read" | "delete" | "create-secret" | "list-secrets" | "delete-secret" | "discover" | "token" | "jwks";

/** A request's step, and the application that its path names. */
export interface IasRoute {
  readonly step: IasStep;
  readonly applicationId?: string;
}

const collection = "/Applications/v1";

/** What a request asks for; undefined for anything that IAS does not have. */
export function routeOf(method: string, path: string): IasRoute | undefined {
  if (method === "GET" && path === "/.well-known/openid-configuration") return { step: "discover" };
  if (method === "GET" && path === "/oauth2/certs") return { step: "jwks" };
  if (method === "POST" && path === "/oauth2/token") return { step: "token" };
  if (path === collection || path === `${collection}/`) return stepOf(method, { GET: "find", POST: "create" });
  const [id, part, ...more] = path.startsWith(`${collection}/`) ? path.slice(collection.length + 1).split("/") : [];
  if (!id || more.length > 0) return undefined;
  if (part === undefined) return stepOf(method, { GET: "read", DELETE: "delete" }, id);
  if (part === "apiSecrets") return stepOf(method, { GET: "list-secrets", POST: "create-secret", DELETE: "delete-secret" }, id);
  return undefined;
}

function stepOf(method: string, steps: Readonly<Record<string, IasStep>>, applicationId?: string): IasRoute | undefined {
  const step = steps[method];
  return step && { step, ...(applicationId !== undefined && { applicationId }) };
}

/**
 * A way to fail. All but `lost-answer`, `truncated`, `slow` and `mixed-up` leave the state as it was.
 * - `status`: an error answer, by default with IAS's error body; `retryAfter` becomes the header.
 * - `hang`: no answer for as long as the client waits.
 * - `cut`: the connection is closed without an answer.
 * - `lost-answer`: the request has its effect, then the connection is closed without an answer.
 * - `truncated`: the request has its effect, and half of the answer's body arrives.
 * - `slow`: the right answer, later.
 * - `html`: a page of a proxy in between, with status 200.
 * - `body`: an answer with another body, by default of JSON's type and with status 200.
 * - `redirect`: to another address.
 * - `mixed-up`: the request has its effect, and the answer names another thing than was made.
 */
export type IasFailure =
  | { readonly type: "status"; readonly status: number; readonly body?: unknown; readonly retryAfter?: string }
  | { readonly type: "hang" }
  | { readonly type: "cut" }
  | { readonly type: "lost-answer" }
  | { readonly type: "truncated" }
  | { readonly type: "slow"; readonly delayMs: number }
  | { readonly type: "html" }
  | { readonly type: "body"; readonly text: string; readonly contentType?: string; readonly status?: number }
  | { readonly type: "redirect"; readonly location: string }
  | { readonly type: "mixed-up"; readonly location: string };

/** A failure that was switched on. */
export interface ActiveFailure {
  /** How many requests it has met. */
  readonly hits: number;
  stop(): void;
}

interface Entry {
  readonly step: IasStep;
  readonly failure: IasFailure;
  left: number;
  hits: number;
}

/** The failures that are switched on, first come, first met. */
export class Failures {
  #entries: readonly Entry[] = [];

  /** Lets the next `times` requests of a step fail; by default all of them until stopped. */
  add(step: IasStep, failure: IasFailure, times = Infinity): ActiveFailure {
    const entry: Entry = { step, failure, left: times, hits: 0 };
    this.#entries = [...this.#entries, entry];
    return {
      get hits() {
        return entry.hits;
      },
      stop: () => (this.#entries = this.#entries.filter((other) => other !== entry)),
    };
  }

  /** What happens to a request of this step; undefined if nothing does. */
  take(step: IasStep): IasFailure | undefined {
    const entry = this.#entries.find((candidate) => candidate.step === step && candidate.left > 0);
    if (!entry) return undefined;
    entry.left--;
    entry.hits++;
    return entry.failure;
  }

  clear(): void {
    this.#entries = [];
  }
}

/** The answer that a failure gives instead of the right one; undefined where there is none, or the right one comes after all. */
export function answerInstead(failure: IasFailure): IasAnswer | undefined {
  if (failure.type === "html") return page;
  if (failure.type === "redirect") return empty(302, { location: failure.location });
  if (failure.type === "body") {
    return { status: failure.status ?? 200, headers: { "content-type": failure.contentType ?? "application/json" }, body: failure.text };
  }
  if (failure.type !== "status") return undefined;
  const { status, body = { code: status, message: "This failure was asked for." }, retryAfter } = failure;
  return json(status, body, retryAfter === undefined ? {} : { "retry-after": retryAfter });
}

const page: IasAnswer = { status: 200, headers: { "content-type": "text/html" }, body: "<html><body>Please log in to the proxy.</body></html>" };
