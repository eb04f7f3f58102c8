// Times as texts, and the stretch of time that a timeline shows.

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

// The stretch of time that a timeline shows, and how it is zoomed and moved.

/** What a timeline shows. `fromMs` is before `toMs`. */
export interface TimeRange {
  readonly fromMs: number;
  readonly toMs: number;
}

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

// Which times a timeline's axis names, and how.

/** A named time. `major` ones begin something larger: a day among hours, a year among months. */
export interface Tick {
  readonly atMs: number;
  readonly label: string;
  readonly major: boolean;
}

const steps = [15_000, 30_000, ...[1, 2, 5, 10, 15, 30].map((n) => n * minuteMs), ...[1, 2, 3, 6, 12].map((n) => n * hourMs)];
const daySteps = [1, 2, 7, 14];
const monthSteps = [1, 2, 3, 6, 12];
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/** A Monday, so that steps of weeks begin on Mondays. */
const mondayMs = 4 * dayMs;

/**
 * Round times within the range, at most `most` of them, on the clock that is `offsetMinutes` ahead of UTC.
 * One offset holds for the whole axis, so around a change to summer time labels may be an hour off midnight.
 */
export function ticksOf(range: TimeRange, { most, offsetMinutes }: { readonly most: number; readonly offsetMinutes: number }): readonly Tick[] {
  const shift = offsetMinutes * minuteMs;
  const span = range.toMs - range.fromMs;
  const wanted = span / Math.max(1, most);
  const local = { fromMs: range.fromMs + shift, toMs: range.toMs + shift };
  const stepMs = steps.find((step) => step >= wanted);
  if (stepMs !== undefined) return everyStep(local, stepMs, 0).map((at) => clockTick(at, { stepMs, shift }));
  const days = daySteps.find((count) => count * dayMs >= wanted);
  if (days !== undefined) return everyStep(local, days * dayMs, days >= 7 ? mondayMs : 0).map((at) => dayTick(at, shift));
  const count = monthSteps.find((step) => step * 28 * dayMs >= wanted) ?? 24;
  return everyMonth(local, count).map((at) => monthTick(at, shift));
}

function everyStep({ fromMs, toMs }: TimeRange, stepMs: number, originMs: number): readonly number[] {
  const first = Math.ceil((fromMs - originMs) / stepMs) * stepMs + originMs;
  return Array.from({ length: Math.max(0, Math.floor((toMs - first) / stepMs) + 1) }, (_, index) => first + index * stepMs);
}

function everyMonth({ fromMs, toMs }: TimeRange, count: number): readonly number[] {
  const start = new Date(fromMs);
  const times: number[] = [];
  const firstMonth = Math.ceil((start.getUTCFullYear() * 12 + start.getUTCMonth()) / count) * count;
  for (let month = firstMonth; ; month += count) {
    const at = Date.UTC(Math.floor(month / 12), month % 12);
    if (at > toMs) return times;
    if (at >= fromMs) times.push(at);
  }
}

const two = (value: number): string => String(value).padStart(2, "0");

function clockTick(localMs: number, { stepMs, shift }: { readonly stepMs: number; readonly shift: number }): Tick {
  const time = new Date(localMs);
  const clock = `${two(time.getUTCHours())}:${two(time.getUTCMinutes())}`;
  if (localMs % dayMs === 0) return { ...dayTick(localMs, shift), major: true };
  return { atMs: localMs - shift, label: stepMs < minuteMs ? `${clock}:${two(time.getUTCSeconds())}` : clock, major: false };
}

function dayTick(localMs: number, shift: number): Tick {
  const time = new Date(localMs);
  return { atMs: localMs - shift, label: `${time.getUTCDate()} ${months[time.getUTCMonth()] ?? ""}`, major: time.getUTCDate() === 1 };
}

function monthTick(localMs: number, shift: number): Tick {
  const time = new Date(localMs);
  const january = time.getUTCMonth() === 0;
  return { atMs: localMs - shift, label: january ? String(time.getUTCFullYear()) : (months[time.getUTCMonth()] ?? ""), major: january };
}
