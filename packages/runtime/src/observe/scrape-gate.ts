// Who may read the metrics: whose token the API server knows, and whom it lets `get` the path /metrics, as kube-rbac-proxy and controller-runtime have it.
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Client } from "../client/client.ts";
import { bearerToken, isAllowedTo, ownerOfToken, SubjectAccessReview, TokenReview } from "../client/reviews.ts";
import type { Clock } from "../clock.ts";
import { LruMap } from "../collections.ts";
import type { AccessRule } from "../controller/controller.ts";
import { RateByClient } from "../rate-limit.ts";
import type { Logger } from "./logger.ts";

/** What the operator itself needs for that. */
export const scrapeAccess: readonly AccessRule[] = [
  { kind: TokenReview, verbs: ["create"], why: "to find out who reads the metrics" },
  { kind: SubjectAccessReview, verbs: ["create"], why: "to show the metrics only to those who may `get` the path /metrics" },
];

/** The right that whoever scrapes needs, as RBAC's `nonResourceURLs` give it. */
const scrapeRight = { nonResourceAttributes: { path: "/metrics", verb: "get" } } as const;

/** How a request is refused. */
interface Refusal {
  readonly status: 401 | 403 | 429 | 503;
  readonly text: string;
}

type Decision = "allowed" | "unknown" | "forbidden";

/** How long an answer holds, as controller-runtime has it: a right that is taken away counts within a minute, one that is given sooner. */
const freshMs: Readonly<Record<Decision, number>> = { allowed: 60_000, unknown: 10_000, forbidden: 10_000 };
const maxRemembered = 1000;
/** A scraper waits ten seconds by default, and should hear why there is nothing. */
const patienceMs = 5000;
/** Tokens of one client that turn out to be no good: ten at once, then one in five seconds. */
const failureRate = { burst: 10, perMs: 0.0002 };

const texts = {
  noToken: "a bearer token of this cluster is needed",
  unknown: "the token is not valid",
  forbidden: "the owner of this token may not get the path /metrics: it takes a ClusterRole with nonResourceURLs [/metrics] and verbs [get]",
  tooMany: "too many tokens that are not valid",
  unavailable: "the API server could not be asked about the token",
} as const;

/** Lets scrapers in. What is not known is refused. */
export class ScrapeGate {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #failures: RateByClient;
  /** By a digest of the token: the token itself is not kept. */
  readonly #known = new LruMap<string, { readonly decision: Decision; readonly untilMs: number }>(maxRemembered);
  readonly #asking = new Map<string, Promise<Decision | undefined>>();
  #isSilent = false;

  constructor({ client, clock, log }: { readonly client: Client; readonly clock: Clock; readonly log: Logger }) {
    this.#client = client;
    this.#clock = clock;
    this.#log = log;
    this.#failures = new RateByClient(failureRate, clock);
  }

  /** Why this request is not answered; undefined if it is. Never rejects. */
  async refusal({ headers: { authorization }, socket }: IncomingMessage): Promise<Refusal | undefined> {
    const token = bearerToken(authorization);
    if (token === undefined) return { status: 401, text: texts.noToken };
    const client = socket.remoteAddress ?? "";
    const digest = createHash("sha256").update(token).digest("base64url");
    const known = this.#known.get(digest);
    const isFresh = known !== undefined && known.untilMs > this.#clock.monotonic();
    // Only those are slowed down whose token was not good when it was last looked at: behind the same address others go on.
    if (known?.decision !== "allowed" && !this.#failures.allows(client)) return { status: 429, text: texts.tooMany };
    const decision = isFresh ? known.decision : await this.#ask(token, digest);
    if (decision === "allowed") return undefined;
    if (decision === undefined) return { status: 503, text: texts.unavailable };
    this.#failures.take(client);
    return { status: decision === "unknown" ? 401 : 403, text: texts[decision] };
  }

  /** Asks the API server, once at a time for each token; undefined if it does not answer. */
  #ask(token: string, digest: string): Promise<Decision | undefined> {
    const asking = this.#asking.get(digest) ?? this.#decide(token, digest).finally(() => this.#asking.delete(digest));
    this.#asking.set(digest, asking);
    return asking;
  }

  async #decide(token: string, digest: string): Promise<Decision | undefined> {
    const patience = new AbortController();
    const timer = this.#clock.setTimer(patienceMs, () => patience.abort(new Error(`there was no answer for ${patienceMs / 1000} s`)));
    try {
      const user = await ownerOfToken(this.#client, token, patience.signal);
      const decision = !user ? "unknown" : (await isAllowedTo(this.#client, user, scrapeRight, patience.signal)) ? "allowed" : "forbidden";
      this.#known.set(digest, { decision, untilMs: this.#clock.monotonic() + freshMs[decision] });
      this.#isSilent = false;
      return decision;
    } catch (error) {
      // Once, until it works again: whoever scrapes comes back every few seconds.
      if (!this.#isSilent)
        this.#log.warn({ err: error }, "could not ask the API server who reads the metrics; nobody is shown them until that works");
      this.#isSilent = true;
      return undefined;
    } finally {
      timer.cancel();
    }
  }
}
