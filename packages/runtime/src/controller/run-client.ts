// The client of one run: it writes only while the run may, and a write that was sent is followed to its end.
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
  /** Told of every write that was sent; resolves when its fate is known. */
  readonly onSent: (fate: Promise<unknown>) => void;
}

/**
 * Wraps a client for one run.
 *
 * Guarantees: no write is sent once the run's signal has aborted or its term has run out, checked by the clock at every write, so a run that
 * ignores its signal can do no more harm. When a run is cut in the middle of a write, its call rejects at once but the request is not torn down:
 * its result is recorded all the same, and the key can wait for it, which takes no longer than the transport gives a write.
 *
 * Caveat: a request that has left this process cannot be called back.
 */
export function runClient({ client, term, signal: signalOfRun, onSent }: RunClientOptions): Client {
  function write<R>(send: () => Promise<R>, signal?: AbortSignal): Promise<R> {
    const runSignal = signalOfRun();
    try {
      runSignal.throwIfAborted();
      signal?.throwIfAborted();
      if (!term.isValid()) throw new TermEndedError("write refused: this process no longer holds the lease of the controller");
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
    request: (request, signal) =>
      request.method === "GET" ? client.request(request, signal ?? signalOfRun()) : write(() => client.request(request), signal),
  };
}
