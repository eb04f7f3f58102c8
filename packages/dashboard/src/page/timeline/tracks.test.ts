import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Bar, ObjectRecord, ObjectRef } from "../../contract/index.ts";
import { drawnTracks, type DrawnTrack, neighbour, placeStretch, splitAtNow, suggestedSpan } from "./tracks.ts";

const bar = (fromMs: number, look: Bar["look"] = "past", toMs?: number): Bar => ({
  id: String(fromMs),
  fromMs,
  ...(toMs === undefined ? {} : { toMs }),
  look,
  hue: 0,
  label: "",
  title: "",
  facts: [],
});

describe("placeStretch", () => {
  const range = { fromMs: 100, toMs: 200 };
  it("cuts at the edges, and leaves out what is not in view", () => {
    expect(placeStretch({ fromMs: 125, toMs: 150 }, range)).toEqual({ left: 0.25, width: 0.25 });
    expect(placeStretch({ fromMs: 50, toMs: 150 }, range)).toEqual({ left: 0, width: 0.5 });
    expect(placeStretch({ fromMs: 150 }, range)).toEqual({ left: 0.5, width: 0.5 });
    expect(placeStretch({ fromMs: 10, toMs: 90 }, range)).toBeUndefined();
    expect(placeStretch({ fromMs: 201 }, range)).toBeUndefined();
  });

  it("never leaves the lane", () => {
    fc.assert(
      fc.property(fc.integer({ min: -500, max: 500 }), fc.integer({ min: 0, max: 500 }), (fromMs, span) => {
        const placed = placeStretch({ fromMs, toMs: fromMs + span }, range);
        if (placed === undefined) return;
        expect(placed.left).toBeGreaterThanOrEqual(0);
        expect(placed.width).toBeGreaterThanOrEqual(0);
        expect(placed.left + placed.width).toBeLessThanOrEqual(1 + 1e-9);
      }),
    );
  });
});

describe("splitAtNow", () => {
  it("draws what is still to come of a live bar apart", () => {
    expect(splitAtNow(bar(100, "live"), 150)).toEqual({ toMs: 150, aheadFromMs: 150 });
    expect(splitAtNow(bar(100, "live", 300), 150)).toEqual({ toMs: 150, aheadFromMs: 150 });
    expect(splitAtNow(bar(160, "live"), 150)).toEqual({ toMs: 160, aheadFromMs: 160 });
  });
  it("leaves the others whole", () => {
    expect(splitAtNow(bar(100, "past", 120), 150)).toEqual({ toMs: 120 });
    expect(splitAtNow(bar(200, "planned"), 150)).toEqual({});
  });
});

describe("neighbour", () => {
  const lanes = [[bar(100), bar(200)], [], [bar(90), bar(190), bar(400)]];
  it("goes along a lane, and past empty lanes to what is nearest in time", () => {
    expect(neighbour(lanes, { lane: 0, bar: 0 }, "right")).toEqual({ lane: 0, bar: 1 });
    expect(neighbour(lanes, { lane: 0, bar: 1 }, "down")).toEqual({ lane: 2, bar: 1 });
    expect(neighbour(lanes, { lane: 2, bar: 2 }, "up")).toEqual({ lane: 0, bar: 1 });
  });
  it("stays at the edges", () => {
    expect(neighbour(lanes, { lane: 0, bar: 0 }, "left")).toBeUndefined();
    expect(neighbour(lanes, { lane: 0, bar: 0 }, "up")).toBeUndefined();
    expect(neighbour(lanes, { lane: 2, bar: 0 }, "down")).toBeUndefined();
  });
});

const minute = 60_000;
const day = 24 * 60 * minute;
const now = 1_790_000_000_000;

const laneWith = (...bars: readonly Bar[]): DrawnTrack => ({ type: "lane", id: "l", title: "", note: "", bars, bands: [], marks: [] });

it("shows what is live and planned: minutes for keys that change every minute, weeks for those that change monthly", () => {
  const quick = laneWith(bar(now - minute, "live"), bar(now + minute, "planned"));
  expect(suggestedSpan([quick], now)).toBe(5 * minute);
  const slow = [laneWith(bar(now - 20 * day, "live")), laneWith(bar(now - 9 * day, "live"))];
  expect(suggestedSpan(slow, now)).toBe(182 * day);
});

it("one old lane does not squeeze the others", () => {
  const tracks = [0, 1, 2, 3, 4].map((index) => laneWith(bar(now - (index === 4 ? 300 * day : 3 * minute), "live")));
  expect(suggestedSpan(tracks, now)).toBe(15 * minute);
});

it("draws a record as it fares, and a lane as its own object does", () => {
  const ref = (name: string): ObjectRef => ({ apiVersion: "v1", kind: "Target", resource: "targets", namespace: "shop", name });
  const fine = { health: "healthy", reason: "Ready", message: "", detail: "", about: [], conditions: [], facts: [] } as const;
  const group = { type: "group", id: "g", ref: ref("a"), title: "keys", note: "" } as const;
  const lane = { type: "lane", id: "l", title: "b", ref: ref("b"), note: "", bars: [], bands: [], marks: [] } as const;
  const shown = { cells: {}, texts: [], lanes: [{ ...fine, ref: ref("b"), health: "degraded" }], tracks: [group, lane] } as const;
  const record: ObjectRecord = {
    type: "object",
    id: "r",
    step: "s",
    table: "t",
    ref: ref("a"),
    ...fine,
    ...shown,
    health: "unknown",
    reason: "NotLed",
  };
  expect(drawnTracks(record)).toEqual([
    { ...group, health: "unknown", reason: "NotLed" },
    { ...lane, health: "degraded" },
  ]);
});

it("shows something even if there is nothing", () => expect(suggestedSpan([], now)).toBe(5 * minute));
