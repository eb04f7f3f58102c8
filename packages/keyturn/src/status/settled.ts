// Waits until watches have shown what there is to see, or have said why they cannot.
import { type Clock, sleep, type WatchStatus } from "@keyturn/runtime";

/** How a watch stands; see `Caches.statusOf`. */
type Watched = Pick<WatchStatus, "state" | "synced">;

const lookEveryMs = 25;

/** Resolves when every watch is synced, refused or not served; one that fails is given `patienceMs` to recover. Rejects with the signal's reason when it aborts. */
export async function whenSettled(
  watches: readonly (() => Watched)[],
  { clock, patienceMs, signal }: { readonly clock: Clock; readonly patienceMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const deadlineMs = clock.now() + patienceMs;
  const isSettled = (): boolean =>
    watches.every((status) => {
      const { synced, state } = status();
      return synced || state.type === "missing" || state.type === "forbidden" || (state.type === "retrying" && clock.now() >= deadlineMs);
    });
  while (!isSettled()) await sleep(clock, lookEveryMs, signal);
}
