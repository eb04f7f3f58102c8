// Match, reach, call, few at a time.
import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import {
  type Clock,
  createHttpTransport,
  fixedCredentials,
  type MutatingWebhook,
  type Pod,
  selectsLabels,
  systemClock,
  type Transport,
  type WebhookRule,
} from "@keyturn/runtime";
import { Semaphore } from "../../../semaphore.ts";
import { readAnswer, type ReviewOutcome, reviewRequest } from "./admission.ts";
import { evaluateConditions } from "./match-conditions.ts";
import { limits } from "../../../limits.ts";

// Where a webhook is: its clientConfig, read as the API server reads it.

type ClientConfig = MutatingWebhook["clientConfig"];

/** A Service that a webhook is behind. */
export interface WebhookService {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** Where to connect to instead of the Service's name in the cluster; the name is still what its certificate must be for. */
type ResolveService = (service: WebhookService) => { readonly host: string; readonly port: number };

/** Everything needed to call it. */
interface WebhookTarget {
  /** `https://host:port`. */
  readonly server: string;
  /** Path and query. */
  readonly path: string;
  /** Whom the certificate must be for, if not for the server's host. */
  readonly serverName: string | undefined;
  /** PEM; undefined for the machine's own roots, which is what an empty caBundle means. */
  readonly ca: string | undefined;
}

/** Reads the configuration. Throws with words that continue "the webhook" if it names no place that the API server would call. */
export function targetOf(
  { url, service, caBundle }: ClientConfig,
  { timeoutSeconds, resolveService }: { readonly timeoutSeconds: number; readonly resolveService: ResolveService | undefined },
): WebhookTarget {
  // The API server lets webhooks know how long it will wait.
  const query = `?timeout=${timeoutSeconds}s`;
  const ca = caBundle ? Buffer.from(caBundle, "base64").toString("utf8") : undefined;
  if (service) {
    const { namespace, name, path = "/", port = 443 } = service;
    const serverName = `${name}.${namespace}.svc`;
    const resolved = resolveService?.({ namespace, name, port });
    const server = `https://${resolved?.host ?? serverName}:${resolved?.port ?? port}`;
    return { server, path: `${path.startsWith("/") ? path : `/${path}`}${query}`, serverName: resolved ? serverName : undefined, ca };
  }
  const parsed = url === undefined ? null : URL.parse(url);
  if (parsed?.protocol !== "https:") throw new Error("its clientConfig has neither a service nor an https URL");
  return { server: parsed.origin, path: `${parsed.pathname}${query}`, serverName: undefined, ca };
}

// Calls injection webhooks as the API server would: TLS verified, no proxy, bounded in time and size.

/** One call, for metrics. */
export interface WebhookCall {
  readonly webhook: string;
  readonly outcome: ReviewOutcome["type"];
  readonly seconds: number;
}

/** How calls are made. */
interface WebhookCallerOptions {
  /** Where a Service is reached instead of by its name. Default: by its name, as within the cluster. */
  readonly resolveService?: ResolveService;
  /** Longer answers are not read. Default 4 MiB: a pod has at most 1.5 MiB. */
  readonly maxAnswerBytes?: number;
  /** Called after every call. */
  readonly onAnswer?: (call: WebhookCall) => void;
  /** Default the machine's. */
  readonly clock?: Clock;
  /** Closes it: an idle connection would keep the process for a minute. */
  readonly closed?: AbortSignal;
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
  readonly #maxAnswerBytes: number;
  /** By server; a new caBundle replaces the connections made with the old one. */
  readonly #transports = new Map<string, { readonly target: WebhookTarget; readonly transport: Transport }>();

  constructor(options: WebhookCallerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#maxAnswerBytes = options.maxAnswerBytes ?? limits.injectionAnswerBytes;
    options.closed?.addEventListener("abort", () => this.close(), { once: true });
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
      if (bytes > this.#maxAnswerBytes) throw new Error(`its answer is longer than ${this.#maxAnswerBytes} bytes`);
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

// Whether the API server would call a webhook for a new pod.

/** What the API server would do. */
type WebhookMatch =
  | { readonly type: "called" }
  | { readonly type: "skipped"; readonly because: "namespaceSelector" | "objectSelector" | "rules" | "matchConditions" }
  | { readonly type: "undecidable"; readonly message: string };

/**
 * Decides in the API server's order: selectors, rules, conditions. `matchPolicy` makes no difference, because pods are served under one group and
 * version only. No namespace is exempt from webhooks but by their selectors.
 */
export function matchWebhook(webhook: MutatingWebhook, pod: Pod, namespaceLabels: Readonly<Record<string, string>>): WebhookMatch {
  if (!selectsLabels(webhook.namespaceSelector, namespaceLabels)) return { type: "skipped", because: "namespaceSelector" };
  if (!selectsLabels(webhook.objectSelector, pod.metadata.labels)) return { type: "skipped", because: "objectSelector" };
  if (!(webhook.rules ?? []).some(coversNewPods)) return { type: "skipped", because: "rules" };
  const conditions = evaluateConditions(webhook.matchConditions ?? [], pod);
  switch (conditions.type) {
    case "hold":
      return { type: "called" };
    case "fail":
      return { type: "skipped", because: "matchConditions" };
    case "undecidable":
    default:
      return conditions;
  }
}

function coversNewPods({ operations = [], apiGroups = [], apiVersions = [], resources = [], scope = "*" }: WebhookRule): boolean {
  return (
    includes(operations, "CREATE") &&
    includes(apiGroups, "") &&
    includes(apiVersions, "v1") &&
    resources.some((resource) => isPods(resource)) &&
    scope !== "Cluster"
  );
}

function includes(listed: readonly string[], wanted: string): boolean {
  return listed.includes("*") || listed.includes(wanted);
}

/** `pods`, and everything that contains it; `pods/*` does, since the pod itself is its own subresource of no name. */
function isPods(listed: string): boolean {
  const [resource, subresource = ""] = listed.split("/", 2);
  return (resource === "*" || resource === "pods") && (subresource === "*" || subresource === "");
}

// Calls to one webhook, a few at a time: istiod is not flooded, and a slow webhook keeps only its own callers waiting.

/** Limits each server of webhooks to so many calls at a time. */
export function gateCalls(caller: WebhookCaller, atATime: number): WebhookCaller {
  const gates = new Map<string, Semaphore>();
  return {
    review(webhook, pod, signal) {
      const server = serverOf(webhook);
      const gate = gates.get(server) ?? new Semaphore(atATime);
      gates.set(server, gate);
      return gate.run(() => caller.review(webhook, pod, signal));
    },
    close: () => caller.close(),
  };
}

function serverOf({ clientConfig: { url, service } }: MutatingWebhook): string {
  return url ?? `${service?.namespace}/${service?.name}`;
}
