// Lets viewers in whose token is good, and slows those down who try others.
import { type Clock, LruMap, RateByClient, type TokenRate } from "@keyturn/runtime";
import { refusedForNow, RefusedRequest } from "./request-limits.ts";
import type { AccessCheck, AccessDecision, Rights, Viewer } from "./viewer-rights.ts";

/** The gate of one server. */
export class ViewerGate {
  readonly #access: AccessCheck;
  readonly #failures: RateByClient;

  constructor(access: AccessCheck, { failures, clock }: { readonly failures: TokenRate; readonly clock: Clock }) {
    this.#access = access;
    this.#failures = new RateByClient(failures, clock);
  }

  /** The viewer who sent this. Rejects with a `RefusedRequest` for everybody else. */
  async enter(bearer: string, client: string): Promise<Viewer> {
    if (bearer === "") throw unauthorized("a token is needed");
    const decision = await this.#decision(bearer, client);
    switch (decision.type) {
      case "allowed":
        return decision.viewer;
      case "forbidden":
        throw new RefusedRequest({ status: 403, error: decision.message, reason: "rights" });
      case "unavailable":
        throw refusedForNow(503, "unavailable", { error: decision.message, retryAfterSeconds: 5 });
      case "unknown":
      default:
        throw unauthorized(
          this.#access.access === "token"
            ? "the token is not good, or no longer"
            : "the secret in the address is not good; open the address that was printed",
        );
    }
  }

  async #decision(bearer: string, client: string): Promise<AccessDecision> {
    const known = this.#access.known(bearer);
    const wasGood = known?.decision.type === "allowed";
    if (wasGood && known.isFresh) return known.decision;
    // Only those are slowed down whose token was not good when it was last looked at: behind the same address others go on.
    if (!wasGood && !this.#failures.allows(client)) {
      throw refusedForNow(429, "rate", { error: "too many tokens that are not good", retryAfterSeconds: this.#failures.retryAfterSeconds });
    }
    const decision = await this.#access.check(bearer);
    if (decision.type === "unknown" || decision.type === "forbidden") this.#failures.take(client);
    return decision;
  }
}

function unauthorized(error: string): RefusedRequest {
  return new RefusedRequest({ status: 401, error, reason: "token", headers: { "www-authenticate": 'Bearer realm="keyturn"' } });
}

/** A page whose API server hangs must hear of that: it is not kept waiting for the answer about its rights, which counts when it comes. */
const patienceMs = 3_000;

/** The rights of one who is in, whenever they are asked for; undefined once they are out. */
export function rightsOverTime(
  { access, clock }: { readonly access: AccessCheck; readonly clock: Clock },
  bearer: string,
  first: Rights,
): () => Promise<Rights | undefined> {
  let last: Rights | undefined = first;
  return async () => {
    const late = Promise.withResolvers<AccessDecision>();
    const timer = clock.setTimer(patienceMs, () => late.resolve({ type: "unavailable", message: "there is no answer yet" }));
    const decision = await Promise.race([access.check(bearer), late.promise]);
    timer.cancel();
    // While nobody can be asked, nobody can have taken the token back either: what was known last holds.
    if (decision.type !== "unavailable") last = decision.type === "allowed" ? decision.viewer.rights : undefined;
    return last;
  };
}

// Answers that are asked for by many at a time: asked for once, and kept for a moment.

/** Answers by key. One question per key is under way at a time; what fails is not kept. */
export class SharedAnswers<T> {
  readonly #answers: LruMap<string, { readonly answer: Promise<T>; untilMs: number }>;
  readonly #clock: Clock;
  readonly #freshMs: number;

  constructor({ clock, freshMs, most }: { readonly clock: Clock; readonly freshMs: number; readonly most: number }) {
    this.#clock = clock;
    this.#freshMs = freshMs;
    this.#answers = new LruMap(most);
  }

  /** The answer, asked for with `ask` if there is none. */
  get(key: string, ask: () => Promise<T>): Promise<T> {
    const known = this.#answers.get(key);
    if (known && known.untilMs > this.#clock.monotonic()) return known.answer;
    const entry = { answer: ask(), untilMs: Infinity };
    this.#answers.set(key, entry);
    entry.answer.then(
      () => {
        entry.untilMs = this.#clock.monotonic() + this.#freshMs;
      },
      () => {
        if (this.#answers.get(key) === entry) this.#answers.delete(key);
      },
    );
    return entry.answer;
  }
}
