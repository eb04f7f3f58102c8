// Kubernetes Events: the first of its sort as it is, repetitions as a count in that same Event, within limits.
import { isApiError } from "../client/api-error.ts";
import { Event } from "../client/builtin-kinds.ts";
import type { Client } from "../client/client.ts";
import { apiVersionOf, type Kind, type ObjectName, resourceOf } from "../client/kind.ts";
import { type Clock, sleep, type Timer } from "../clock.ts";
import { LruMap } from "../collections.ts";
import { formatMicroTime } from "../manager/lease-state.ts";
import { FairQueue } from "../queue/fair-queue.ts";
import type { Random } from "../random.ts";
import { fullBucket, takeToken, type TokenBucket } from "../rate-limit.ts";
import type { Logger } from "./logger.ts";
import type { RuntimeMetrics } from "./metrics.ts";
import { errorFields, redactText } from "./redaction.ts";

/** What an Event says. */
export interface EventToRecord {
  readonly kind: Kind;
  readonly object: ObjectName & { readonly uid?: string; readonly resourceVersion?: string };
  readonly type: "Normal" | "Warning";
  /** PascalCase; shared with the condition and the metric label. */
  readonly reason: string;
  /** What was done, PascalCase verb: `Publish`, `Rotate`. Default `Reconcile`. */
  readonly action?: string;
  readonly message: string;
}

/** Records Events. Never throws and never waits: an Event that cannot be written is counted and dropped. */
export interface EventRecorder {
  record(event: EventToRecord): void;
}

/** What the recorder needs. */
interface EventRecorderOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: RuntimeMetrics;
  /** Before a controller's name in `reportingController`; a domain such as `keyturn.io`. */
  readonly reportingDomain: string;
  /** The pod's name, or whatever distinguishes this process from others. */
  readonly reportingInstance: string;
}

/** A repetition within this time belongs to the series (client-go's `finishTime`). */
const seriesEndsAfterMs = 6 * 60_000;
/** Between two writes of one series that did not double. */
const rewriteAfterMs = 30_000;
/** client-go's spam filter: per object 25 at once and one more every 5 minutes. */
const objectRate = { burst: 25, perMs: 1 / (5 * 60_000) };
const maxRemembered = 4096;
const maxQueued = 1000;
const writeTimeoutMs = 10_000;
const attempts = 6;

interface Series {
  readonly key: string;
  event: Event;
  count: number;
  lastMs: number;
  /** On the monotonic scale. */
  seenAtMs: number;
  created: boolean;
  writtenCount: number;
  writtenAtMs: number;
  queued: boolean;
}

/**
 * Records Events for all controllers of a process, one write at a time.
 *
 * Guarantees: `record` neither throws nor waits. What happens again within 6 minutes is counted in the same Event; the count is written when it has doubled
 * and otherwise every 30 s. Memory is bounded, and so is what one object can cause. What is not written is in `runtime_events_dropped_total`.
 */
