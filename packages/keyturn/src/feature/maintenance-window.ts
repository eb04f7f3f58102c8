// When changes are welcome: daily or weekly ranges of hours in one time zone. Pure.
import { type Flag, listFlag, textFlagWithDefault } from "./flag.ts";

/** One range: minutes of the week, from Monday 00:00, in local time; `end` may lie in the following week. */
interface MaintenanceWindow {
  readonly startMinute: number;
  readonly endMinute: number;
}

/** All of them; none at all means that any time will do. */
export interface MaintenanceWindows {
  readonly windows: readonly MaintenanceWindow[];
  /** A name of the IANA database. */
  readonly timeZone: string;
}

const days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"] as const;
const minuteMs = 60_000;
const minutesPerDay = 24 * 60;
const minutesPerWeek = 7 * minutesPerDay;
const form = /^(?:(?<first>[A-Z][a-z]{2})(?:-(?<last>[A-Z][a-z]{2}))? +)?(?<start>\d{2}:\d{2})-(?<end>\d{2}:\d{2})$/;

/**
 * Reads ranges such as `22:00-04:00` (every day), `Sat 00:00-24:00` or `Mon-Fri 22:00-04:00`. One that ends before it starts goes on into the next day;
 * the days are those on which it starts. Throws for anything else, saying what is wanted.
 */
export function parseMaintenanceWindows(texts: readonly string[]): Omit<MaintenanceWindows, "timeZone"> {
  return { windows: texts.flatMap(parseWindow) };
}

function parseWindow(text: string): readonly MaintenanceWindow[] {
  const { first, last, start = "", end = "" } = form.exec(text)?.groups ?? {};
  const startMinute = minuteOfDay(start);
  const endMinute = minuteOfDay(end);
  const firstDay = dayOf(first ?? "Mon");
  const lastDay = dayOf(last ?? first ?? "Sun");
  const valid = startMinute !== undefined && endMinute !== undefined && firstDay !== undefined && lastDay !== undefined;
  if (!valid || startMinute === endMinute || startMinute === minutesPerDay) {
    throw new Error(`"${text}" is not a window such as 22:00-04:00, Sat 00:00-24:00 or Mon-Fri 22:00-04:00`);
  }
  const length = endMinute > startMinute ? endMinute - startMinute : endMinute - startMinute + minutesPerDay;
  const count = ((lastDay - firstDay + days.length) % days.length) + 1;
  return Array.from({ length: count }, (_, index) => {
    const from = ((firstDay + index) % days.length) * minutesPerDay + startMinute;
    return { startMinute: from, endMinute: from + length };
  });
}

function minuteOfDay(text: string): number | undefined {
  const [hours = Number.NaN, minutes = Number.NaN] = text.split(":").map(Number);
  const minute = hours * 60 + minutes;
  return minutes < 60 && minute <= minutesPerDay ? minute : undefined;
}

function dayOf(text: string): number | undefined {
  const day = days.findIndex((name) => name === text);
  return day < 0 ? undefined : day;
}

/** Checks a time zone's name. */
export function parseTimeZone(name: string): string {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions().timeZone;
  } catch (error) {
    throw new Error(`"${name}" is not a time zone such as UTC or Europe/Berlin`, { cause: error });
  }
}

/** When changes may be made next: `nowMs` itself while a window is open. Goes by the clock on the wall: a minute that it skips is not waited for, one that it shows twice counts twice. */
export function nextOpeningMs({ windows, timeZone }: MaintenanceWindows, nowMs: number): number {
  if (windows.length === 0) return nowMs;
  const wall = wallClock(timeZone);
  // Each round ends with an opening or at a change of the clocks, of which there are few in a week.
  for (let timeMs = nowMs; ;) {
    const waitMinutes = minutesUntilOpen(windows, wall(timeMs));
    if (waitMinutes === 0) return timeMs;
    const fromMs = Math.floor(timeMs / minuteMs) * minuteMs;
    const changeMinutes = minutesUntilChange(wall, fromMs, waitMinutes);
    if (changeMinutes === undefined) return fromMs + waitMinutes * minuteMs;
    timeMs = fromMs + changeMinutes * minuteMs;
  }
}

function minutesUntilOpen(windows: readonly MaintenanceWindow[], localMinute: number): number {
  const waits = windows.map(({ startMinute, endMinute }) => {
    const since = (((localMinute - startMinute) % minutesPerWeek) + minutesPerWeek) % minutesPerWeek;
    return since < endMinute - startMinute ? 0 : minutesPerWeek - since;
  });
  return Math.min(...waits);
}

/** In how many minutes the clock on the wall is set to another time, if that is within so many. */
function minutesUntilChange(wall: (timeMs: number) => number, fromMs: number, withinMinutes: number): number | undefined {
  const start = wall(fromMs);
  const isSet = (minutes: number): boolean => wall(fromMs + minutes * minuteMs) !== (start + minutes) % minutesPerWeek;
  if (!isSet(withinMinutes)) return undefined;
  let [before, after] = [0, withinMinutes];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (isSet(middle)) after = middle;
    else before = middle;
  }
  return after;
}

/** The minute of the week that the clock on the wall shows. */
function wallClock(timeZone: string): (timeMs: number) => number {
  const format = new Intl.DateTimeFormat("en-US", { timeZone, weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  return (timeMs) => {
    const parts = Object.fromEntries(format.formatToParts(timeMs).map(({ type, value }) => [type, value]));
    return (dayOf(parts["weekday"] ?? "") ?? 0) * minutesPerDay + Number(parts["hour"]) * 60 + Number(parts["minute"]);
  };
}

// When a feature may do what people would rather have at night, as two flags.

/** The flags of one feature; `what` is what its windows are for, such as `workloads may be restarted`. */
export function maintenanceFlags(
  feature: string,
  what: string,
): { readonly maintenanceWindows: Flag<Omit<MaintenanceWindows, "timeZone">>; readonly maintenanceTimeZone: Flag<string> } {
  const windows = listFlag({
    name: `${feature}.maintenance-windows`,
    help: `when ${what}, such as 22:00-04:00 or Mon-Fri 22:00-04:00,Sat 00:00-24:00; otherwise at any time`,
  });
  const zone = textFlagWithDefault({
    name: `${feature}.maintenance-time-zone`,
    placeholder: "ZONE",
    default: "UTC",
    help: "the time zone of the maintenance windows, such as Europe/Berlin",
  });
  return {
    maintenanceWindows: { ...windows, placeholder: "A,B,…", parse: (text) => parseMaintenanceWindows(windows.parse(text)) },
    maintenanceTimeZone: { ...zone, parse: (text) => parseTimeZone(zone.parse(text)) },
  };
}
