// Requests to one tenant of an identity provider: deadlines, retries, a limit on requests under way, and answers that cannot do harm.
import {
  type BackoffOptions,
  backoffDelayMs,
  type Clock,
  ConfigError,
  ConnectionError,
  createHttpTransport,
  fixedCredentials,
  type Random,
  readText,
  redactAndCut,
  retryAfterOf,
  sleep,
  type Transport,
} from "@keyturn/runtime";
import type { Semaphore } from "../../../semaphore.ts";
import { IdentityError, type IdentityStep } from "./identity-error.ts";
import { type ProviderAnswer, refusalOf } from "./provider-answer.ts";

/** One request. */
export interface ProviderRequest {
  readonly step: IdentityStep;
  /** What is tried, in the words that start every error: `failed to create application`. */
  readonly attempt: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** What it carries that must never be seen in a message, besides the tenant's own secrets. */
  readonly secrets?: readonly string[];
}

/** What is told of every request, for metrics. */
export interface RequestRecord {
  readonly step: IdentityStep;
  /** The HTTP status; undefined if there was no answer. */
  readonly status: number | undefined;
  readonly durationMs: number;
}

/** What requests are made with. Everything but the first two is the same for all tenants of a process. */
export interface ProviderHttpOptions {
  /** Values that must never be seen in a message, whatever they look like. */
  readonly secrets: readonly string[];
  /** PEM certificates to trust instead of the machine's own. */
  readonly ca?: string;
  readonly slots: Semaphore;
  readonly clock: Clock;
  readonly random: Random;
  /** Allows addresses with http://. */
  readonly allowHttp: boolean;
  /** From the start of a request to the end of its answer. */
  readonly timeoutMs: number;
  /** Where `HTTPS_PROXY` and the like are looked up. Default: nowhere. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly observe?: (record: RequestRecord) => void;
}

const mostTries = 3;
const backoff: BackoffOptions = { firstMs: 250, longestMs: 2000 };
/** A tenant that asks for more is left to the caller's own backoff, so that no worker waits for it. */
const longestWaitMs = 5000;
/** A 429 without `Retry-After`. */
const defaultPauseMs = 1000;
/** No header makes us forget a tenant for longer, however many digits it has. */
const longestPauseMs = 300_000;
/** Longer than 100 applications with everything that they can have. */
const longestAnswerBytes = 4 * 1024 * 1024;
/** A condition's message is read by people. */
const longestMessage = 600;

/**
 * The way to one tenant.
 *
 * Guarantees: a request ends within its deadline, body included; GET and DELETE are tried up to three times, with backoff and jitter, as is
 * anything that was refused with 429; after a 429 no request of this tenant is sent before `Retry-After` is over; redirects are refused; all
 * rejections are `IdentityError`s without secrets, or the signal's reason.
 */
export class ProviderHttp {
  readonly #options: ProviderHttpOptions;
  readonly #transports = new Map<string, Transport>();
  /** On the monotonic clock. */
  #pausedUntilMs = 0;
  #closed = false;

  constructor(options: ProviderHttpOptions) {
    this.#options = options;
  }

