// The stretch of time that a timeline shows, and how it is zoomed and moved.

/** What a timeline shows. `fromMs` is before `toMs`. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** The narrowest and the widest stretch: from minutes to years. */
export const narrowestMs = 2 * minuteMs;
export const widestMs = 4 * 365 * dayMs;

/** The stretches that have a button of their own. */
export const zoomSteps = [
  { name: "5m", spanMs: 5 * minuteMs, label: "5 minutes" },
  { name: "15m", spanMs: 15 * minuteMs, label: "15 minutes" },
  { name: "1h", spanMs: hourMs, label: "1 hour" },
  { name: "6h", spanMs: 6 * hourMs, label: "6 hours" },
  { name: "1d", spanMs: dayMs, label: "1 day" },
  { name: "1w", spanMs: 7 * dayMs, label: "1 week" },
  { name: "1M", spanMs: 30 * dayMs, label: "1 month" },
  { name: "6M", spanMs: 182 * dayMs, label: "6 months" },
] as const;

/** Of what a timeline that follows the time shows, so much is past; the rest is what is planned. */
const pastShare = 0.68;

/** A stretch that moves along with the time. */
export function followingRange(spanMs: number, nowMs: number): TimeRange {
  const span = clampSpan(spanMs);
  return { fromMs: nowMs - span * pastShare, toMs: nowMs + span * (1 - pastShare) };
}

/** The range made `factor` times as wide; what is at `anchorMs` stays where it is. */
export function zoomed(range: TimeRange, factor: number, anchorMs: number): TimeRange {
  const span = range.toMs - range.fromMs;
  const next = clampSpan(span * factor);
  const share = (anchorMs - range.fromMs) / span;
  const fromMs = anchorMs - next * share;
  return { fromMs, toMs: fromMs + next };
}

/** The range moved by a share of its width. */
export function moved(range: TimeRange, share: number): TimeRange {
  const by = (range.toMs - range.fromMs) * share;
  return { fromMs: range.fromMs + by, toMs: range.toMs + by };
}

/** Where a time is in the range: 0 is its beginning, 1 its end. Outside of it, below 0 or above 1. */
export function shareAt(range: TimeRange, atMs: number): number {
  return (atMs - range.fromMs) / (range.toMs - range.fromMs);
}

/** A span that can be shown. */
export function clampSpan(spanMs: number): number {
  return Math.min(widestMs, Math.max(narrowestMs, spanMs));
}

/** The smallest zoom step in which all given times can be seen around now, for a first look. */
export function fittingSpan(timesMs: readonly number[], nowMs: number): number {
  const needed = Math.max(0, ...timesMs.map((at) => (at < nowMs ? (nowMs - at) / pastShare : (at - nowMs) / (1 - pastShare))));
  return zoomSteps.find(({ spanMs }) => spanMs >= needed)?.spanMs ?? zoomSteps[zoomSteps.length - 1]?.spanMs ?? dayMs;
}