export class SeriesEventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #series = new LruMap<string, Series>(maxRemembered);
  readonly #buckets = new LruMap<string, TokenBucket>(maxRemembered);
  readonly #closed = new AbortController();
  readonly #warned = new Set<string>();
  readonly #listeners = new Set<(event: Event) => void>();
  /** Whoever makes many things happen in a namespace keeps no Event of another from being written. */
  readonly #queue = new FairQueue<Series>({ most: maxQueued, ownerOf: ({ event }) => event.metadata.namespace ?? "" });
  #draining: Promise<void> | undefined;
  #rewrite: Timer | undefined;
  #sequence = 0;
  #accepting = true;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** The recorder of one controller. */
  forController(name: string): EventRecorder {
    const reportingController = `${this.#options.reportingDomain}/${name}`;
    return { record: (event) => this.#record(event, reportingController) };
  }

  /** Reports each Event that is the first of its sort, as it is about to be written: without secrets, and within the limits. The listener must not throw. */
  subscribe(listener: (event: Event) => void): void {
    this.#listeners.add(listener);
  }

  /** Writes what is pending, takes nothing new, and resolves when all is written or `signal` aborts. */
  async close(signal: AbortSignal): Promise<void> {
    this.#accepting = false;
    this.#rewrite?.cancel();
    for (const series of this.#series.values()) if (series.count > series.writtenCount) this.#enqueue(series);
    const abort = (): void => this.#closed.abort(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    await this.#draining;
    signal.removeEventListener("abort", abort);
    this.#closed.abort();
  }

  #record(event: EventToRecord, reportingController: string): void {
    if (!this.#accepting) return this.#dropped("closed");
    const { clock } = this.#options;
    const objectKey = JSON.stringify([resourceOf(event.kind), event.object.namespace, event.object.name, event.object.uid]);
    const key = JSON.stringify([objectKey, event.type, event.reason, event.action, event.message, reportingController]);
    const nowMs = clock.monotonic();
    const known = this.#series.get(key);
    if (known && nowMs - known.seenAtMs <= seriesEndsAfterMs) return this.#repeat(known);
    const bucket = takeToken(this.#buckets.get(objectKey) ?? fullBucket(objectRate, nowMs), objectRate, nowMs);
    if (!bucket) return this.#dropped("rate");
    this.#buckets.set(objectKey, bucket);
    const series = {
      key,
      event: this.#eventOf(event, reportingController),
      count: 1,
      lastMs: clock.now(),
      seenAtMs: nowMs,
      created: false,
      writtenCount: 0,
      writtenAtMs: nowMs,
      queued: false,
    };
    this.#series.set(key, series);
    this.#enqueue(series);
    for (const listener of this.#listeners) listener(series.event);
  }

  #repeat(series: Series): void {
    const { clock } = this.#options;
    series.count++;
    series.lastMs = clock.now();
    series.seenAtMs = clock.monotonic();
    const due = series.count >= 2 * series.writtenCount || series.seenAtMs - series.writtenAtMs >= rewriteAfterMs;
    if (due) this.#enqueue(series);
    else this.#rewrite ??= clock.setTimer(rewriteAfterMs, () => this.#rewriteAll());
  }

  #rewriteAll(): void {
    this.#rewrite = undefined;
    for (const series of this.#series.values()) if (series.count > series.writtenCount) this.#enqueue(series);
  }

  #eventOf(event: EventToRecord, reportingController: string): Event {
    const { clock, reportingInstance } = this.#options;
    return eventObject(event, { reportingController, reportingInstance, nowMs: clock.now(), suffix: this.#suffix() });
  }

  /** Time, a counter and chance: unique within this process, and between processes as good as. */
  #suffix(): string {
    const { clock, random } = this.#options;
    const chance = Math.floor(random() * 2 ** 32);
    return `${clock.now().toString(16)}${(this.#sequence++ & 0xffff).toString(16).padStart(4, "0")}${chance.toString(16).padStart(8, "0")}`;
  }

  #enqueue(series: Series): void {
    if (series.queued) return;
    series.queued = true;
    const displaced = this.#queue.push(series);
    if (displaced) {
      displaced.queued = false;
      // Forgotten, so that the next of its sort is a first one again.
      this.#series.delete(displaced.key);
      this.#dropped("queue");
    }
    this.#draining ??= this.#drain();
  }

  async #drain(): Promise<void> {
    for (let series = this.#queue.shift(); series; series = this.#queue.shift()) {
      series.queued = false;
      await this.#write(series);
    }
    this.#draining = undefined;
  }

  async #write(series: Series): Promise<void> {
    const { clock, random, metrics } = this.#options;
    const count = series.count;
    // Said before it is done, so that what happens meanwhile is held against this write and not against the one before.
    series.writtenCount = count;
    series.writtenAtMs = clock.monotonic();
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#send(series, count);
        metrics.of.runtime_events_recorded_total.inc({ type: series.event.type, reason: series.event.reason });
        return;
      } catch (error) {
        if (this.#closed.signal.aborted) return this.#dropped("closed");
        const passing = !isApiError(error) || isApiError(error, "TooManyRequests", "ServerError", "Unauthorized");
        if (!passing || attempt === attempts) {
          this.#warn(error);
          return this.#dropped(passing ? "unreachable" : "refused");
        }
        const askedMs = (isApiError(error) ? error.retryAfterMs : undefined) ?? 0;
        // No longer than five minutes: the queue behind this one is short.
        const waitMs = Math.min(askedMs, 300_000) + 500 * 2 ** attempt * (0.5 + random());
        // Rejects only when the recorder is closed, and then the loop above ends it.
        await sleep(clock, waitMs, this.#closed.signal).catch(() => undefined);
      }
    }
  }

  async #send(series: Series, count: number): Promise<void> {
    const { client, clock } = this.#options;
    const repeated = count > 1 && { series: { count, lastObservedTime: formatMicroTime(series.lastMs) } };
    const timeout = new AbortController();
    const timer = clock.setTimer(writeTimeoutMs, () => timeout.abort(new Error("writing the Event took too long")));
    const signal = AbortSignal.any([timeout.signal, this.#closed.signal]);
    const { namespace = "default", name = "" } = series.event.metadata;
    try {
      if (series.created) {
        try {
          await client.mergePatch(Event, { namespace, name }, repeated || {}, { answer: "metadata" }, signal);
          return;
        } catch (error) {
          // Events are deleted an hour after their last change, and by anybody who likes to.
          if (!isApiError(error, "NotFound")) throw error;
          series.created = false;
        }
      }
      await client.create(Event, { ...series.event, ...repeated }, { answer: "metadata" }, signal);
      series.created = true;
    } catch (error) {
      if (!isApiError(error, "AlreadyExists")) throw error;
      // Our own create whose answer was lost.
      series.created = true;
    } finally {
      timer.cancel();
    }
  }

  #dropped(cause: "rate" | "queue" | "refused" | "unreachable" | "closed"): void {
    this.#options.metrics.of.runtime_events_dropped_total.inc({ cause });
  }

  /** Once per sort of failure: Events are a courtesy and must not fill the log. */
  #warn(error: unknown): void {
    const err = errorFields(error);
    const sort = err.code ?? err.type;
    if (this.#warned.has(sort)) return;
    this.#warned.add(sort);
    this.#options.log.warn({ err }, "could not write an Event; further failures of this sort are only counted in runtime_events_dropped_total");
  }
}