  /** Sends the request and hands the answer to `read`, whose transient errors count as failures of the request. */
  async ask<T>(request: ProviderRequest, read: (answer: ProviderAnswer) => T, signal?: AbortSignal): Promise<T> {
    const { clock, random } = this.#options;
    for (let tries = 1; ; tries++) {
      try {
        return read(await this.#once(request, signal));
      } catch (error) {
        if (!(error instanceof IdentityError) || tries >= mostTries || !mayRepeat(request, error)) throw error;
        await sleep(clock, Math.max(error.retryAfterMs ?? 0, backoffDelayMs(tries, backoff, random)), signal);
      }
    }
  }

  /** Ends open requests and closes connections; later requests fail. */
  close(): void {
    this.#closed = true;
    for (const transport of this.#transports.values()) transport.close();
  }

  async #once(request: ProviderRequest, signal?: AbortSignal): Promise<ProviderAnswer> {
    const { clock, observe } = this.#options;
    const transport = this.#transportTo(request);
    const release = await this.#enter(request, signal);
    const startMs = clock.monotonic();
    let status: number | undefined;
    try {
      const answer = await this.#exchange(transport, request, signal);
      status = answer.status;
      return this.#checked(answer);
    } finally {
      release();
      observe?.({ step: request.step, status, durationMs: clock.monotonic() - startMs });
    }
  }

  /** Waits for the end of a pause and for a place among the requests under way. */
  async #enter({ step, attempt }: ProviderRequest, signal?: AbortSignal): Promise<() => void> {
    const { clock, random, slots } = this.#options;
    for (;;) {
      const leftMs = this.#pausedUntilMs - clock.monotonic();
      if (leftMs > longestWaitMs) {
        const message = `${attempt}: the identity provider asked to wait for another ${Math.ceil(leftMs / 1000)} s`;
        throw new IdentityError(message, { code: "Transient", step, status: 429, retryAfterMs: leftMs });
      }
      // Those who wait together do not come back together.
      if (leftMs > 0) await sleep(clock, leftMs * (1 + random() / 4), signal);
      const release = await slots.acquire(signal);
      if (this.#pausedUntilMs <= clock.monotonic()) return release;
      release();
    }
  }

  async #exchange(transport: Transport, request: ProviderRequest, signal?: AbortSignal): Promise<ProviderAnswer> {
    const { clock, timeoutMs } = this.#options;
    const { step, attempt, method, url, headers, body, secrets = [] } = request;
    const { pathname, search } = new URL(url);
    const clean = (text: string): string => cleaned(text, [...this.#options.secrets, ...secrets]);
    const ended = new AbortController();
    const timer = clock.setTimer(timeoutMs, () => {
      ended.abort(new IdentityError(`${attempt}: no answer within ${timeoutMs} ms`, { code: "Transient", step }));
    });
    const onAbort = (): void => ended.abort(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) onAbort();
    try {
      const sent = { method, path: `${pathname}${search}`, timeoutMs, ...(headers && { headers }), ...(body !== undefined && { body }) };
      const response = await transport.send(sent, ended.signal);
      const text = await readText(response, longestAnswerBytes);
      if (text === undefined)
        throw new IdentityError(`${attempt}: the answer is longer than ${longestAnswerBytes} bytes`, { code: "Transient", step });
      return { step, attempt, status: response.status, headers: response.headers, text, clean };
    } catch (cause) {
      if (!(cause instanceof ConnectionError)) throw cause;
      throw new IdentityError(clean(`${attempt}: ${cause.message}`), { code: "Transient", step, cause });
    } finally {
      timer.cancel();
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** Passes on what the caller has to judge; what means the same everywhere is an error at once. */
  #checked(answer: ProviderAnswer): ProviderAnswer {
    const { status, headers } = answer;
    if (status < 500 && status !== 408 && status !== 425 && status !== 429 && (status < 300 || status > 399)) return answer;
    const askedMs = retryAfterOf(headers["retry-after"], this.#options.clock.now());
    const pauseMs = askedMs === undefined ? undefined : Math.min(askedMs, longestPauseMs);
    if (status !== 429) throw refusalOf(answer, pauseMs);
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#options.clock.monotonic() + (pauseMs ?? defaultPauseMs));
    throw refusalOf(answer, pauseMs ?? defaultPauseMs);
  }

  #transportTo({ url, step, attempt }: ProviderRequest): Transport {
    const { origin, protocol } = URL.parse(url) ?? { origin: "", protocol: "" };
    if (protocol !== "https:" && !(protocol === "http:" && this.#options.allowHttp)) {
      const wanted = this.#options.allowHttp ? "an http:// or https:// URL" : "an https:// URL; http:// needs --eventing-auth.allow-http";
      throw new IdentityError(`${attempt}: the identity provider's address must be ${wanted}`, { code: "Terminal", step });
    }
    if (this.#closed) throw new IdentityError(`${attempt}: the connections to the identity provider are closed`, { code: "Transient", step });
    const open = this.#transports.get(origin);
    if (open) return open;
    const { clock, env, ca } = this.#options;
    // No header here: different servers take different credentials, and each request brings its own along.
    const credentials = fixedCredentials({ tls: ca === undefined ? {} : { ca } });
    try {
      const transport = createHttpTransport({ server: origin, credentials, clock, ...(env && { env }) });
      this.#transports.set(origin, transport);
      return transport;
    } catch (cause) {
      if (!(cause instanceof ConfigError)) throw cause;
      throw new IdentityError(`${attempt}: ${cause.message}`, { code: "Terminal", step, cause });
    }
  }
}

function cleaned(text: string, secrets: readonly string[]): string {
  // Shorter ones are no secrets, and would be found in every other word.
  const hidden = secrets.filter((secret) => secret.length > 3).reduce((current, secret) => current.replaceAll(secret, "[redacted]"), text);
  return redactAndCut(hidden.replaceAll(/\s+/g, " "), longestMessage);
}

/** Requests that can be repeated without harm, and those that were turned away unread. */
function mayRepeat({ method }: ProviderRequest, { code, status, retryAfterMs = 0 }: IdentityError): boolean {
  const harmless = method === "GET" || method === "DELETE" || status === 429;
  return code === "Transient" && harmless && retryAfterMs <= longestWaitMs;
}
