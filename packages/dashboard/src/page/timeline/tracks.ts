// What a timeline draws, whatever it is about: groups of lanes, with bars, bands and marks in them.
import { useMemo } from "preact/hooks";
import type { Bar, GroupTrack, Health, LaneTrack, ObjectRecord } from "../../contract/index.ts";
import { fittingSpan, shareAt, type TimeRange } from "../time.ts";

/** The heading of some lanes, and how what they are about fares. */
export interface DrawnGroup extends GroupTrack {
  readonly health: Health;
  readonly reason: string;
}

/** A lane; how its object fares, if it is about one. */
export interface DrawnLane extends LaneTrack {
  readonly health?: Health;
}

export type DrawnTrack = DrawnGroup | DrawnLane;

/** The tracks of a record, as it fares. */
export function drawnTracks({ tracks = [], lanes = [], health, reason }: ObjectRecord): readonly DrawnTrack[] {
  return tracks.map((track): DrawnTrack => {
    if (track.type === "group") return { ...track, health, reason };
    const lane = lanes.find(({ ref }) => ref.name === track.ref?.name && ref.resource === track.ref.resource);
    return lane ? { ...track, health: lane.health } : track;
  });
}

// Where bars, bands and marks of a lane are in the range that is shown: shares of its width.

/** A stretch as shares of the width, cut at the edges; undefined if nothing of it is in view. */
export interface Placed {
  readonly left: number;
  readonly width: number;
}

/** Places a stretch; one without an end reaches the right edge. */
export function placeStretch({ fromMs, toMs }: { readonly fromMs: number; readonly toMs?: number }, range: TimeRange): Placed | undefined {
  const left = Math.max(0, shareAt(range, fromMs));
  const right = Math.min(1, toMs === undefined ? 1 : shareAt(range, toMs));
  return right < 0 || left > 1 || right < left ? undefined : { left, width: right - left };
}

/** The part of a bar that is drawn solid, and from when on a live one is only expected to go on. */
export function splitAtNow(bar: Bar, nowMs: number): { readonly toMs?: number; readonly aheadFromMs?: number } {
  const continues = bar.look === "live" && (bar.toMs === undefined || bar.toMs > nowMs);
  // The time that is drawn lags up to a second behind, so a bar may begin after it.
  const splitMs = Math.max(bar.fromMs, nowMs);
  if (continues) return { toMs: splitMs, aheadFromMs: splitMs };
  return bar.toMs === undefined ? {} : { toMs: bar.toMs };
}

/** The bar to go to from one with an arrow key. Sideways within the lane; up and down to the bar of the next lane with any that is nearest in time. */
export function neighbour(
  lanes: readonly (readonly Bar[])[],
  { lane, bar }: { readonly lane: number; readonly bar: number },
  direction: "left" | "right" | "up" | "down",
): { readonly lane: number; readonly bar: number } | undefined {
  if (direction === "left" || direction === "right") {
    const next = bar + (direction === "right" ? 1 : -1);
    return lanes[lane]?.[next] === undefined ? undefined : { lane, bar: next };
  }
  const by = direction === "down" ? 1 : -1;
  const from = lanes[lane]?.[bar]?.fromMs ?? 0;
  for (let candidate = lane + by; candidate >= 0 && candidate < lanes.length; candidate += by) {
    const bars = lanes[candidate] ?? [];
    if (bars.length > 0) return { lane: candidate, bar: nearest(bars, from) };
  }
  return undefined;
}

function nearest(bars: readonly Bar[], atMs: number): number {
  let best = 0;
  for (const [index, bar] of bars.entries()) if (Math.abs(bar.fromMs - atMs) < Math.abs((bars[best]?.fromMs ?? 0) - atMs)) best = index;
  return best;
}

// How much time a timeline shows at first: what has happened lately and what is planned, but not the whole past.

/** So many tracks are looked at: those that are seen first. */
const looked = 60;

/** The live bars' beginnings and what is planned decide; a certificate that expires next year does not. */
export function suggestedSpan(tracks: readonly DrawnTrack[], nowMs: number): number {
  const times = tracks.slice(0, looked).flatMap((track) =>
    track.type === "group"
      ? []
      : track.bars.flatMap(({ look, fromMs, toMs }) => {
          if (look === "live") return [fromMs];
          if (look === "planned") return [fromMs];
          return look === "retiring" && toMs !== undefined ? [fromMs] : [];
        }),
  );
  const sorted = times.map((at) => Math.abs(at - nowMs)).sort((left, right) => left - right);
  // The one that is further away than most: a single old lane must not squeeze the others.
  const typical = sorted[Math.floor(sorted.length * 0.75)] ?? 0;
  return fittingSpan([nowMs - typical * 1.3], nowMs);
}

// The tracks of all records. Those of a record are made once, and again only when it changes.

const made = new WeakMap<ObjectRecord, readonly DrawnTrack[]>();

export function useTracks(records: readonly ObjectRecord[]): readonly DrawnTrack[] {
  return useMemo(
    () =>
      records.flatMap((record) => {
        const tracks = made.get(record) ?? drawnTracks(record);
        made.set(record, tracks);
        return tracks;
      }),
    [records],
  );
}
