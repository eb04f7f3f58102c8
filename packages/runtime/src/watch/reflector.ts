// Drives the watch's state machine against a real transport: makes the requests it asks for, feeds it what comes, and never ends by itself.
import { refusalText, retryAfterInBody, type StatusBody } from "../client/api-error.ts";
import { readBody, mediaType, retryAfterOf } from "../client/response.ts";
import type { Selection } from "../client/client.ts";
import { apiVersionOf, collectionPath, keyOfObject, type Kind, type KubeObject, type Stored } from "../client/kind.ts";
import { AnswerTooLongError, type Transport, type TransportRequest, type TransportResponse } from "../client/transport.ts";
import { type Clock, sleep, sharedTimeSlice, checkNumbers } from "../clock.ts";
import type { Logger } from "../observe/logger.ts";
import { messageOf } from "../observe/redaction.ts";
import type { Random } from "../random.ts";
import { decodeProtobufStatus, protobufObjectReader, protobufType, readMetadataOnly } from "../wire/protobuf-objects.ts";
import { WireError } from "../wire/protobuf-reader.ts";
import {
  decodeJsonPage,
  decodeJsonStatus,
  decodeProtobufPage,
  finishMetadata,
  finishWhole,
  JsonWatchDecoder,
  ProtobufWatchDecoder,
  type WatchDecoder,
  type WireEvent,
  type WirePage,
} from "./decoders.ts";
import { deadlineOf, idleWatch, type Observed, step, type WatchEffect, type WatchEvent, type WatchInput, type WatchState } from "./step.ts";
import { defaultWatchLimits, type WatchLimits } from "./watch-limits.ts";
import { runtimeLimits } from "../limits.ts";

/** What a reflector needs. */
interface ReflectorOptions<V> {
  readonly source: WatchSource;
  /** What is made of each object. Must not throw. */
  readonly keep: (object: Stored<KubeObject>) => V;
  /** Gets every event in order; a returned promise holds the next one back. */
  readonly deliver: (event: WatchEvent<V>) => void | Promise<void>;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly limits?: Partial<WatchLimits>;
  /** A kind that is not served counts as one of which there is nothing. Default false. */
  readonly optional?: boolean;
}

/** Errors of the API server are small; of a longer one the status says enough. */
const { refusalBytes: maxErrorBytes } = runtimeLimits;
/** How many times fewer objects are asked for when a page was too long. */
const pageShrink = 8;

/** Aborts a request whose deadline has passed. */
const overdue = new Error("the watch's deadline has passed");

/** A watch that runs until it is stopped. */
export class Reflector<V> {
  readonly #options: ReflectorOptions<V>;
  readonly #limits: WatchLimits;
  #state: WatchState = idleWatch;
  #lastByteMs: number;
  #receivedBytes = 0;
  #pageSize: number;

