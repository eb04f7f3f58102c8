// Says on stderr how a build goes: one line per tool, and on a terminal a line that counts the seconds.
import { systemClock } from "../../clock.ts";
import type { Clock } from "../../clock.ts";

/** Where progress goes. `process.stderr` is one. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Something that takes long, being shown. */
export interface ProgressLine {
  /** Ends the line: `done` or why not. */
  end(outcome: string): void;
}

/** Shows that `what` has begun. On a terminal the line is rewritten each second with the time it has taken. */
export function beginProgress(what: string, stream: ProgressStream, clock: Clock = systemClock): ProgressLine {
  const startMs = clock.monotonic();
  const elapsed = (): string => `${((clock.monotonic() - startMs) / 1000).toFixed(0)} s`;
  if (!stream.isTTY) stream.write(`${what} …\n`);
  const rewrite = (): void => void stream.write(`\r\u001b[K${what} … ${elapsed()}`);
  const ticker = stream.isTTY ? setInterval(rewrite, 1000) : undefined;
  if (stream.isTTY) rewrite();
  return {
    end(outcome) {
      clearInterval(ticker);
      stream.write(`${stream.isTTY ? "\r\u001b[K" : ""}${what}: ${outcome} after ${elapsed()}\n`);
    },
  };
}
