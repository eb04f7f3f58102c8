// What a timeline draws, whatever it is about: groups of lanes, with bars, bands and marks in them.
import { useMemo } from "preact/hooks";
import type { Health, ObjectRef } from "../../contract/index.ts";
import { fittingSpan, shareAt, type TimeRange } from "../time.ts";

// What a timeline draws, whatever it is about: groups of lanes, with bars, bands and marks in them. Nothing here depends on the time.

/** One thing to know about a bar. */
export type Fact =
  | { readonly name: string; readonly text: string; readonly mono?: boolean }
  | { readonly name: string; readonly atMs: number }
  | { readonly name: string; readonly spanMs: number };

/** How a bar looks. `ahead` is the part of a live bar that is still to come. */
type BarLook = "past" | "live" | "planned" | "retiring" | "removed";

/** A stretch of time in which something holds. */
export interface Bar {
  /** Unique among all bars of a timeline; goes into links. */
  readonly id: string;
  readonly fromMs: number;
  /** Absent: no end is known. */
  readonly toMs?: number;
  readonly look: BarLook;
  /** From 0 to 5: bars of one hue are about one thing. */
  readonly hue: number;
  /** Not a state of its own, only filled in. */
  readonly filled: boolean;
  readonly label: string;
  readonly title: string;
  readonly facts: readonly Fact[];
}

/** A stretch that is marked for what is missing in it. */
export interface Band {
  readonly kind: "freeze" | "gap";
  readonly fromMs: number;
  readonly toMs?: number;
}

/** A point in time worth knowing. */
export interface Mark {
  readonly kind: "expiry" | "end";
  readonly atMs: number;
  readonly health: Health;
}

/** The heading of the lanes that follow. */
export interface GroupTrack {
  readonly type: "group";
  readonly id: string;
  readonly ref: ObjectRef;
  readonly title: string;
  readonly note: string;
  readonly health: Health;
  readonly reason: string;
  /** Said beside the note, because somebody should notice. */
  readonly warning?: string;
}

export interface LaneTrack {
  readonly type: "lane";
  readonly id: string;
  readonly title: string;
  readonly ref?: ObjectRef;
  readonly note: string;
  readonly health?: Health;
  readonly bars: readonly Bar[];
  readonly bands: readonly Band[];
  readonly marks: readonly Mark[];
}

export type Track = GroupTrack | LaneTrack;

/** How many hues there are. */
export const hueCount = 6;

/** The beginning of a digest or key id, which is enough to distinguish one from another. */
export function shortDigest(digest: string): string {
  return digest.replace(/^sha256:/, "").slice(0, 8);
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
export function suggestedSpan(tracks: readonly Track[], nowMs: number): number {
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

const made = new WeakMap<object, readonly Track[]>();

/** `tracksOf` must be the same for the same records. */
export function useTracks<T extends object>(records: readonly T[], tracksOf: (record: T) => readonly Track[]): readonly Track[] {
  return useMemo(
    () =>
      records.flatMap((record) => {
        const tracks = made.get(record) ?? tracksOf(record);
        made.set(record, tracks);
        return tracks;
      }),
    [records, tracksOf],
  );
}