  constructor(options: ReflectorOptions<V>) {
    this.#options = options;
    this.#limits = { ...defaultWatchLimits, ...options.limits };
    checkNumbers({ ...this.#limits });
    this.#pageSize = this.#limits.pageSize;
    this.#lastByteMs = options.clock.monotonic();
  }

  get state(): WatchState {
    return this.#state;
  }

  /** Since the last byte from the server, or since the beginning. */
  get quietForMs(): number {
    return this.#options.clock.monotonic() - this.#lastByteMs;
  }

  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /** Watches until the signal aborts, then resolves. Fails only if `deliver` does. */
  async run(signal: AbortSignal): Promise<void> {
    let effect = await this.#step({ type: "go" });
    while (!signal.aborted) {
      // Every state but those that wait for an attempt's outcome asks for something, and an attempt ends only with an effect.
      effect = effect ? await this.#perform(effect, signal) : await this.#step({ type: "broken", message: "the request ended without an outcome" });
    }
  }

  async #perform(effect: WatchEffect, signal: AbortSignal): Promise<WatchEffect | undefined> {
    if (effect.type === "wait") {
      const waitMs = effect.atLeastMs + effect.spreadMs * this.#options.random();
      await sleep(this.#options.clock, waitMs, signal).catch(() => undefined);
      return signal.aborted ? undefined : this.#step({ type: "go" });
    }
    const attempt = new AbortController();
    const stop = (): void => attempt.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    this.#lastByteMs = this.#options.clock.monotonic();
    const disarm = this.#armDeadline(attempt);
    try {
      const next = await this.#request(effect, attempt.signal);
      return next ?? (signal.aborted ? undefined : await this.#step({ type: "ended" }));
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error instanceof DeliveryError) throw error.cause;
      return await this.#step(attempt.signal.reason === overdue ? { type: "overdue" } : { type: "broken", message: messageOf(error) });
    } finally {
      disarm();
      signal.removeEventListener("abort", stop);
      // Closes the connection of a stream that was left before its end.
      attempt.abort();
    }
  }

  /** Aborts the attempt when the machine's deadline is over; the deadline moves, so an early timer just looks again. */
  #armDeadline(attempt: AbortController): () => void {
    const { clock } = this.#options;
    const arm = (): { cancel(): void } | undefined => {
      const deadlineMs = deadlineOf(this.#state, this.#lastByteMs, this.#limits);
      if (deadlineMs === undefined) return undefined;
      const remainingMs = deadlineMs - clock.monotonic();
      if (remainingMs > 0) return clock.setTimer(remainingMs, () => (timer = arm()));
      attempt.abort(overdue);
      return undefined;
    };
    let timer = arm();
    return () => timer?.cancel();
  }

  async #request(effect: Exclude<WatchEffect, { type: "wait" }>, signal: AbortSignal): Promise<WatchEffect | undefined> {
    const response = await this.#options.transport.send(this.#requestFor(effect), signal);
    this.#lastByteMs = this.#options.clock.monotonic();
    const contentType = response.headers["content-type"] ?? "";
    if (response.status !== 200) return this.#refuse(response, contentType);
    return effect.type === "fetchPage" ? this.#readPage(response, contentType) : this.#readStream(response, contentType);
  }

  #requestFor(effect: Exclude<WatchEffect, { type: "wait" }>): TransportRequest {
    const { source, random } = this.#options;
    const { minWatchSeconds, maxWatchSeconds } = this.#limits;
    if (effect.type === "fetchPage") return source.pageRequest(this.#pageSize, effect.token);
    const timeoutSeconds = Math.round(minWatchSeconds + (maxWatchSeconds - minWatchSeconds) * random());
    return effect.type === "openStream" ? source.streamRequest(timeoutSeconds) : source.watchRequest(effect.resourceVersion, timeoutSeconds);
  }

  async #refuse(response: TransportResponse, contentType: string): Promise<WatchEffect | undefined> {
    const { status } = response;
    const bytes = await readBody(response.body, maxErrorBytes, (count) => this.#received(count));
    const body = decodeStatus(contentType, bytes ?? Buffer.alloc(0));
    const retryAfterMs = retryAfterOf(response.headers["retry-after"], this.#options.clock.now()) ?? retryAfterInBody(body);
    return this.#step({ type: "refused", status, message: refusalText(status, body), retryAfterMs });
  }

  async #readPage(response: TransportResponse, contentType: string): Promise<WatchEffect | undefined> {
    const { maxBodyBytes } = this.#limits;
    const bytes = await readBody(response.body, maxBodyBytes, (count) => this.#received(count));
    if (!bytes) {
      // Whoever has so large objects gets them in smaller pages.
      this.#pageSize = Math.max(1, Math.floor(this.#pageSize / pageShrink));
      throw new AnswerTooLongError("body", maxBodyBytes);
    }
    const page = this.#options.source.decodePage(contentType, bytes);
    await this.#step({ type: "answered" });
    const slice = sharedTimeSlice(this.#options.clock);
    for (const object of page.objects) {
      const stepped = this.#stepNow({ type: "pageObjects", objects: [this.#observe(object)] });
      if (stepped instanceof Promise) await stepped;
      if (slice.used) await slice.pause();
    }
    return this.#step({ type: "pageEnd", resourceVersion: page.resourceVersion, token: page.continue });
  }

  async #readStream(response: TransportResponse, contentType: string): Promise<WatchEffect | undefined> {
    const decoder = this.#options.source.watchDecoder(contentType, this.#limits.maxEventBytes);
    await this.#step({ type: "answered" });
    const slice = sharedTimeSlice(this.#options.clock);
    for await (const chunk of response.body) {
      this.#received(chunk.length);
      decoder.push(chunk);
      for (let event = decoder.next(); event; event = decoder.next()) {
        const stepped = this.#stepNow(this.#inputFor(event));
        const effect = stepped instanceof Promise ? await stepped : stepped;
        if (effect) return effect;
        if (slice.used) await slice.pause();
      }
    }
    return undefined;
  }

  #received(count: number): void {
    this.#receivedBytes += count;
    this.#lastByteMs = this.#options.clock.monotonic();
  }

  #inputFor(event: WireEvent): WatchInput<V> {
    switch (event.type) {
      case "added":
      case "modified":
        return { type: "applied", added: event.type === "added", object: this.#observe(event.object) };
      case "deleted":
        return { type: "deleted", object: identityOf(event.object) };
      case "bookmark":
        return event;
      case "error":
      default: {
        const { code = 500 } = event.status;
        return {
          type: "refused",
          status: code,
          message: refusalText(code, { ...event.status, kind: "Status" }),
          retryAfterMs: retryAfterInBody(event.status),
        };
      }
    }
  }

  #observe(object: Stored<KubeObject>): Observed<V> {
    const { key, uid, resourceVersion } = identityOf(object);
    return { key, uid, resourceVersion, value: this.#options.keep(object) };
  }

  async #step(input: WatchInput<V>): Promise<WatchEffect | undefined> {
    return await this.#stepNow(input);
  }

  /** Without a promise where there is nothing to wait for: a first list makes tens of thousands of steps. */
  #stepNow(input: WatchInput<V>): WatchEffect | undefined | Promise<WatchEffect | undefined> {
    const before = this.#state;
    const { state, events, effect } = step(before, input, {
      nowMs: this.#options.clock.monotonic(),
      limits: this.#limits,
      optional: this.#options.optional ?? false,
    });
    this.#state = state;
    if (state.problem !== before.problem || state.failures !== before.failures) this.#report(before, state);
    try {
      let pending: Promise<void>[] | undefined;
      for (const event of events) {
        const outcome = this.#options.deliver(event);
        if (outcome instanceof Promise) (pending ??= []).push(outcome);
      }
      if (!pending) return effect;
      return Promise.all(pending).then(
        () => effect,
        (cause: unknown) => Promise.reject(new DeliveryError(cause)),
      );
    } catch (cause) {
      throw new DeliveryError(cause);
    }
  }

