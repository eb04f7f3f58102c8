// Requests to one tenant of an identity provider, responses that cannot do harm, and the errors that both end in.
import {
  backoffDelayMs,
  type BackoffOptions,
  type Clock,
  ConfigError,
  ConnectionError,
  createHttpTransport,
  fixedCredentials,
  type Random,
  readText,
  redactAndCut,
  retryAfterOf,
  type SendPermit,
  sleep,
  type Transport,
} from "@keyturn/runtime";
import * as z from "zod";
import type { Semaphore } from "../../../semaphore.ts";
import type { ClientCredentials } from "./provider.ts";
import { limits } from "../../../limits.ts";

// A request to an identity provider that did not do what it should, as a typed error that is safe to show.

/**
 * What can be done about it. `Transient`: nothing, it is tried again. `Terminal`: the same request gets the same response until somebody changes
 * something; that may be a right at the provider, which nobody here can watch, so it is worth asking again now and then. `SecretLost`: the
 * provider keeps no readable copy of the secret and makes no new one, so only a new application helps.
 */
export type IdentityErrorCode = "Transient" | "Terminal" | "SecretLost";

/** What was being done; one word per request, which is the label `step` of metrics. */
export type IdentityOperation =
  | "find"
  | "create"
  | "read"
  | "delete"
  | "issue-secret"
  | "list-secrets"
  | "delete-secret"
  | "discover"
  | "token"
  | "keep-grant";

/** What an identity error carries besides its message. */
interface IdentityErrorOptions extends ErrorOptions {
  readonly code: IdentityErrorCode;
  readonly operation: IdentityOperation;
  /** The HTTP status, if there was a response. */
  readonly status?: number;
  /** How long the provider asks to wait. */
  readonly retryAfterMs?: number;
}

/** The message says what was tried and what the provider said, without anything secret, in a length that fits a condition. */
export class IdentityError extends Error {
  readonly code: IdentityErrorCode;
  readonly operation: IdentityOperation;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, { code, operation, status, retryAfterMs, ...options }: IdentityErrorOptions) {
    super(message, options);
    this.name = "IdentityError";
    this.code = code;
    this.operation = operation;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

// An identity provider's response, read whole and checked against what was promised.

/** A response of any status, with its body. */
export interface ProviderResponse {
  readonly operation: IdentityOperation;
  /** What was tried, in the words that start every error: `failed to create application`. */
  readonly attempt: string;
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Takes what is secret out of text from the provider and cuts it to a length that fits a condition. */
  readonly clean: (text: string) => string;
}

/**
 * The body of a response that should be JSON of a certain shape. Anything else is a transient error: it comes from something in between, or from
 * a server in trouble. The error names the fields that are wrong and never their values.
 */
export function decode<T>(response: ProviderResponse, schema: z.ZodType<T>): T {
  const value = jsonOf(response);
  if (value === undefined) throw unusableResponse(response, `the answer is no JSON (${response.headers["content-type"] ?? "no content type"})`);
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const fields = result.error.issues.map(({ path }) => (path.length > 0 ? path.join(".") : "the whole"));
  throw unusableResponse(response, `the answer is not what the protocol promises: ${[...new Set(fields)].join(", ")}`);
}

/** An error for a response with a status of success that cannot be used. */
export function unusableResponse({ attempt, operation, status, clean }: ProviderResponse, problem: string): IdentityError {
  return new IdentityError(clean(`${attempt}: ${problem}`), { code: "Transient", operation, status });
}

/** Throws what a response stands for that has another status than these. */
export function expectStatus(response: ProviderResponse, ...expected: readonly number[]): void {
  if (!expected.includes(response.status)) throw refusalOf(response);
}

/** Throws unless the response says that it was done: 204, or 200 with nothing or JSON. A page comes from something in between that has done nothing. */
export function expectDone(response: ProviderResponse): void {
  expectStatus(response, 204, 200);
  if (response.status === 200 && response.text.trim() !== "") decode(response, z.unknown());
}

/**
 * True if IAS says in its own words that there is no such thing. A page for people, an empty body or any other JSON under that status
 * comes from something in between that knows no such address, and nothing may be concluded from it.
 */
export function isGone(response: ProviderResponse): boolean {
  return response.status === 404 && refusalBody.safeParse(jsonOf(response)).success;
}

/** The error that a response with a failing status stands for, with the provider's own words. */
export function refusalOf(response: ProviderResponse, retryAfterMs?: number): IdentityError {
  const { attempt, operation, status, headers, clean } = response;
  const detail = messageIn(jsonOf(response)) ?? (status >= 300 && status < 400 ? redirectProblem(headers["location"]) : undefined);
  const message = clean(`${attempt}: the identity provider answered ${status}${detail === undefined ? "" : `: ${detail}`}`);
  return new IdentityError(message, { code: codeOf(response), operation, status, ...(retryAfterMs !== undefined && { retryAfterMs }) });
}

/** Where it pointed is not said beyond the host: addresses of log-in pages carry session data. */
function redirectProblem(location: string | undefined): string {
  const host = URL.parse(location ?? "")?.host;
  return `redirects are not followed, credentials would go along${host ? ` to ${host}` : ""}; correct the URL`;
}

/**
 * What may end by itself: overload, trouble at the server, somebody else's write, addresses that only something in between does not know, and an
 * application that was just made and is not known everywhere yet when it is to get a secret.
 */
function codeOf(response: ProviderResponse): IdentityErrorCode {
  const { status, operation } = response;
  const isMissingForNow = status === 404 && (operation === "issue-secret" || !isGone(response));
  const isTransient = status >= 500 || status === 408 || status === 409 || status === 425 || status === 429 || isMissingForNow;
  return isTransient || status < 300 ? "Transient" : "Terminal";
}

function jsonOf({ headers, text }: ProviderResponse): unknown {
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(headers["content-type"] ?? "")) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The parser's message quotes its input, which may be a secret.
    return undefined;
  }
}

