// The head of a timeline: round times, and now.
import type { JSX } from "preact";
import { shareAt } from "../time/time-range.ts";
import type { Tick } from "../time/ticks.ts";
import type { RangeControl } from "./use-range.ts";

/** A share of a width for CSS. */
export function percent(share: number): string {
  return `${(share * 100).toFixed(3)}%`;
}

/** How near, in pixels, a label may come to now: nearer, and the flag would cover it. */
const hiddenBefore = 60;
const hiddenAfter = 18;

/** `width` is that of the whole timeline in pixels. */
export function Axis({
  control,
  ticks,
  width,
}: {
  readonly control: RangeControl;
  readonly ticks: readonly Tick[];
  readonly width: number;
}): JSX.Element {
  const now = shareAt(control.range, control.nowMs);
  const isFree = ({ atMs }: Tick): boolean => {
    const distance = (shareAt(control.range, atMs) - now) * width;
    return distance < -hiddenBefore || distance > hiddenAfter;
  };
  return (
    <div class="axis" aria-hidden="true">
      <div class="axis-ticks">
        {ticks.filter(isFree).map((tick) => (
          <span key={tick.atMs} class={tick.major ? "tick major" : "tick"} style={{ left: percent(shareAt(control.range, tick.atMs)) }}>
            {tick.label}
          </span>
        ))}
        {now >= 0 && now <= 1 ? (
          <span class="now-flag" style={{ left: percent(now) }}>
            now
          </span>
        ) : null}
      </div>
    </div>
  );
}

/** The lines below the axis, behind the lanes, and the now-line before them. */
export function GridLines({ control, ticks }: { readonly control: RangeControl; readonly ticks: readonly Tick[] }): JSX.Element {
  return (
    <div class="grid-lines" aria-hidden="true">
      {ticks.map((tick) => (
        <span key={tick.atMs} class="grid-line" style={{ left: percent(shareAt(control.range, tick.atMs)) }} />
      ))}
    </div>
  );
}

export function NowLine({ control }: { readonly control: RangeControl }): JSX.Element {
  return (
    <div class="now-layer" aria-hidden="true">
      <span class="now-line" style={{ left: percent(shareAt(control.range, control.nowMs)) }} />
    </div>
  );
}
