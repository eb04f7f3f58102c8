// The client of one run: it writes only while the run may, and a write that was sent is followed to its end.
import type { Clock } from "../clock.ts";
import { abortRace } from "../client/abort-race.ts";
import type { Client } from "../client/client.ts";
import type { SignalOnDemand } from "./run.ts";
import type { Term } from "./term.ts";
import { TermEndedError } from "./term.ts";

/** What the client of a run is bound to. */
export interface RunClientOptions {
  /** Sends the requests and records the writes. */
  readonly client: Client;
  readonly term: Term;
  /** The run's signal. */
  readonly signal: SignalOnDemand;
  readonly clock: Clock;
  /** Told of every write that was sent; resolves when its fate is known. */
  readonly onSent: (fate: Promise<unknown>) => void;
}

/** A write whose answer does not come within this is given up: twice the transport's time for an answer's head. */
const writeTimeoutMs = 60_000;

/**
 * Wraps a client for one run.
 *
 * Guarantees: no write is sent once the run's signal has aborted or its term has run out, checked by the clock at every write, so a run that
 * ignores its signal can do no more harm. When a run is cut in the middle of a write, its call rejects at once but the request is not torn down:
 * its result is recorded all the same, and the key can wait for it.
 *
 * Caveat: a request that has left this process cannot be called back.
 */
export function runClient({ client, term, signal: signalOfRun, clock, onSent }: RunClientOptions): Client {
  function write<R>(send: (signal: AbortSignal) => Promise<R>, signal?: AbortSignal): Promise<R> {
    const runSignal = signalOfRun();
    try {
      runSignal.throwIfAborted();
      signal?.throwIfAborted();
      if (!term.isValid()) throw new TermEndedError("write refused: this process no longer holds the lease of the controller");
    } catch (refusal) {
      return Promise.reject(refusal);
    }
    const giveUp = new AbortController();
    const timer = clock.setTimer(writeTimeoutMs, () => giveUp.abort(new Error(`no answer to a write within ${writeTimeoutMs / 1000} s`)));
    const sent = send(giveUp.signal).finally(() => timer.cancel());
    onSent(sent);
    return abortRace(sent, runSignal, signal === runSignal ? undefined : signal);
  }

  return {
    get: (kind, name, signal = signalOfRun()) => client.get(kind, name, signal),
    list: (kind, selection, signal = signalOfRun()) => client.list(kind, selection, signal),
    create: (kind, object, options, signal) => write((sending) => client.create(kind, object, options, sending), signal),
    replace: (kind, object, options, signal) => write((sending) => client.replace(kind, object, options, sending), signal),
    apply: (kind, object, options, signal) => write((sending) => client.apply(kind, object, options, sending), signal),
    jsonPatch: (kind, name, patch, options, signal) => write((sending) => client.jsonPatch(kind, name, patch, options, sending), signal),
    mergePatch: (kind, name, patch, options, signal) => write((sending) => client.mergePatch(kind, name, patch, options, sending), signal),
    delete: (kind, name, options, signal) => write((sending) => client.delete(kind, name, options, sending), signal),
    request: (request, signal) =>
      request.method === "GET" ? client.request(request, signal ?? signalOfRun()) : write((sending) => client.request(request, sending), signal),
  };
}