  /** Says once that it fails, then ever more rarely, and that it is well again. */
  #report(before: WatchState, state: WatchState): void {
    const { log } = this.#options;
    const { problem, failures } = state;
    if (!problem) {
      if (before.problem) log.info({ failures }, "the watch is answered again");
      return;
    }
    const isPowerOfTwo = (failures & (failures - 1)) === 0;
    if (failures > before.failures && (problem.type !== before.problem?.type || isPowerOfTwo)) {
      log.warn({ failures, problem }, "the watch fails and is tried again");
    }
  }
}

/** The store failed: no fault of the connection, so not to be retried. */
class DeliveryError extends Error {
  constructor(cause: unknown) {
    super("a watch event could not be delivered", { cause });
    this.name = "DeliveryError";
  }
}

function identityOf(object: Stored<KubeObject>): { readonly key: string; readonly uid: string; readonly resourceVersion: string } {
  const { uid, resourceVersion } = object.metadata;
  return { key: keyOfObject(object), uid, resourceVersion };
}

// Where a watch reads from: the requests it makes for one kind and selection, and how their answers are decoded.

/** What of each object is asked for. */
type Extent = "whole" | "metadata";

/** The requests of one watch. */
interface WatchSource {
  /** A watch that first sends what exists. */
  streamRequest(timeoutSeconds: number): TransportRequest;
  watchRequest(resourceVersion: string, timeoutSeconds: number): TransportRequest;
  pageRequest(pageSize: number, token: string | undefined): TransportRequest;
  /** The decoder for an answer of this content type. */
  watchDecoder(contentType: string, maxEventBytes: number): WatchDecoder;
  decodePage(contentType: string, bytes: Buffer): WirePage;
}

