// Lengths of time in Go's notation (`1h30m`, `500ms`), which Kubernetes users write in manifests and flags.

const millisecondsPerUnit: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

const part = /(\d+(?:\.\d+)?|\.\d+)(ns|us|µs|ms|s|m|h)/gy;

/** The longest duration anywhere, 100 years: longer than anybody waits, and short enough that a date plus a duration is still a date that all can read (RFC 3339 ends with 9999). */
export const maxDurationMs = 876_000 * 3_600_000;

/** Reads a duration that is not negative and not beyond the longest, in milliseconds. Throws for anything else, saying what is wanted. */
export function parseDuration(text: string): number {
  const durationMs = readDuration(text);
  if (durationMs > maxDurationMs) throw new Error(`"${text}" is longer than ${formatDuration(maxDurationMs)} (100 years)`);
  return durationMs;
}

/** The same for what may have been stored before there was a longest: whatever is longer counts as that. */
export function parseStoredDuration(text: string): number {
  return Math.min(readDuration(text), maxDurationMs);
}

function readDuration(text: string): number {
  if (text === "0") return 0;
  if (text === "") throw notDuration(text);
  let totalMs = 0;
  part.lastIndex = 0;
  while (part.lastIndex < text.length) {
    const match = part.exec(text);
    const unitMs = millisecondsPerUnit[match?.[2] ?? ""];
    if (!match || unitMs === undefined) throw notDuration(text);
    totalMs += Number(match[1]) * unitMs;
  }
  return totalMs;
}

function notDuration(text: string): Error {
  return new Error(`"${text}" is not a duration such as 30s, 5m or 1h30m`);
}

/**
 * Throws a `RangeError` that names the first of `options` that is no number, or less than `min`. One that is undefined has a default. A time that is no
 * number would be over at once, and as a limit it would never be reached.
 */
export function checkNumbers(options: Readonly<Record<string, number | undefined>>, min = 1): void {
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && !(value >= min)) throw new RangeError(`${name} is ${value}, but must be a number of at least ${min}`);
  }
}

/** Writes milliseconds as Go would, without zero parts: `1h30m`, `1.5s`, `0s`. */
export function formatDuration(durationMs: number): string {
  const hours = Math.floor(durationMs / 3_600_000);
  const minutes = Math.floor((durationMs % 3_600_000) / 60_000);
  const seconds = (durationMs % 60_000) / 1000;
  const parts = [hours > 0 && `${hours}h`, minutes > 0 && `${minutes}m`, seconds > 0 && `${seconds}s`].filter((text) => text !== false);
  return parts.join("") || "0s";
}
