// Calls injection webhooks as the API server would: TLS verified, no proxy, bounded in time and size.
import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { type Clock, createHttpTransport, fixedCredentials, type MutatingWebhook, type Pod, systemClock, type Transport } from "@keyturn/runtime";
import { readAnswer, type ReviewOutcome, reviewRequest } from "./admission-review.ts";
import { type ResolveService, targetOf, type WebhookTarget } from "./webhook-target.ts";

/** One call, for metrics. */
export interface WebhookCall {
  readonly webhook: string;
  readonly outcome: ReviewOutcome["type"];
  readonly seconds: number;
}

/** How calls are made. */
export interface WebhookCallerOptions {
  /** Where a Service is reached instead of by its name. Default: by its name, as within the cluster. */
  readonly resolveService?: ResolveService;
  /** Longer answers are not read. Default 4 MiB: a pod has at most 1.5 MiB. */
  readonly largestAnswerBytes?: number;
  /** Told of every call. */
  readonly onAnswer?: (call: WebhookCall) => void;
  /** Default the machine's. */
  readonly clock?: Clock;
}

/** Asks webhooks. Connections are kept until `close`. */
export interface WebhookCaller {
  /** Asks the webhook about a pod. Rejects only with the signal's reason; everything else is an outcome. */
  review(webhook: MutatingWebhook, pod: Pod, signal?: AbortSignal): Promise<ReviewOutcome>;
  close(): void;
}

/** The API server's, for a webhook that does not say. */
const defaultTimeoutSeconds = 10;

export function createWebhookCaller(options: WebhookCallerOptions = {}): WebhookCaller {
  return new HttpWebhookCaller(options);
}

class HttpWebhookCaller implements WebhookCaller {
  readonly #options: WebhookCallerOptions;
  readonly #clock: Clock;
  readonly #largestAnswerBytes: number;
  /** By server; a new caBundle replaces the connections made with the old one. */
  readonly #transports = new Map<string, { readonly target: WebhookTarget; readonly transport: Transport }>();

  constructor(options: WebhookCallerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#largestAnswerBytes = options.largestAnswerBytes ?? 4 * 1024 * 1024;
  }

  async review(webhook: MutatingWebhook, pod: Pod, signal?: AbortSignal): Promise<ReviewOutcome> {
    signal?.throwIfAborted();
    const startedMs = this.#clock.monotonic();
    const outcome = await this.#ask(webhook, pod, signal);
    this.#options.onAnswer?.({ webhook: webhook.name, outcome: outcome.type, seconds: (this.#clock.monotonic() - startedMs) / 1000 });
    return outcome;
  }

  close(): void {
    for (const { transport } of this.#transports.values()) transport.close();
    this.#transports.clear();
  }

  async #ask(webhook: MutatingWebhook, pod: Pod, signal: AbortSignal | undefined): Promise<ReviewOutcome> {
    if (!webhook.admissionReviewVersions.includes("v1")) return failed("it does not accept AdmissionReviews of version v1");
    const { timeoutSeconds = defaultTimeoutSeconds } = webhook;
    const late = new AbortController();
    const timer = this.#clock.setTimer(timeoutSeconds * 1000, () => late.abort(new Error(`no whole answer within ${timeoutSeconds} s`)));
    const uid = randomUUID();
    try {
      const target = targetOf(webhook.clientConfig, { timeoutSeconds, resolveService: this.#options.resolveService });
      const text = await this.#exchange(target, reviewRequest(pod, uid), AbortSignal.any(signal ? [signal, late.signal] : [late.signal]));
      return readAnswer(text, { pod, uid });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      return failed(error instanceof Error ? error.message : String(error));
    } finally {
      timer.cancel();
    }
  }

  async #exchange(target: WebhookTarget, body: string, signal: AbortSignal): Promise<string> {
    const headers = { "content-type": "application/json" };
    // The signal ends the wait; a second, shorter time-out would only confuse.
    const response = await this.#transportTo(target).send({ method: "POST", path: target.path, headers, body, timeoutMs: 2 ** 31 - 1 }, signal);
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body) {
      bytes += chunk.byteLength;
      if (bytes > this.#largestAnswerBytes) throw new Error(`its answer is longer than ${this.#largestAnswerBytes} bytes`);
      chunks.push(chunk);
    }
    if (response.status !== 200) throw new Error(`it answered with HTTP status ${response.status}`);
    return Buffer.concat(chunks, bytes).toString("utf8");
  }

  #transportTo(target: WebhookTarget): Transport {
    const server = `${target.server} ${target.serverName ?? ""}`;
    const known = this.#transports.get(server);
    if (known && known.target.ca === target.ca) return known.transport;
    known?.transport.close();
    const transport = createHttpTransport({
      server: target.server,
      credentials: fixedCredentials({ tls: target.ca === undefined ? {} : { ca: target.ca } }),
      ...(target.serverName !== undefined && { tlsServerName: target.serverName }),
      clock: this.#clock,
    });
    this.#transports.set(server, { target, transport });
    return transport;
  }
}

function failed(message: string): ReviewOutcome {
  return { type: "failed", message };
}