const json = "application/json";

/**
 * The source for `kind`. Asks for protobuf where we read it (measured: the API server sends 20,000 Secrets of 4 kB three times faster than as JSON)
 * and always names JSON as well; what the server chose decides how its answer is read.
 */
export function watchSource(kind: Kind, selection: Selection, extent: Extent): WatchSource {
  const readObject = extent === "metadata" ? readMetadataOnly : protobufObjectReader(kind);
  const finish = extent === "metadata" ? finishMetadata : finishWhole({ apiVersion: apiVersionOf(kind), kind: kind.kind });
  const path = collectionPath(kind, selection.namespace);

  const request = (query: Readonly<Record<string, string>>, accept: string): TransportRequest => {
    const parameters = new URLSearchParams(query);
    if (selection.labels) parameters.set("labelSelector", selection.labels);
    if (selection.fields) parameters.set("fieldSelector", selection.fields);
    return { method: "GET", path: `${path}?${parameters.toString()}`, headers: { accept }, lane: "watch" };
  };
  const accept = (list: boolean): string => {
    const as = extent === "metadata" ? `;as=PartialObjectMetadata${list ? "List" : ""};g=meta.k8s.io;v=v1` : "";
    const stream = list ? "" : ";stream=watch";
    return readObject ? `${protobufType}${as}${stream},${json}${as}` : `${json}${as}`;
  };
  const readerFor = (contentType: string): typeof readObject => {
    if (contentType.startsWith(protobufType)) {
      if (readObject) return readObject;
    } else if (contentType.startsWith(json)) return undefined;
    throw new WireError(`the answer is in another form than was asked for (${mediaType(contentType)}), perhaps from something in between`);
  };

  return {
    streamRequest: (timeoutSeconds) =>
      request(
        {
          watch: "true",
          sendInitialEvents: "true",
          resourceVersionMatch: "NotOlderThan",
          allowWatchBookmarks: "true",
          timeoutSeconds: String(timeoutSeconds),
        },
        accept(false),
      ),
    watchRequest: (resourceVersion, timeoutSeconds) =>
      request({ watch: "true", resourceVersion, allowWatchBookmarks: "true", timeoutSeconds: String(timeoutSeconds) }, accept(false)),
    // Without a resourceVersion the server answers with its latest state, not with what some cache of it remembers.
    pageRequest: (pageSize, token) => request({ limit: String(pageSize), ...(token !== undefined && { continue: token }) }, accept(true)),
    watchDecoder: (contentType, maxEventBytes) => {
      const reader = readerFor(contentType);
      return reader ? new ProtobufWatchDecoder(reader, maxEventBytes) : new JsonWatchDecoder(finish, maxEventBytes);
    },
    decodePage: (contentType, bytes) => {
      const reader = readerFor(contentType);
      return reader ? decodeProtobufPage(bytes, reader) : decodeJsonPage(bytes, finish);
    },
  };
}

/** The `Status` in the body of an answer that is no success; empty when there is none. */
function decodeStatus(contentType: string, bytes: Buffer): StatusBody {
  try {
    return (contentType.startsWith(protobufType) ? decodeProtobufStatus(bytes) : decodeJsonStatus(bytes)) ?? {};
  } catch (error) {
    // A proxy in between answers in whatever it likes; the HTTP status says enough.
    if (error instanceof WireError) return {};
    throw error;
  }
}
