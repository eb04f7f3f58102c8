// Kubernetes' MicroTime: the API server wants six digits of a second in Lease and Event times, and rejects three.

/** RFC 3339 in UTC with microseconds. `ms` may have a fraction. Throws `RangeError` if it is no date. */
export function formatMicroTime(ms: number): string {
  const wholeMs = Math.floor(ms);
  const micros = Math.min(999, Math.round((ms - wholeMs) * 1000));
  return `${new Date(wholeMs).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
}
