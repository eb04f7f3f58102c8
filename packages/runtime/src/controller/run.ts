// One run of one key: allowed by a term, started, cut at its deadline or with its term, and abandoned if it does not listen.
import type { Answer, Client, WriteOptions } from "../client/client.ts";
import { keyOf, keyOfObject, type Kind, type KubeObject, type ObjectKey, type Stored } from "../client/kind.ts";
import { isFinalDeletion } from "../client/response.ts";
import { abortRace, type Sender, type SendPermit } from "../client/transport.ts";
import type { Clock } from "../clock.ts";
import type { Outcome } from "./controller.ts";
import { deadlineFailure, type Failure, failureOf } from "./failure.ts";

/**
 * A time during which keys may be worked on.
 *
 * `isValid` is the truth; the signals follow it as soon as the event loop turns. A process that was stopped and continued therefore asks
 * `isValid` before it acts and does not rely on a timer that should have fired while it stood still.
 */
export interface Term {
  /** Aborts when no new run may start; those under way may end. */
  readonly drain: AbortSignal;
  /** Aborts when everything must stop at once. */
  readonly signal: AbortSignal;
  /** False as soon as the right has run out. */
  isValid(): boolean;
}

/** Why a run's signal aborted or a write was refused: the controller may no longer act here. */
export class TermEndedError extends Error {
  readonly code = "TermEnded";
  constructor(message: string) {
    super(message);
    this.name = "TermEndedError";
  }
}

/** What a write in this term needs: nothing that `isValid` does not allow is sent, and what is under way at the term's end is dropped. `and` may have more to check. */
export function permitOf(term: Pick<Term, "signal" | "isValid">, and: () => void = () => {}): SendPermit {
  return {
    signal: term.signal,
    check: () => {
      and();
      if (!term.isValid()) throw new TermEndedError("write refused: this process does not hold the lease of the controller");
    },
  };
}

/** How a run came out for those who wait for it. */
export type RunEnd =
  | { readonly type: "ok"; readonly outcome: Outcome; readonly abandoned: false }
  | { readonly type: "failed"; readonly failure: Failure; readonly abandoned: boolean }
  /** The term ended first; whoever works on the key next does it all. */
  | { readonly type: "stopped"; readonly abandoned: boolean };

/** A run under way. */
export interface StartedRun {
  /** Never rejects. Resolves no later than shortly after the deadline or `stop`. */
  readonly ended: Promise<RunEnd>;
  /** Resolves when the reconcile itself is over, which for an abandoned run may be much later or never. */
  readonly settled: Promise<void>;
  /** Cuts the run because its term is over. */
  stop(): void;
}

/** Gives the signal of a run, which is made when it is first asked for: most runs find nothing to do and need none, and it is a good part of what they cost. */
export type SignalOnDemand = () => AbortSignal;

/** How one run is made. */
interface RunOptions {
  readonly reconcile: (signal: SignalOnDemand) => Promise<Outcome | void>;
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** How long a run may take to end after its signal aborted. */
  readonly abandonAfterMs: number;
}

/** Why a run's signal aborts at the deadline. */
class DeadlineExceededError extends Error {
  readonly code = "DeadlineExceeded";
}

/** Starts a run. */
export function startRun({ reconcile, clock, deadlineMs, abandonAfterMs }: RunOptions): StartedRun {
  let abort: AbortController | undefined;
  let cutWith: Error | undefined;
  const { promise: ignored, resolve: ignore } = Promise.withResolvers<RunEnd>();
  let grace = clock.setTimer(deadlineMs, () => cut(new DeadlineExceededError(`the run's deadline of ${deadlineMs / 1000} s has passed`)));

  function signal(): AbortSignal {
    abort ??= new AbortController();
    if (cutWith) abort.abort(cutWith);
    return abort.signal;
  }

  function cut(reason: Error): void {
    if (cutWith) return;
    cutWith = reason;
    grace.cancel();
    grace = clock.setTimer(abandonAfterMs, () => ignore({ ...cutEnd(), abandoned: true }));
    abort?.abort(reason);
  }

  /** How a run that was cut ends, whatever it throws about it. */
  function cutEnd(): { readonly type: "stopped" } | { readonly type: "failed"; readonly failure: Failure } {
    return cutWith instanceof DeadlineExceededError ? { type: "failed", failure: deadlineFailure(deadlineMs) } : { type: "stopped" };
  }

  async function attempt(): Promise<RunEnd> {
    try {
      return { type: "ok", outcome: (await reconcile(signal)) ?? {}, abandoned: false };
    } catch (thrown) {
      if (cutWith) return { ...cutEnd(), abandoned: false };
      // A write that was refused because the lease ran out, before a timer could tell.
      if (thrown instanceof TermEndedError) return { type: "stopped", abandoned: false };
      return { type: "failed", failure: failureOf(thrown), abandoned: false };
    }
  }

  const attempted = attempt();
  const settled = attempted.then(() => grace.cancel());
  return {
    ended: Promise.race([attempted, ignored]),
    settled,
    stop: () => cut(new TermEndedError("the controller stops here: its lease was lost or the process ends")),
  };
}

// The client of one run: it writes only while the run may, and a write that was sent is followed to its end.

/** What the client of a run is bound to. */
interface RunClientOptions {
  /** Sends the requests, asking the permit once more as it does so, and records the writes. */
  readonly client: Client;
  readonly permit: SendPermit;
  /** The run's signal. */
  readonly signal: SignalOnDemand;
  /** Told of every write that was sent; resolves when its fate is known. */
  readonly onSent: (fate: Promise<unknown>) => void;
}

