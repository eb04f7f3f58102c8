// How far the API server's clock is from ours, from the Date header of its answers.
import type { Clock } from "../clock.ts";
import type { Transport } from "./transport.ts";

/** What is known about the API server's clock. */
export interface ServerClock {
  /**
   * By how many milliseconds the server's clock is ahead of ours (negative: behind), as of its last answer; undefined before the first.
   * The header has whole seconds and the answer was under way: it is the least difference that explains the header, so clocks that agree give 0.
   */
  aheadMs(): number | undefined;
}

/** The header's resolution. */
const headerStepMs = 1000;

/** Sends through `transport` and reads the time of every answer. */
export function observeServerClock(transport: Transport, clock: Clock): { readonly transport: Transport; readonly serverClock: ServerClock } {
  let aheadMs: number | undefined;
  return {
    serverClock: { aheadMs: () => aheadMs },
    transport: {
      async send(request, signal) {
        const sentMs = clock.now();
        const response = await transport.send(request, signal);
        const dateMs = Date.parse(response.headers["date"] ?? "");
        if (!Number.isNaN(dateMs)) aheadMs = leastDifference(dateMs, { sentMs, receivedMs: clock.now() });
        return response;
      },
      close: () => transport.close(),
    },
  };
}

/** The server wrote `dateMs` at some moment of that second, which was after we sent and before we received. */
function leastDifference(dateMs: number, { sentMs, receivedMs }: { readonly sentMs: number; readonly receivedMs: number }): number {
  const leastMs = dateMs - receivedMs;
  const mostMs = dateMs + headerStepMs - sentMs;
  if (leastMs > 0) return leastMs;
  return mostMs < 0 ? mostMs : 0;
}
