// The time by the server's clock, as a signal that moves every second while somebody looks.
import { signal, type ReadonlySignal } from "@preact/signals";

/** The server's time. */
export interface PageClock {
  /** Moves every second. */
  readonly now: ReadonlySignal<number>;
  /** The server's time at this moment. */
  read(): number;
  /** Sets the clock by what the server says. */
  set(serverNowMs: number): void;
}

/** Starts the clock of the page; it runs for as long as the page is there. */
export function startClock(): PageClock {
  let aheadMs = 0;
  const read = (): number => Date.now() + aheadMs;
  const now = signal(read());
  const move = (): void => {
    if (!document.hidden) now.value = read();
  };
  setInterval(move, 1000);
  document.addEventListener("visibilitychange", move);
  return {
    now,
    read,
    set(serverNowMs) {
      aheadMs = serverNowMs - Date.now();
      now.value = read();
    },
  };
}