/**
 * Wraps a client for one run.
 *
 * Guarantees: no write is sent once the run's signal has aborted or its term has run out, checked by the clock when its bytes go out, so a run that
 * ignores its signal can do no more harm. When a run is cut at its deadline in the middle of a write, its call rejects at once but the request is not torn
 * down: its result is recorded all the same, and the key can wait for it, which takes no longer than the transport gives a write. When the term ends, it
 * is torn down.
 *
 * Caveat: a request that has left this machine cannot be called back.
 */
export function runClient({ client, permit, signal: signalOfRun, onSent }: RunClientOptions): Client {
  function write<R>(send: () => Promise<R>, signal?: AbortSignal): Promise<R> {
    const runSignal = signalOfRun();
    try {
      runSignal.throwIfAborted();
      signal?.throwIfAborted();
      permit.check();
    } catch (refusal) {
      return Promise.reject(refusal);
    }
    const sent = send();
    onSent(sent);
    return abortRace(sent, runSignal, signal === runSignal ? undefined : signal);
  }

  return {
    get: (kind, name, signal = signalOfRun()) => client.get(kind, name, signal),
    list: (kind, selection, signal = signalOfRun()) => client.list(kind, selection, signal),
    create: (kind, object, options, signal) => write(() => client.create(kind, object, options), signal),
    replace: (kind, object, options, signal) => write(() => client.replace(kind, object, options), signal),
    apply: (kind, object, options, signal) => write(() => client.apply(kind, object, options), signal),
    jsonPatch: (kind, name, patch, options, signal) => write(() => client.jsonPatch(kind, name, patch, options), signal),
    mergePatch: (kind, name, patch, options, signal) => write(() => client.mergePatch(kind, name, patch, options), signal),
    delete: (kind, name, options, signal) => write(() => client.delete(kind, name, options), signal),
    deleteCollection: (kind, selection, options, signal) => write(() => client.deleteCollection(kind, selection, options), signal),
    request: (request, signal) =>
      request.method === "GET" ? client.request(request, signal ?? signalOfRun()) : write(() => client.request(request), signal),
  };
}

// A state of an object that the API server confirmed, by storing a write or answering a read: enough to tell whether a cache has caught up with it.

/** A write that the API server confirmed. */
export type WriteRecord =
  | {
      readonly type: "written";
      readonly kind: Kind;
      readonly key: ObjectKey;
      readonly uid: string;
      readonly resourceVersion: string;
      /** Labels after the write: they decide which selections see it. */
      readonly labels: Readonly<Record<string, string>>;
      /** The object after the write, for selections by field, if it was answered with. */
      readonly content?: object;
    }
  | { readonly type: "deleted"; readonly kind: Kind; readonly key: ObjectKey; readonly uid: string | undefined };

// A client that notes what the API server confirmed, so that nobody acts on a cache older than that.

/**
 * A client like `client` that calls `onAnswer` once for each write that the server confirmed and stored, and for each object that `get` found,
 * before the promise resolves. A read counts because decisions are made on it: if the cache is older and what was read changes back before the cache
 * has seen it, no change of the cache would follow. `answersWhole`: as in the `Sender` of the client.
 */
export function trackAnswers(
  client: Client,
  onAnswer: (record: WriteRecord) => void,
  answersWhole: NonNullable<Sender["answersWhole"]> = () => false,
): Client {
  const written = <Seen extends Stored<KubeObject>>(kind: Kind, object: Seen, { dryRun, answer }: WriteOptions<Answer> = {}): Seen => {
    const { uid, resourceVersion, labels = {} } = object.metadata;
    // Reviews, such as SelfSubjectAccessReview, are answered and not stored: they have no version.
    if (dryRun || !resourceVersion) return object;
    const key = keyOfObject(object);
    const isWhole = answer !== "metadata" || answersWhole(kind);
    const record = { type: "written", kind, key, uid, resourceVersion, labels, ...(isWhole && { content: object }) } as const;
    // Taking the last finalizer off an object that is being deleted removes it.
    onAnswer(isFinalDeletion(object) ? { type: "deleted", kind, key, uid } : record);
    return object;
  };
  return {
    async get(kind, name, signal) {
      const object = await client.get(kind, name, signal);
      return object && written(kind, object);
    },
    list: (kind, selection, signal) => client.list(kind, selection, signal),
    create: async (kind, object, options, signal) => written(kind, await client.create(kind, object, options, signal), options),
    replace: async (kind, object, options, signal) => written(kind, await client.replace(kind, object, options, signal), options),
    apply: async (kind, object, options, signal) => written(kind, await client.apply(kind, object, options, signal), options),
    jsonPatch: async (kind, name, patch, options, signal) => written(kind, await client.jsonPatch(kind, name, patch, options, signal), options),
    mergePatch: async (kind, name, patch, options, signal) => written(kind, await client.mergePatch(kind, name, patch, options, signal), options),
    async delete(kind, name, options, signal) {
      const waiting = await client.delete(kind, name, options, signal);
      // What waits was there before: a cache that selects it has it.
      if (waiting) return written(kind, waiting, { ...options, answer: "metadata" });
      if (!options?.dryRun) onAnswer({ type: "deleted", kind, key: keyOf(name), uid: options?.uid });
      return undefined;
    },
    deleteCollection: (kind, selection, options, signal) => client.deleteCollection(kind, selection, options, signal),
    request: (request, signal) => client.request(request, signal),
  };
}
