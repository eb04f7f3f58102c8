// Which times a timeline's axis names, and how.
import type { TimeRange } from "./time-range.ts";

/** A named time. `major` ones begin something larger: a day among hours, a year among months. */
export interface Tick {
  readonly atMs: number;
  readonly label: string;
  readonly major: boolean;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
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
