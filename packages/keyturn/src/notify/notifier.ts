// Notifies people of what happens, as far as that is possible: a bounded queue, a steady rate, and retries; nothing that works for objects ever waits for it.
import {
  backoffDelayMs,
  type Clock,
  type Runnable,
  type Event,
  FairQueue,
  fileText,
  fullBucket,
  type Logger,
  type MetricRow,
  type Metrics,
  metricsOf,
  type Random,
  sleep,
  takeToken,
} from "@keyturn/runtime";
import type { Feature } from "../feature/feature.ts";
import { isNotable, type Notification, notificationBody, notificationOf } from "./notification.ts";
import { type Delivery, type NotificationFormat, type NotifiedEvents, Webhook } from "./webhook.ts";

// What became of notifications, in numbers.

export const notifyMetrics = {
  keyturn_notifications_total: {
    type: "counter",
    help: "Notifications by what became of them: sent, failed (refused, or tried in vain) or dropped (too many were waiting, or the process ended).",
    labels: ["result"],
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

/** What a notifier needs. */
export interface NotifierOptions {
  /** Sends one message; rejects only with the signal's reason. */
  readonly post: (body: string, signal: AbortSignal) => Promise<Delivery>;
  readonly events: NotifiedEvents;
  /** Says which Events tell of the ordinary life of a credential. */
  readonly registry: readonly Feature[];
  readonly format: NotificationFormat;
  readonly cluster?: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** So many may wait. What is too much is dropped and counted: of the namespace of which the most wait, so that nobody silences others. */
const maxWaiting = 200;
/** Ten at once and then one a second, which is what Slack takes: https://docs.slack.dev/apis/web-api/rate-limits */
const rate = { burst: 10, perMs: 1 / 1000 };
const maxTries = 6;
const backoff = { firstMs: 1000, maxMs: 60_000 };
/** No header makes us wait longer. */
const maxPauseMs = 300_000;
/** How long the end of the process waits for what is still to be sent. */
const lastWordsMs = 1000;

/**
 * Sends notifications one by one: those of a namespace in their order, and of several namespaces in turn.
 *
 * Guarantees: `notify` neither throws nor waits; memory is bounded; what is not sent is counted, and the next message that is sent says how many
 * were lost. It does not promise that a message arrives, or arrives once: what holds is in the objects' status.
 */
export class Notifier implements AsyncDisposable {
  readonly #options: NotifierOptions;
  readonly #results;
  readonly #isNotable;
  readonly #waiting = new FairQueue<Notification>({ most: maxWaiting, ownerOf: ({ object }) => object.namespace ?? "" });
  readonly #ended = new AbortController();
  #bucket;
  #lost = 0;
  #sending: Promise<void> | undefined;
  #isTroubled = false;

  constructor(options: NotifierOptions) {
    this.#options = options;
    this.#results = metricsOf(options.metrics, notifyMetrics).keyturn_notifications_total;
    this.#isNotable = isNotable(options.events, options.registry);
    this.#bucket = fullBucket(rate, options.clock.monotonic());
  }

  /** Notifies of an Event, if people asked for its sort. */
  notify(event: Event): void {
    const { cluster } = this.#options;
    if (!this.#isNotable(event)) return;
    if (this.#ended.signal.aborted) return this.#lose("dropped", 1);
    if (this.#waiting.push(notificationOf(event, cluster))) this.#lose("dropped", 1);
    this.#sending ??= this.#sendAll();
  }

  /** Sends what is waiting for a moment longer, and gives the rest up. */
  async [Symbol.asyncDispose](): Promise<void> {
    const timer = this.#options.clock.setTimer(lastWordsMs, () => this.#ended.abort());
    await this.#sending;
    timer.cancel();
    this.#ended.abort();
  }

  async #sendAll(): Promise<void> {
    try {
      for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
        await this.#turn();
        await this.#send(next);
      }
    } catch {
      // Only the end of the process comes here: with this one, nothing more is sent.
      this.#lose("dropped", 1 + this.#waiting.size);
    }
    this.#sending = undefined;
  }

  async #turn(): Promise<void> {
    const { clock } = this.#options;
    for (;;) {
      const bucket = takeToken(this.#bucket, rate, clock.monotonic());
      if (bucket) return void (this.#bucket = bucket);
      await sleep(clock, 1 / rate.perMs, this.#ended.signal);
    }
  }

  async #send(notification: Notification): Promise<void> {
    const { post, format, clock, random } = this.#options;
    const { signal } = this.#ended;
    for (let tries = 1; ; tries++) {
      const lost = this.#lost;
      const delivery = await post(notificationBody(notification, format, lost), signal);
      if (delivery.type === "sent") {
        this.#results.inc({ result: "sent" });
        this.#lost -= lost;
        return this.#recovered();
      }
      this.#trouble(delivery.why);
      if (delivery.type === "refused" || tries === maxTries) return this.#lose("failed", 1);
      const waitMs = Math.max(delivery.retryAfterMs ?? 0, backoffDelayMs(tries, backoff, random));
      await sleep(clock, Math.min(waitMs, maxPauseMs), signal);
    }
  }

  #lose(result: "failed" | "dropped", count: number): void {
    this.#lost += count;
    this.#results.inc({ result }, count);
  }

  /** Said once until it works again: notifications are a courtesy and must not fill the log. */
  #trouble(why: string): void {
    if (!this.#isTroubled) this.#options.log.warn({ why }, "could not send a notification; until one is sent, failures are only counted");
    this.#isTroubled = true;
  }

  #recovered(): void {
    if (this.#isTroubled) this.#options.log.info({}, "notifications are sent again");
    this.#isTroubled = false;
  }
}

// Notifications as a part of the operator's process. Only Events that this process writes are notified of, so that of several replicas the one that leads speaks.

/** What the flags say. */
interface NotifyOptions {
  /** Undefined or empty: nobody is notified. */
  readonly urlFile: string | undefined;
  readonly allowHttp: boolean;
  readonly format: NotificationFormat;
  readonly events: NotifiedEvents;
  readonly registry: readonly Feature[];
  readonly cluster: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The runnable that notifies, or none. */
export function notifyRunnables({ urlFile, allowHttp, env, ...settings }: NotifyOptions): readonly Runnable[] {
  if (!urlFile) return [];
  return [
    {
      start({ clock, random, log, metrics, onEvent }) {
        const webhook = new Webhook({ url: fileText(urlFile, "the URL of the webhook", clock), allowHttp, clock, env });
        const notifier = new Notifier({ ...settings, post: (body, signal) => webhook.post(body, signal), clock, random, log, metrics });
        onEvent((event) => notifier.notify(event));
        const parts = new AsyncDisposableStack();
        parts.use(webhook);
        parts.use(notifier);
        return Promise.resolve(parts);
      },
    },
  ];
}
