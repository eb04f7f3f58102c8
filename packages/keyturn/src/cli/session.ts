// The connection of a command: with the person's own kubeconfig and rights, for as long as it runs.
import {
  abortRace,
  type Client,
  ConfigError,
  type ConnectionConfig,
  createCaches,
  createClient,
  createHttpTransport,
  createLogger,
  isApiError,
  type Kind,
  loadConfig,
  observeServerClock,
  sleep,
  systemClock,
  systemRandom,
  type Transport,
} from "@keyturn/runtime";
import { namespaceFlag, readFlags, UsageError } from "../feature/flag.ts";
import { impatientTransport, inPlainWords } from "../feature/plain-errors.ts";
import { operatorFlags } from "../operator-flags.ts";
import { whenSettled } from "../status/status-text.ts";
import type { Console } from "./command-line.ts";

// From `--kubeconfig` and `--context` to a connection; what cannot be used is wrong usage.

/** The connection that the flags and the environment name. Rejects with a `UsageError` that says what is wrong with them. */
export async function connect(
  { kubeconfig, context }: { readonly kubeconfig: string | undefined; readonly context: string | undefined },
  environment: Readonly<Record<string, string | undefined>>,
): Promise<ConnectionConfig> {
  return orUsageError(() => loadConfig({ env: environment, ...(kubeconfig && { kubeconfig }), ...(context && { context }) }));
}

/** Errors that the person who typed the command can mend are wrong usage: one line, exit code 2. */
export async function orUsageError<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

// A connection with the person's own kubeconfig and rights, for as long as one command runs.

const flags = {
  namespace: namespaceFlag({
    name: "namespace",
    short: "n",
    group: "Connection",
    placeholder: "NAMESPACE",
    help: "the namespace to look in; otherwise the kubeconfig's",
  }),
  kubeconfig: operatorFlags.kubeconfig,
  context: operatorFlags.context,
};

/** The flags that say whom to ask, and where to look. */
export const sessionFlags = Object.values(flags);

/** What a command works with. */
export interface Session {
  readonly client: Client;
  readonly transport: Transport;
  /** Where requests go. */
  readonly server: string;
  /** The namespace that was asked for, or the kubeconfig's own, or `default`. */
  readonly namespace: string;
  /** The API server's time, as far as its responses have shown it. */
  readonly now: () => number;
  /** By how much its clock is ahead of ours; undefined before its first answer. */
  readonly serverAheadMs: () => number | undefined;
  readonly signal: AbortSignal;
}

/** The longest that Node knows. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * Runs `work` with a connection, and closes it. Rejects with a `UsageError` for a kubeconfig that cannot be used. A server that cannot be reached, and
 * what the person may not do, is said in one sentence and at once; `isPatient` is for what goes on until the server is back.
 */
export async function inSession<T>(
  given: Readonly<Record<string, string | undefined>>,
  console: Console,
  work: (session: Session) => Promise<T>,
  { isPatient = false }: { readonly isPatient?: boolean } = {},
): Promise<T> {
  const where = readFlags(flags, given, console.environment);
  const connection = await connect(where, console.environment);
  const wire = await orUsageError(async () =>
    createHttpTransport({ ...connection, env: console.environment, userAgent: "keyturn", clock: systemClock }),
  );
  const { server } = connection;
  const quick = isPatient ? wire : impatientTransport(wire, { server, now: () => systemClock.monotonic() });
  const { transport, serverClock } = observeServerClock(quick, systemClock);
  // Neither a watch that waits for its next attempt nor a clock keeps a process alive, and the work is not done before it is done.
  const awake = setInterval(() => {}, maxTimerMs);
  try {
    return await work({
      client: createClient(transport, { clock: systemClock, random: systemRandom }),
      transport,
      server,
      namespace: where.namespace ?? connection.namespace ?? "default",
      now: () => systemClock.now() + (serverClock.aheadMs() ?? 0),
      serverAheadMs: () => serverClock.aheadMs(),
      signal: console.signal,
    });
  } catch (error) {
    throw isPatient ? error : inPlainWords(error, server);
  } finally {
    clearInterval(awake);
    transport.close();
  }
}

/** Rejects if the API server does not answer, or does not know the person. Where nobody may ask for the version, a refusal is an answer. */
export async function answered({ client, signal }: Pick<Session, "client" | "signal">): Promise<void> {
  try {
    await client.request({ method: "GET", path: "/version" }, signal);
  } catch (error) {
    if (!isApiError(error, "Forbidden")) throw error;
  }
}

// Notices when anything of some kinds has changed: from watches of metadata alone, so that nothing is asked for while nothing happens.

/** Changes that come together are one. */
const quietMs = 250;
const patienceMs = 10_000;

/** Yields once at the start, and then after each change or burst of changes, until the session's signal aborts. Rejects for a kind that may not be watched. */
export async function* watchAny(
  { transport, signal }: Pick<Session, "transport" | "signal">,
  { kinds, namespace }: { readonly kinds: readonly Kind[]; readonly namespace: string | undefined },
): AsyncGenerator<void> {
  const log = createLogger({ level: "silent", destination: { write: () => {} } });
  const caches = createCaches({ transport, clock: systemClock, random: systemRandom, log });
  const watched = kinds.map((kind) => caches.watch(kind, { only: "metadata", keep: () => true, ...(namespace !== undefined && { namespace }) }));
  const stop = new AbortController();
  caches.start(AbortSignal.any([signal, stop.signal]));
  try {
    await whenSettled(
      watched.map((cache) => () => caches.statusOf(cache)),
      { clock: systemClock, patienceMs, signal },
    );
    for (const cache of watched) {
      const { state, resource } = caches.statusOf(cache);
      if (state.type === "forbidden") throw new Error(`cannot watch ${resource}: you lack the right to ${state.rule}`);
      if (state.type === "retrying") throw new Error(`cannot watch ${resource}: ${state.error}`);
    }
    let changed = Promise.withResolvers<void>();
    for (const cache of watched) cache.subscribe(() => changed.resolve());
    while (!signal.aborted) {
      changed = Promise.withResolvers<void>();
      yield;
      await abortRace(changed.promise, signal);
      await sleep(systemClock, quietMs, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    stop.abort();
  }
}
