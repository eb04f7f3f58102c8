// Windows against the clock on the wall: the next opening is the first minute at which that clock shows one of their minutes, whatever happens to it.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { nextOpeningMs, parseMaintenanceWindows } from "./maintenance-window.ts";

const minuteMs = 60_000;
const days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/** With changes of clocks by an hour, by half an hour, at midnight, and none. */
const zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Santiago"];
/** Around the changes of 2026, and in between. */
const someTime = fc
  .tuple(
    fc.constantFrom("2026-03-08", "2026-03-29", "2026-04-05", "2026-06-15", "2026-09-06", "2026-10-04", "2026-10-25", "2026-11-01"),
    fc.integer({ min: -3 * 1440, max: 3 * 1440 }),
    fc.integer({ min: 0, max: minuteMs - 1 }),
  )
  .map(([day, minutes, ms]) => Date.parse(day) + minutes * minuteMs + ms);
/** Most changes of clocks are in the first hours of a day. */
const timeOfDay = fc
  .oneof(fc.integer({ min: 0, max: 15 }), fc.integer({ min: 0, max: 95 }))
  .map((quarter) => `${two(Math.floor(quarter / 4))}:${two((quarter % 4) * 15)}`);
const someWindow = fc
  .tuple(fc.option(fc.constantFrom(...days), { freq: 1 }), timeOfDay, timeOfDay)
  .filter(([, start, end]) => start !== end)
  .map(([day, start, end]) => `${day === null ? "" : `${day} `}${start}-${end}`);

function two(count: number): string {
  return String(count).padStart(2, "0");
}

/** What the clock on the wall shows, such as `Mon 02:30`. */
function wallClock(timeZone: string): (timeMs: number) => string {
  const format = new Intl.DateTimeFormat("en-GB", { timeZone, weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  return (timeMs) => {
    const parts = new Map(format.formatToParts(timeMs).map(({ type, value }) => [type, value]));
    return `${parts.get("weekday")} ${parts.get("hour")}:${parts.get("minute")}`;
  };
}

/** Every minute of the wall's week that a window has in it. */
function minutesIn(texts: readonly string[]): ReadonlySet<string> {
  const minutes = new Set<string>();
  for (const { startMinute, endMinute } of parseMaintenanceWindows(texts).windows) {
    for (let minute = startMinute; minute < endMinute; minute++) {
      const ofDay = minute % 1440;
      minutes.add(`${days[Math.floor(minute / 1440) % 7]} ${two(Math.floor(ofDay / 60))}:${two(ofDay % 60)}`);
    }
  }
  return minutes;
}

test("the next opening is the first minute that the wall's clock shows within a window", () => {
  fc.assert(
    fc.property(fc.array(someWindow, { minLength: 1, maxLength: 3 }), fc.constantFrom(...zones), someTime, (texts, timeZone, nowMs) => {
      const shows = wallClock(timeZone);
      const open = minutesIn(texts);
      let expectedMs = nowMs;
      for (let step = 1; !open.has(shows(expectedMs)); step++) expectedMs = (Math.floor(nowMs / minuteMs) + step) * minuteMs;
      const openingMs = nextOpeningMs({ ...parseMaintenanceWindows(texts), timeZone }, nowMs);
      expect(new Date(openingMs).toISOString()).toBe(new Date(expectedMs).toISOString());
    }),
    { numRuns: 100 },
  );
});
