import { expect, it } from "vitest";
import { keyTracks } from "./key-tracks.ts";
import { key, keySet, lane, rotationSet } from "./records.fixture.ts";
import { rotationTracks } from "./rotation-tracks.ts";
import { suggestedSpan } from "./suggested-span.ts";

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