// The Event object for something that happened, within the limits that the API server enforces.

/** Limits of events.k8s.io/v1: https://github.com/kubernetes/kubernetes/blob/v1.36.0/pkg/apis/core/validation/events.go */
const maxNoteBytes = 1024;
const maxWord = 128;
/** Leaves room for what makes a name unique in the 253 characters of an object's name. */
const maxNamePrefix = 200;

/** Who reports, when, and what makes the Event's name unique. */
interface EventOrigin {
  /** A qualified name such as `keyturn.io/jwks`. */
  readonly reportingController: string;
  /** The pod, or whatever distinguishes processes. */
  readonly reportingInstance: string;
  readonly nowMs: number;
  /** Lower-case letters and digits, different for each Event of one object. */
  readonly suffix: string;
}

/** The Event to create. Events about cluster-scoped objects live in the namespace `default`, as the API server demands. */
function eventObject(
  { kind, object, type, reason, action = "Reconcile", message }: EventToRecord,
  { reportingController, reportingInstance, nowMs, suffix }: EventOrigin,
): Event {
  const { namespace, name, uid, resourceVersion } = object;
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { namespace: namespace ?? "default", name: `${namePrefix(name)}.${suffix}` },
    eventTime: formatMicroTime(nowMs),
    type,
    reason: reason.slice(0, maxWord),
    action: action.slice(0, maxWord),
    note: cutBytes(redactText(message), maxNoteBytes),
    regarding: {
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      ...(namespace !== undefined && { namespace }),
      name,
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
    reportingController,
    reportingInstance: reportingInstance.slice(0, maxWord),
  };
}

/** Names of objects such as roles may hold characters that names of Events may not. */
function namePrefix(name: string): string {
  const allowed = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]/g, "-")
    .slice(0, maxNamePrefix)
    .split(".")
    .map((label) => label.replaceAll(/^-+|-+$/g, ""))
    .filter((label) => label !== "")
    .join(".");
  return allowed === "" ? "object" : allowed;
}

function cutBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  const ellipsis = "…";
  let end = most - Buffer.byteLength(ellipsis);
  // A byte 10xxxxxx continues a character; cut before its first byte.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString() + ellipsis;
}
