// Whether the API server still answers. One that is frozen breaks no watch, and what it said before looks as good as ever.
import { ApiError, type Client, type Clock, sleep, type WatchStatus } from "@keyturn/runtime";

/** The last word of the API server. */
export interface ServerContact {
  /** When it was heard, by the clock of who asks. */
  lastMs(this: void): number;
  /** How long ago that is, whatever becomes of clocks. */
  silentForMs(this: void): number;
}

const askEveryMs = 5_000;
const askTimeoutMs = 5_000;

/** Longer than four questions without an answer: nothing is known about now. */
const maxSilenceMs = 25_000;

/** The API server sends a bookmark every minute, but leaves one out at times: 123 s were seen between two. A watch is given up after 150 s. */
const maxQuietMs = 140_000;

/** Asks for the version every 5 s until the signal aborts. A refusal is an answer, too; one of a proxy before a server that is gone is not. */
export function keepContact(
  { client, clock }: { readonly client: Pick<Client, "request">; readonly clock: Clock },
  signal: AbortSignal,
): ServerContact {
  let heard = { atMs: clock.now(), monotonicMs: clock.monotonic() };
  const ask = async (): Promise<void> => {
    const overdue = new AbortController();
    const timer = clock.setTimer(askTimeoutMs, () => overdue.abort(new Error("no answer in time")));
    try {
      await client.request({ method: "GET", path: "/version" }, AbortSignal.any([signal, overdue.signal])).catch((error: unknown) => {
        if (!(error instanceof ApiError) || error.status >= 500) throw error;
      });
      heard = { atMs: clock.now(), monotonicMs: clock.monotonic() };
    } catch {
      // Whatever went wrong: nothing was heard.
    } finally {
      timer.cancel();
    }
  };
  const keep = async (): Promise<void> => {
    while (!signal.aborted) {
      await ask();
      // Rejects only when the signal aborts, which the loop sees by itself.
      await sleep(clock, askEveryMs, signal).catch(() => {});
    }
  };
  void keep();
  return { lastMs: () => heard.atMs, silentForMs: () => clock.monotonic() - heard.monotonicMs };
}

/** Whether so much time has passed that nothing can be said about now. */
export function isContactLost({ silentForMs }: ServerContact): boolean {
  return silentForMs() > maxSilenceMs;
}

/** How a watch fares, as far as that can be believed: one of a server that is silent, or that is quiet for longer than bookmarks allow, is as good as broken. */
export function believedStatus<S extends Pick<WatchStatus, "state" | "quietForMs">>(status: S, contact: ServerContact): S {
  const { state, quietForMs } = status;
  if (state.type === "missing" || state.type === "forbidden" || state.type === "retrying") return status;
  if (isContactLost(contact)) return { ...status, state: { type: "retrying", error: "the API server has been silent for too long" } };
  const isQuiet = state.type === "live" && quietForMs > maxQuietMs;
  return isQuiet ? { ...status, state: { type: "retrying", error: "the watch has been silent for longer than its bookmarks allow" } } : status;
}
