// The stretch of time that a timeline shows: part of the address, and moving along with the time unless somebody has moved it.
import { useMemo } from "preact/hooks";
import { usePage } from "../state/page.ts";
import { clampSpan, followingRange, moved, type TimeRange, zoomed } from "../time/time-range.ts";

export interface RangeControl {
  readonly range: TimeRange;
  /** By the server's clock, in steps of about a pixel. */
  readonly nowMs: number;
  readonly following: boolean;
  zoom(factor: number, anchorMs?: number): void;
  move(share: number): void;
  /** Shows this much around now, and follows it. */
  follow(spanMs: number): void;
}

/** About as many pixels as a timeline is wide: finer steps in time would not be seen. */
const pixels = 1000;

/** `suggestedMs` is how much is shown as long as nobody has chosen. */
export function useRange(suggestedMs: number): RangeControl {
  const { clock, navigation } = usePage();
  const { spanMs, fromMs } = navigation.route.value;
  const span = clampSpan(spanMs ?? suggestedMs);
  const stepMs = Math.max(1000, span / pixels);
  const nowMs = Math.floor(clock.now.value / stepMs) * stepMs;
  const following = fromMs === undefined;
  return useMemo(() => {
    const range = fromMs === undefined ? followingRange(span, nowMs) : { fromMs, toMs: fromMs + span };
    const show = (next: TimeRange): void => navigation.adjust({ fromMs: next.fromMs, spanMs: next.toMs - next.fromMs });
    return {
      range,
      nowMs,
      following,
      zoom(factor, anchorMs) {
        // Around now, what follows the time goes on following it.
        if (following && anchorMs === undefined) navigation.adjust({ spanMs: clampSpan(span * factor) });
        else show(zoomed(range, factor, anchorMs ?? (range.fromMs + range.toMs) / 2));
      },
      move: (share) => show(moved(range, share)),
      follow: (chosenMs) => navigation.adjust({ fromMs: undefined, spanMs: chosenMs }),
    };
  }, [span, nowMs, fromMs, following, navigation]);
}
