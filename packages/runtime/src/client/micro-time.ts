// Kubernetes' MicroTime: the API server wants six digits of a second in Lease and Event times, and rejects three.

/** RFC 3339 in UTC with microseconds. `ms` may have a fraction. Throws `RangeError` if it is no date. */
export function formatMicroTime(ms: number): string {
  const wholeMs = Math.floor(ms);
  const micros = Math.min(999, Math.round((ms - wholeMs) * 1000));
  return `${new Date(wholeMs).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
}

/** Milliseconds since the epoch, with the microseconds as a fraction; undefined if `text` is no RFC 3339 time. */
export function parseMicroTime(text: string): number | undefined {
  const parts = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(text);
  if (!parts) return undefined;
  const [, seconds = "", fraction = "", zone = ""] = parts;
  const wholeMs = Date.parse(`${seconds}${zone}`);
  return Number.isNaN(wholeMs) ? undefined : wholeMs + Number(fraction.padEnd(9, "0")) / 1e6;
}
