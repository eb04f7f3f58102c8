import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keyTracks } from "./key-tracks.ts";
import { key, keySet, lane, rotationSet } from "./records.fixture.ts";
import { rotationTracks } from "./rotation-tracks.ts";
import { type Bar, neighbour, placeStretch, splitAtNow, suggestedSpan } from "./tracks.ts";

const bar = (fromMs: number, look: Bar["look"] = "past", toMs?: number): Bar => ({
  id: String(fromMs),
  fromMs,
  ...(toMs === undefined ? {} : { toMs }),
  look,
  hue: 0,
  filled: false,
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

it("shows what is live and planned: minutes for keys that change every minute, weeks for those that change monthly", () => {
  const quick = rotationTracks(
    rotationSet({
      lanes: [lane("live", { held: [{ seq: 1, digest: "d", fromMs: now - minute, backfilled: false }], planned: [{ atMs: now + minute, seq: 2 }] })],
    }),
  );
  expect(suggestedSpan(quick, now)).toBe(5 * minute);
  const slow = keyTracks(
    keySet({ keys: [key("a", { sinceMs: now - 20 * day, certificateExpiresMs: now + 300 * day }), key("b", { sinceMs: now - 9 * day })] }),
  );
  expect(suggestedSpan(slow, now)).toBe(182 * day);
});

it("one old lane does not squeeze the others", () => {
  const keys = ["a", "b", "c", "d", "e"].map((kid, index) => key(kid, { sinceMs: now - (index === 4 ? 300 * day : 3 * minute) }));
  expect(suggestedSpan(keyTracks(keySet({ keys })), now)).toBe(15 * minute);
});

it("shows something even if there is nothing", () => expect(suggestedSpan([], now)).toBe(5 * minute));
