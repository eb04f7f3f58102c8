import { describe, expect, it } from "vitest";
import { nextOpeningMs, parseMaintenanceWindows, parseTimeZone } from "./maintenance-window.ts";

const opening = (windows: readonly string[], now: string, timeZone = "UTC"): string =>
  new Date(nextOpeningMs({ ...parseMaintenanceWindows(windows), timeZone }, Date.parse(now))).toISOString();

describe("nextOpeningMs", () => {
  it("is now if there are no windows", () => {
    expect(opening([], "2026-03-04T12:34:56.789Z")).toBe("2026-03-04T12:34:56.789Z");
  });

  // 2026-03-04 is a Wednesday.
  it.each([
    ["22:00-04:00", "2026-03-04T12:00:30Z", "2026-03-04T22:00:00.000Z"],
    ["22:00-04:00", "2026-03-04T23:10:30Z", "2026-03-04T23:10:30.000Z"],
    ["22:00-04:00", "2026-03-04T03:59:59Z", "2026-03-04T03:59:59.000Z"],
    ["22:00-04:00", "2026-03-04T04:00:00Z", "2026-03-04T22:00:00.000Z"],
    ["Sat 00:00-24:00", "2026-03-04T12:00:00Z", "2026-03-07T00:00:00.000Z"],
    ["Sat 00:00-24:00", "2026-03-07T23:59:59Z", "2026-03-07T23:59:59.000Z"],
    ["Sat 00:00-24:00", "2026-03-08T00:00:00Z", "2026-03-14T00:00:00.000Z"],
    ["Sun 23:00-01:00", "2026-03-09T00:30:00Z", "2026-03-09T00:30:00.000Z"],
    ["Sun-Tue 10:00-11:00", "2026-03-04T12:00:00Z", "2026-03-08T10:00:00.000Z"],
    ["Fri-Mon 10:00-11:00", "2026-03-09T10:59:00Z", "2026-03-09T10:59:00.000Z"],
  ])("%s, asked at %s, opens at %s", (window, now, expected) => {
    expect(opening([window], now)).toBe(expected);
  });

  it("takes the earliest of several", () => {
    expect(opening(["Sat 00:00-24:00", "Thu 01:00-02:00"], "2026-03-04T12:00:00Z")).toBe("2026-03-05T01:00:00.000Z");
  });

  it("counts in the time zone, across changes of its clocks", () => {
    expect(opening(["22:00-04:00"], "2026-03-04T12:00:00Z", "Europe/Berlin")).toBe("2026-03-04T21:00:00.000Z");
    // Clocks go forward on 29 March, so Monday's 06:00 is an hour earlier in UTC than Saturday's.
    expect(opening(["Mon 06:00-07:00"], "2026-03-28T12:00:00Z", "Europe/Berlin")).toBe("2026-03-30T04:00:00.000Z");
    expect(opening(["Mon 06:00-07:00"], "2026-10-24T12:00:00Z", "Europe/Berlin")).toBe("2026-10-26T05:00:00.000Z");
    // 02:30 does not come on 29 March; on 25 October it comes twice.
    expect(opening(["02:30-02:45"], "2026-03-28T12:00:00Z", "Europe/Berlin")).toBe("2026-03-30T00:30:00.000Z");
    expect(opening(["02:30-03:30"], "2026-03-28T12:00:00Z", "Europe/Berlin")).toBe("2026-03-29T01:00:00.000Z");
    expect(opening(["02:30-02:45"], "2026-10-25T00:00:00Z", "Europe/Berlin")).toBe("2026-10-25T00:30:00.000Z");
    expect(opening(["02:30-02:45"], "2026-10-25T00:50:00Z", "Europe/Berlin")).toBe("2026-10-25T01:30:00.000Z");
  });
});

describe("what cannot be read", () => {
  it.each(["", "22-04", "22:00", "25:00-26:00", "22:60-23:00", "Xyz 10:00-11:00", "10:00-10:00", "24:00-01:00", "Mon,Tue 10:00-11:00"])(
    "%j",
    (text) => {
      expect(() => parseMaintenanceWindows([text])).toThrow(`"${text}" is not a window such as`);
    },
  );

  it("is no time zone", () => {
    expect(() => parseTimeZone("Mars/Olympus")).toThrow('"Mars/Olympus" is not a time zone such as UTC or Europe/Berlin');
    expect(parseTimeZone("Europe/Berlin")).toBe("Europe/Berlin");
  });
});
