// The way to a webhook whose URL is a secret: it comes from a file, and no message ever shows it.
import {
  basicAuthorization,
  type Clock,
  createHttpTransport,
  fixedCredentials,
  readText,
  retryAfterOf,
  type TextSource,
  type Transport,
} from "@keyturn/runtime";
import { choiceFlag, switchFlag, textFlag } from "../feature/flag.ts";
import { limits } from "../limits.ts";

/** What became of a request. The words have neither the URL nor anything that was answered in them. */
export type Delivery =
  | { readonly type: "sent" }
  /** Sending the same again would be refused again. */
  | { readonly type: "refused"; readonly why: string }
  | { readonly type: "failed"; readonly why: string; readonly retryAfterMs?: number };

/** What a webhook is reached with. */
interface WebhookOptions {
  readonly url: TextSource;
  /** Otherwise what happens, and the secret in the URL, go over TLS or nowhere. */
  readonly allowHttp: boolean;
  readonly clock: Clock;
  /** Where `HTTPS_PROXY` and the like are looked up. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** From sending to the end of the answer. */
const timeoutMs = 10_000;
const { notificationAnswerBytes: maxAnswerBytes } = limits;
/** Statuses of the 400s that say nothing about the request. */
const passing: ReadonlySet<number> = new Set([408, 425, 429]);

/** A webhook. */
export class Webhook implements Disposable {
  readonly #options: WebhookOptions;
  #open: { readonly origin: string; readonly transport: Transport } | undefined;

  constructor(options: WebhookOptions) {
    this.#options = options;
  }

  /** Posts a JSON text. Rejects only with the signal's reason. */
  async post(body: string, signal: AbortSignal): Promise<Delivery> {
    const { clock, url, allowHttp } = this.#options;
    const address = await url.read().then(
      (text) => URL.parse(text.trim()) ?? undefined,
      () => undefined,
    );
    if (!address || (address.protocol !== "https:" && address.protocol !== "http:")) {
      return { type: "failed", why: "the file of --notify.url-file cannot be read, or has no http or https URL in it" };
    }
    if (address.protocol === "http:" && !allowHttp) {
      return { type: "failed", why: "the URL in the file of --notify.url-file is not https, and --notify.allow-http is not set" };
    }
    const timeout = new AbortController();
    const timer = clock.setTimer(timeoutMs, () => timeout.abort());
    try {
      const sent = { method: "POST", path: `${address.pathname}${address.search}`, headers: headersFor(address), body, timeoutMs } as const;
      const response = await this.#transport(address.origin).send(sent, AbortSignal.any([signal, timeout.signal]));
      await readText(response, maxAnswerBytes);
      return deliveryOf(response, clock.now());
    } catch {
      signal.throwIfAborted();
      // What went wrong is left out: the messages of connections name the path that was asked for.
      return { type: "failed", why: "the webhook could not be reached, or did not answer in time" };
    } finally {
      timer.cancel();
    }
  }

  [Symbol.dispose](): void {
    this.#open?.transport.close();
  }

  #transport(origin: string): Transport {
    if (this.#open?.origin === origin) return this.#open.transport;
    this.#open?.transport.close();
    const { clock, env } = this.#options;
    const transport = createHttpTransport({ server: origin, credentials: fixedCredentials({ tls: {} }), clock, env });
    this.#open = { origin, transport };
    return transport;
  }
}

function headersFor(address: URL): Readonly<Record<string, string>> {
  const authorization = basicAuthorization(address);
  return { "content-type": "application/json", ...(authorization !== undefined && { authorization }) };
}

function deliveryOf({ status, headers }: { readonly status: number; readonly headers: Readonly<Record<string, string>> }, nowMs: number): Delivery {
  if (status >= 200 && status < 300) return { type: "sent" };
  const why = `the webhook answered with HTTP status ${status}`;
  if (status >= 300 && status < 500 && !passing.has(status)) return { type: "refused", why };
  const retryAfterMs = retryAfterOf(headers["retry-after"], nowMs);
  return { type: "failed", why, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

// Where notifications go and what is sent there, as flags of `keyturn run`.

/** How much is sent: what is wrong; that and what happens to credentials; everything. */
const notifiedEvents = ["warnings", "life", "all"] as const;
export type NotifiedEvents = (typeof notifiedEvents)[number];

/** What a message looks like. */
const notificationFormats = ["generic", "slack"] as const;
export type NotificationFormat = (typeof notificationFormats)[number];

export const notifyFlags = {
  notifyUrlFile: textFlag({
    name: "notify.url-file",
    group: "Notifications",
    placeholder: "FILE",
    help: "a file with the URL of a webhook that is notified of what happens; the URL is a secret, and is read anew when the file changes; otherwise nobody is notified",
  }),
  notifyAllowHttp: switchFlag({
    name: "notify.allow-http",
    group: "Notifications",
    default: false,
    help: "notify a webhook whose URL is http too: whoever is on the way can read the notifications, and the secret in the URL",
  }),
  notifyFormat: choiceFlag({
    name: "notify.format",
    group: "Notifications",
    choices: notificationFormats,
    default: "generic",
    help: "generic: a JSON object with all there is to know; slack: a text, as Slack, Mattermost and Rocket.Chat take it",
  }),
  notifyEvents: choiceFlag({
    name: "notify.events",
    group: "Notifications",
    choices: notifiedEvents,
    default: "life",
    help: "warnings: what is wrong; life: that, and what happens to credentials; all: every Event",
  }),
  notifyCluster: textFlag({ name: "notify.cluster", group: "Notifications", placeholder: "NAME", help: "the name of this cluster in notifications" }),
};