const iasError = z.object({
  code: z.union([z.number(), z.string()]).optional(),
  message: z.string(),
  details: z.array(z.object({ target: z.string().optional(), message: z.string().optional() })).optional(),
});
const oauthError = z.object({ error: z.string(), error_description: z.string().optional() });
/** An error as IAS words it, whose schema demands the code. */
const coded = iasError.required({ code: true });
const refusalBody = z.union([coded, z.object({ error: coded })]);

/** The code of an OAuth error; undefined if the response has none. */
export function oauthErrorIn(response: ProviderResponse): string | undefined {
  return oauthError.safeParse(jsonOf(response)).data?.error;
}

/** The provider's words: IAS's error body, bare or wrapped, or OAuth's. */
function messageIn(body: unknown): string | undefined {
  const ias = iasError.or(z.object({ error: iasError }).transform(({ error }) => error)).safeParse(body);
  if (ias.success) {
    const { code, message, details = [] } = ias.data;
    const more = details.map((detail) => [detail.target, detail.message].filter(Boolean).join(" "));
    return [code === undefined ? message : `${message} (code ${code})`, ...more].join("; ");
  }
  const oauth = oauthError.safeParse(body);
  if (!oauth.success) return undefined;
  const { error, error_description: description } = oauth.data;
  return description === undefined ? error : `${error}: ${description}`;
}

// Requests: deadlines, retries, a limit on requests under way.

/** One request. */
export interface ProviderRequest {
  readonly operation: IdentityOperation;
  /** What is tried, in the words that start every error: `failed to create application`. */
  readonly attempt: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** What it carries that must never be seen in a message, besides the tenant's own secrets. */
  readonly secrets?: readonly string[];
  /** Whether it is sent once whatever its method, because the response to another one would be taken for the response to the first. Default false. */
  readonly once?: boolean;
  /** What sending it needs. Default: nothing. */
  readonly permit?: SendPermit | undefined;
}

/** What is recorded of every request, for metrics. */
export interface RequestRecord {
  readonly operation: IdentityOperation;
  /** The HTTP status; undefined if there was no response. */
  readonly status: number | undefined;
  readonly durationMs: number;
}

/** What requests are made with. Everything but the first two is the same for all tenants of a process. */
interface ProviderHttpOptions {
  /** Values that must never be seen in a message, whatever they look like. */
  readonly secrets: readonly string[];
  /** PEM certificates to trust instead of the machine's own. */
  readonly ca?: string;
  readonly slots: Semaphore;
  readonly clock: Clock;
  readonly random: Random;
  /** Allows addresses with http://. */
  readonly allowHttp: boolean;
  /** From the start of a request to the end of its response. */
  readonly timeoutMs: number;
  /** Where `HTTPS_PROXY` and the like are looked up. Default: nowhere. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly observe?: (record: RequestRecord) => void;
  /** Default: HTTP. */
  readonly openTransport?: typeof createHttpTransport;
}

const maxTries = 3;
const backoff: BackoffOptions = { firstMs: 250, maxMs: 2000 };
/** A tenant that asks for more is left to the caller's own backoff, so that no worker waits for it. */
const maxWaitMs = 5000;
/** A 429 without `Retry-After`. */
const defaultPauseMs = 1000;
/** No header makes us forget a tenant for longer, however many digits it has. */
const maxPauseMs = 300_000;

