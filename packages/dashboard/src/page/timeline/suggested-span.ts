// How much time a timeline shows at first: what has happened lately and what is planned, but not the whole past.
import { fittingSpan } from "../time/time-range.ts";
import type { Track } from "./track.ts";

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
