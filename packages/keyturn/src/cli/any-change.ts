// Tells when anything of some kinds has changed: from watches of metadata alone, so that nothing is asked for while nothing happens.
import { abortRace, createCaches, createLogger, type Kind, sleep, systemClock, systemRandom } from "@keyturn/runtime";
import { whenSettled } from "../status/settled.ts";
import type { Session } from "./session.ts";

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