/**
 * The way to one tenant.
 *
 * Guarantees: a request ends within its deadline, body included; GET and DELETE are tried up to three times, with backoff and jitter, as is
 * a request for a token that was refused with 429; what makes something is sent once, because a 429 may come from something in between; after a 429 no request of this tenant is sent before `Retry-After` is over; redirects are refused; all
 * rejections are `IdentityError`s without secrets, the signal's reason, or what the permit throws.
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

  /** Sends the request and hands the response to `read`, whose transient errors count as failures of the request. */
  async ask<T>(request: ProviderRequest, read: (response: ProviderResponse) => T, signal?: AbortSignal): Promise<T> {
    const { clock, random } = this.#options;
    for (let tries = 1; ; tries++) {
      try {
        return read(await this.#once(request, signal));
      } catch (error) {
        if (!(error instanceof IdentityError) || tries >= maxTries || !mayRepeat(request, error)) throw error;
        await sleep(clock, Math.max(error.retryAfterMs ?? 0, backoffDelayMs(tries, backoff, random)), signal);
      }
    }
  }

  /** Ends open requests and closes connections; later requests fail. */
  close(): void {
    this.#closed = true;
    for (const transport of this.#transports.values()) transport.close();
  }

  async #once(request: ProviderRequest, signal?: AbortSignal): Promise<ProviderResponse> {
    const { clock, observe } = this.#options;
    const transport = this.#transportTo(request);
    const release = await this.#enter(request, signal);
    const startMs = clock.monotonic();
    let status: number | undefined;
    try {
      const response = await this.#exchange(transport, request, signal);
      status = response.status;
      return this.#checked(response);
    } finally {
      release();
      observe?.({ operation: request.operation, status, durationMs: clock.monotonic() - startMs });
    }
  }

  /** Waits for the end of a pause and for a place among the requests under way. */
  async #enter({ operation, attempt }: ProviderRequest, signal?: AbortSignal): Promise<() => void> {
    const { clock, random, slots } = this.#options;
    for (;;) {
      const leftMs = this.#pausedUntilMs - clock.monotonic();
      if (leftMs > maxWaitMs) {
        const message = `${attempt}: the identity provider asked to wait for another ${Math.ceil(leftMs / 1000)} s`;
        throw new IdentityError(message, { code: "Transient", operation, status: 429, retryAfterMs: leftMs });
      }
      // Those who wait together do not come back together.
      if (leftMs > 0) await sleep(clock, leftMs * (1 + random() / 4), signal);
      const release = await slots.acquire(signal);
      if (this.#pausedUntilMs <= clock.monotonic()) return release;
      release();
    }
  }

  async #exchange(transport: Transport, request: ProviderRequest, signal?: AbortSignal): Promise<ProviderResponse> {
    const { clock, timeoutMs } = this.#options;
    const { operation, attempt, method, url, headers, body, permit, secrets = [] } = request;
    const { pathname, search } = new URL(url);
    const clean = (text: string): string => cleaned(text, [...this.#options.secrets, ...secrets]);
    const ended = new AbortController();
    const timer = clock.setTimer(timeoutMs, () => {
      ended.abort(
        new IdentityError(`${attempt}: no answer within ${timeoutMs} ms (--eventing-auth.provider-timeout)`, { code: "Transient", operation }),
      );
    });
    const onAbort = (): void => ended.abort(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) onAbort();
    try {
      const content = { ...(headers && { headers }), ...(body !== undefined && { body }) };
      const response = await transport.send({ method, path: `${pathname}${search}`, timeoutMs, ...content, ...(permit && { permit }) }, ended.signal);
      const text = await readText(response, limits.providerAnswerBytes);
      if (text === undefined)
        throw new IdentityError(`${attempt}: the answer is longer than ${limits.providerAnswerBytes} bytes`, { code: "Transient", operation });
      return { operation, attempt, status: response.status, headers: response.headers, text, clean };
    } catch (cause) {
      if (!(cause instanceof ConnectionError)) throw cause;
      throw new IdentityError(clean(`${attempt}: ${cause.message}`), { code: "Transient", operation, cause });
    } finally {
      timer.cancel();
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** Returns what the caller has to decide on; what means the same everywhere is an error at once. */
  #checked(response: ProviderResponse): ProviderResponse {
    const { status, headers } = response;
    if (status < 500 && status !== 408 && status !== 425 && status !== 429 && (status < 300 || status > 399)) return response;
    const askedMs = retryAfterOf(headers["retry-after"], this.#options.clock.now());
    const pauseMs = askedMs === undefined ? undefined : Math.min(askedMs, maxPauseMs);
    if (status !== 429) throw refusalOf(response, pauseMs);
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#options.clock.monotonic() + (pauseMs ?? defaultPauseMs));
    throw refusalOf(response, pauseMs ?? defaultPauseMs);
  }

  #transportTo({ url, operation, attempt }: ProviderRequest): Transport {
    const { origin, protocol } = URL.parse(url) ?? { origin: "", protocol: "" };
    if (protocol !== "https:" && !(protocol === "http:" && this.#options.allowHttp)) {
      const wanted = this.#options.allowHttp ? "an http:// or https:// URL" : "an https:// URL; http:// needs --eventing-auth.allow-http";
      throw new IdentityError(`${attempt}: the identity provider's address must be ${wanted}`, { code: "Terminal", operation });
    }
    if (this.#closed) throw new IdentityError(`${attempt}: the connections to the identity provider are closed`, { code: "Transient", operation });
    const open = this.#transports.get(origin);
    if (open) return open;
    const { clock, env, ca, openTransport = createHttpTransport } = this.#options;
    // No header here: different servers take different credentials, and each request brings its own along.
    const credentials = fixedCredentials({ tls: ca === undefined ? {} : { ca } });
    try {
      const transport = openTransport({ server: origin, credentials, clock, ...(env && { env }) });
      this.#transports.set(origin, transport);
      return transport;
    } catch (cause) {
      if (!(cause instanceof ConfigError)) throw cause;
      throw new IdentityError(`${attempt}: ${cause.message}`, { code: "Terminal", operation, cause });
    }
  }
}

function cleaned(text: string, secrets: readonly string[]): string {
  // Shorter ones are no secrets, and would be found in every other word.
  const hidden = secrets.filter((secret) => secret.length > 3).reduce((current, secret) => current.replaceAll(secret, "[redacted]"), text);
  return redactAndCut(hidden.replaceAll(/\s+/g, " "), limits.providerWords);
}

/** Requests that can be repeated without harm. */
function mayRepeat({ method, operation, once }: ProviderRequest, { code, status, retryAfterMs = 0 }: IdentityError): boolean {
  const harmless = method === "GET" || method === "DELETE" || (operation === "token" && status === 429);
  return code === "Transient" && harmless && !once && retryAfterMs <= maxWaitMs;
}

// Tries a client's credentials at the token endpoint, as the eventing webhooks will.

const tokenSchema = z.object({ access_token: z.string().min(1) });
const errorSchema = z.object({ error: z.string() });

/** How a client shows who it is: in the header, or in the form, whose encoding every server reads alike. */
interface TokenRequest extends ClientCredentials {
  readonly tokenUrl: string;
  readonly method: "client_secret_basic" | "client_secret_post";
}

/** True if a token was given, false if the endpoint says that the client or its secret is wrong. The token itself is dropped. */
export function acceptsCredentials(http: ProviderHttp, { tokenUrl, method, ...credentials }: TokenRequest, signal?: AbortSignal): Promise<boolean> {
  const inForm = method === "client_secret_post";
  const { clientId, clientSecret } = credentials;
  const form = new URLSearchParams({ grant_type: "client_credentials", ...(inForm && { client_id: clientId, client_secret: clientSecret }) });
  const request = {
    operation: "token",
    attempt: "failed to fetch a token with the client's credentials",
    method: "POST",
    url: tokenUrl,
    headers: { "content-type": "application/x-www-form-urlencoded", ...(!inForm && { authorization: clientAuthorization(credentials) }) },
    body: form.toString(),
    secrets: [clientSecret],
  } as const;
  return http.ask(request, isAccepted, signal);
}

function isAccepted(response: ProviderResponse): boolean {
  if (response.status === 200) return decode(response, tokenSchema).access_token !== "";
  if (response.status !== 400 && response.status !== 401) throw refusalOf(response);
  // RFC 6749, 5.2: invalid_client may come with either status; a 400 can also mean that the request is wrong and says nothing of the client.
  const { error } = decode(response, errorSchema);
  // Keycloak says the second of a wrong secret; with 400 it means what the RFC says, that the client may not have tokens in this way.
  if (error === "invalid_client" || (error === "unauthorized_client" && response.status === 401)) return false;
  throw refusalOf(response);
}

/** RFC 6749, 2.3.1: both parts are form-encoded before they go into the header. */
function clientAuthorization({ clientId, clientSecret }: ClientCredentials): string {
  return `Basic ${Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString("base64")}`;
}

function formEncoded(text: string): string {
  return new URLSearchParams({ v: text }).toString().slice(2);
}
