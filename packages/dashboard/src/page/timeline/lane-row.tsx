// One row of a timeline: the heading of a group, or a lane with its bars.
import type { JSX } from "preact";
import { HealthMark } from "../parts/health-mark.tsx";
import { ObjectLink } from "../parts/link.tsx";
import { localText } from "../parts/moment.tsx";
import { relativeText, spanText } from "../time/span-text.ts";
import { shareAt, type TimeRange } from "../time/time-range.ts";
import { percent } from "./axis.tsx";
import { type Placed, placeStretch, splitAtNow } from "./lane-layout.ts";
import type { Bar, Fact, GroupTrack, LaneTrack } from "./track.ts";

export interface LaneRowProps {
  readonly range: TimeRange;
  readonly nowMs: number;
  readonly selected: string | undefined;
  /** The one bar that Tab leads to. */
  readonly tabStop: string | undefined;
}

export function GroupRow({ track }: { readonly track: GroupTrack }): JSX.Element {
  return (
    <div class="lane-label">
      <HealthMark health={track.health} quiet />
      <span class="name">
        <ObjectLink to={track.ref}>{track.title}</ObjectLink>
      </span>
      <span class="note">{track.note}</span>
      {track.warning === undefined ? null : <span class="chip tone-warning">{track.warning}</span>}
    </div>
  );
}

export function LaneRow({ track, ...props }: LaneRowProps & { readonly track: LaneTrack }): JSX.Element {
  return (
    <>
      <div class="lane-label">
        {track.health === undefined ? null : <HealthMark health={track.health} quiet />}
        <span class={track.ref === undefined ? "name mono" : "name"} title={track.ref?.name}>
          {track.title}
        </span>
        <span class="note">{track.note}</span>
      </div>
      <div class="lane-track">
        {track.bands.map((band) => {
          const placed = placeStretch(band.toMs === undefined ? { ...band, toMs: props.nowMs } : band, props.range);
          return placed === undefined ? null : (
            <span key={`${band.kind}${band.fromMs}`} class={`band ${band.kind}`} style={styleOf(placed)} aria-hidden="true" />
          );
        })}
        {track.bars.map((bar) => (
          <BarButton key={bar.id} bar={bar} {...props} />
        ))}
        {track.marks.map((mark) => {
          const share = shareAt(props.range, mark.atMs);
          if (share < 0 || share > 1) return null;
          return <span key={mark.kind} class={`mark ${mark.kind} tone-${mark.health}`} style={{ left: percent(share) }} aria-hidden="true" />;
        })}
      </div>
    </>
  );
}

function BarButton({ bar, range, nowMs, selected, tabStop }: LaneRowProps & { readonly bar: Bar }): JSX.Element | null {
  const { toMs, aheadFromMs } = splitAtNow(bar, nowMs);
  const solid = placeStretch({ fromMs: bar.fromMs, ...(toMs === undefined ? {} : { toMs }) }, range);
  const ahead = aheadFromMs === undefined ? undefined : placeStretch({ ...bar, fromMs: aheadFromMs }, range);
  const place = solid ?? ahead;
  if (place === undefined) return null;
  const look = `hue-${bar.hue}${bar.filled ? " filled" : ""}`;
  return (
    <>
      {ahead === undefined || solid === undefined ? null : <span class={`bar ahead ${look}`} style={styleOf(ahead)} aria-hidden="true" />}
      <button
        type="button"
        class={`bar ${bar.look} ${look}${ahead === undefined ? "" : " open"}`}
        style={styleOf(place)}
        data-bar={bar.id}
        tabIndex={bar.id === tabStop ? 0 : -1}
        aria-pressed={bar.id === selected}
        aria-label={describeBar(bar, nowMs)}
      >
        {bar.label}
      </button>
    </>
  );
}

function styleOf({ left, width }: Placed): { readonly left: string; readonly width: string } {
  return { left: percent(left), width: percent(width) };
}

/** Everything that the card shows, for those who cannot see it. */
export function describeBar(bar: Bar, nowMs: number): string {
  return [`${bar.title}, ${bar.look}`, bar.label, ...bar.facts.map((fact) => `${fact.name} ${factText(fact, nowMs)}`)].join(", ");
}

/** A fact in words. */
export function factText(fact: Fact, nowMs: number): string {
  if ("text" in fact) return fact.text;
  if ("spanMs" in fact) return spanText(fact.spanMs);
  return `${relativeText(fact.atMs, nowMs)} (${localText(fact.atMs)})`;
}
