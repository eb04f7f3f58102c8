// Where bars, bands and marks of a lane are in the range that is shown: shares of its width.
import { shareAt, type TimeRange } from "../time/time-range.ts";
import type { Bar } from "./track.ts";

/** A stretch as shares of the width, cut at the edges; undefined if nothing of it is in sight. */
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
