// Lengths of time and points in time as short texts.
const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** A length of time in at most two units: `4 s`, `3 min`, `2 h 5 min`, `3 d 4 h`, `85 d`, `2 y 10 d`. Rounded down; never negative. */
export function spanText(ms: number): string {
  const span = Math.max(0, ms);
  if (span < minuteMs) return `${Math.floor(span / secondMs)} s`;
  if (span < hourMs) return `${Math.floor(span / minuteMs)} min`;
  if (span < dayMs) return twoUnits(span, [hourMs, "h"], [minuteMs, "min"]);
  if (span < 10 * dayMs) return twoUnits(span, [dayMs, "d"], [hourMs, "h"]);
  if (span < 365 * dayMs) return `${Math.floor(span / dayMs)} d`;
  return twoUnits(span, [365 * dayMs, "y"], [dayMs, "d"]);
}

type Unit = readonly [ms: number, name: string];

function twoUnits(span: number, [largeMs, large]: Unit, [smallMs, small]: Unit): string {
  const rest = Math.floor((span % largeMs) / smallMs);
  const first = `${Math.floor(span / largeMs)} ${large}`;
  return rest === 0 ? first : `${first} ${rest} ${small}`;
}

/** A point in time as seen from now: `3 min ago`, `in 2 h`, `now`. */
export function relativeText(atMs: number, nowMs: number): string {
  const difference = atMs - nowMs;
  if (Math.abs(difference) < secondMs) return "now";
  return difference < 0 ? `${spanText(-difference)} ago` : `in ${spanText(difference)}`;
}

/** A point in time in full, on the clock that is `offsetMinutes` ahead of UTC: `2026-11-15 14:55:04 +01:00`. */
export function absoluteText(atMs: number, offsetMinutes: number): string {
  const shifted = new Date(atMs + offsetMinutes * minuteMs);
  if (Number.isNaN(shifted.getTime())) return "unknown time";
  const text = shifted.toISOString().slice(0, 19).replace("T", " ");
  if (offsetMinutes === 0) return `${text} UTC`;
  const ahead = Math.abs(offsetMinutes);
  const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");
  return `${text} ${offsetMinutes < 0 ? "−" : "+"}${two(ahead / 60)}:${two(ahead % 60)}`;
}
