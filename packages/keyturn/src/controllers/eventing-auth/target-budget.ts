// What one runtime's cluster may cost: bytes and time. A cluster is somebody else's, and whatever it sends must not be felt by others.
import {
  type Clock,
  ConnectionError,
  createNameLookup,
  type OnRead,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from "@keyturn/runtime";

/** One Secret is watched there, of a few kB. What is sent about it in excess of this is of no use to anybody. */
const burstBytes = 512 * 1024;
/** Bookmarks, reconnections, and changes that people make. */
const bytesPerMs = 8;
/** Reading takes time for each piece, however small: so many bytes count at least. */
const leastPiece = 512;
/** What TLS says besides the data comes in the smallest pieces of all: each of its bytes counts as so many. A handshake has a few kB. */
const silentFactor = 8;

/** Their names are looked up apart from everybody else's. */
export const targetLookup = createNameLookup();

interface TargetBudgetOptions {
  readonly clock: Clock;
  /** From the start of a request to the end of its response; a watch has none. */
  readonly timeoutMs: number;
  /** Called when the cluster has sent too much. */
  readonly onExceeded: (error: ConnectionError) => void;
}

/**
 * A transport that reads no more than the budget allows. What exceeds it ends the connection, and until half of the budget is there again, requests
 * fail at once. `open` makes the transport, which tells `onRead` of all that it reads.
 */
export function budgetedTransport(open: (onRead: OnRead) => Transport, { clock, timeoutMs, onExceeded }: TargetBudgetOptions): Transport {
  let left = burstBytes;
  let countedMs = clock.monotonic();
  let exhausted = false;
  const refill = (): void => {
    const nowMs = clock.monotonic();
    left = Math.min(burstBytes, left + (nowMs - countedMs) * bytesPerMs);
    countedMs = nowMs;
    if (left >= burstBytes / 2) exhausted = false;
  };
  const transport = open((bytes, of) => {
    refill();
    left -= of === "data" ? Math.max(bytes, leastPiece) : bytes * silentFactor;
    if (left >= 0) return;
    exhausted = true;
    const error = tooMuch();
    onExceeded(error);
    throw error;
  });

  return {
    async send(request: TransportRequest, signal?: AbortSignal): Promise<TransportResponse> {
      refill();
      if (exhausted) throw tooMuch();
      if (request.lane === "watch") return transport.send(request, signal);
      const ended = new AbortController();
      const end = (): void => ended.abort(signal?.reason);
      signal?.addEventListener("abort", end, { once: true });
      if (signal?.aborted) end();
      const timer = clock.setTimer(timeoutMs, () =>
        ended.abort(new ConnectionError(`no whole answer within ${timeoutMs} ms (--eventing-auth.target-timeout)`)),
      );
      const done = (): void => {
        timer.cancel();
        signal?.removeEventListener("abort", end);
      };
      try {
        const response = await transport.send(request, ended.signal);
        return { ...response, body: untilRead(response.body, done) };
      } catch (error) {
        done();
        throw error;
      }
    },
    close: () => transport.close(),
  };
}

function tooMuch(): ConnectionError {
  return new ConnectionError(`the cluster sends more than ${burstBytes / 1024} KiB about one Secret; it is asked again in about half a minute`);
}

/** The same body; `done` is called when it has ended, or nobody wants the rest. */
async function* untilRead(body: AsyncIterable<Uint8Array>, done: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } finally {
    done();
  }
}
