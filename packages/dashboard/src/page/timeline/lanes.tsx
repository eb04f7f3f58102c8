// The parts of a timeline: its axis, its lanes, and the card of a bar.
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { ObjectRef } from "../../contract/index.ts";
import { HealthMark } from "../parts/health-mark.tsx";
import { localText, Moment, ObjectLink } from "../parts/inline.tsx";
import { relativeText, shareAt, spanText, type Tick, type TimeRange } from "../time.ts";
import type { RangeControl } from "./timeline.tsx";
import type { Bar, Fact } from "../../contract/index.ts";
import { type DrawnGroup, type DrawnLane, type Placed, placeStretch, splitAtNow } from "./tracks.ts";

// The head of a timeline: round times, and now.

/** A share of a width for CSS. */
function percent(share: number): string {
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

// One row of a timeline: the heading of a group, or a lane with its bars.

interface LaneRowProps {
  readonly range: TimeRange;
  readonly nowMs: number;
  readonly knownMs: number;
  readonly selected: string | undefined;
  /** The one bar that Tab leads to. */
  readonly tabStop: string | undefined;
}

export function GroupRow({ track }: { readonly track: DrawnGroup }): JSX.Element {
  return (
    <div class="lane-label">
      <HealthMark health={track.health} quiet />
      <span class="name">
        <ObjectLink to={track.ref}>{track.title}</ObjectLink>
      </span>
      <span class="note">{track.note}</span>
      {track.warning === undefined ? null : <span class="chip tone-degraded">{track.warning}</span>}
    </div>
  );
}

export function LaneRow({ track, ...props }: LaneRowProps & { readonly track: DrawnLane }): JSX.Element {
  return (
    <>
      <div class="lane-label">
        {track.health === undefined ? null : <HealthMark health={track.health} quiet />}
        <span class={track.ref === undefined ? "name mono" : "name"} title={track.ref?.name}>
          {track.ref === undefined ? (
            track.title
          ) : (
            <ObjectLink to={track.ref} tabIndex={-1}>
              {track.title}
            </ObjectLink>
          )}
        </span>
        <span class="note">{track.note}</span>
      </div>
      <div class="lane-track">
        {track.bands.map((band) => {
          const placed = placeStretch(band.toMs === undefined ? { ...band, toMs: props.knownMs } : band, props.range);
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

function BarButton({ bar, range, nowMs, knownMs, selected, tabStop }: LaneRowProps & { readonly bar: Bar }): JSX.Element | null {
  const { toMs, aheadFromMs } = splitAtNow(bar, knownMs);
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
        <span>{bar.label}</span>
      </button>
    </>
  );
}

function styleOf({ left, width }: Placed): { readonly left: string; readonly width: string } {
  return { left: percent(left), width: percent(width) };
}

/** Everything that the card shows, for those who cannot see it. */
function describeBar(bar: Bar, nowMs: number): string {
  return [`${bar.title}, ${bar.look}`, bar.label, ...bar.facts.map((fact) => `${fact.name} ${factText(fact, nowMs)}`)].join(", ");
}

/** A fact in words. */
function factText(fact: Fact, nowMs: number): string {
  if ("text" in fact) return fact.text;
  if ("spanMs" in fact) return spanText(fact.spanMs);
  return `${relativeText(fact.atMs, nowMs)} (${localText(fact.atMs)})`;
}

// What there is to know about a bar: beside it while it has the pointer or the focus, and for as long as it is chosen.

interface BarCardProps {
  readonly bar: Bar;
  readonly owner: ObjectRef | undefined;
  readonly pinned: boolean;
  readonly onClose: () => void;
}

/** Must be within the timeline's element, by which it is placed. */
export function BarCard({ bar, owner, pinned, onClose }: BarCardProps): JSX.Element {
  const ref = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const card = ref.current;
    const frame = card?.parentElement;
    const button = frame?.querySelector(`[data-bar="${CSS.escape(bar.id)}"]`);
    if (!card || !frame || !button) return;
    const around = frame.getBoundingClientRect();
    const at = button.getBoundingClientRect();
    const left = Math.min(Math.max(8, at.left - around.left), Math.max(8, around.width - card.offsetWidth - 8));
    const below = at.bottom - around.top + 6;
    const above = at.top - around.top - card.offsetHeight - 6;
    const belowFits = at.bottom + card.offsetHeight + 12 < innerHeight;
    const aboveFits = at.top - card.offsetHeight > 100;
    card.style.left = `${left}px`;
    card.style.top = `${belowFits || !aboveFits ? below : above}px`;
  });
  return (
    <aside class={pinned ? "bar-card" : "bar-card loose"} ref={ref} aria-hidden={!pinned} aria-label={`Details: ${bar.title}`}>
      <h2>
        {bar.title} <span class="faint">{bar.look}</span>
      </h2>
      <dl class="facts">
        {bar.facts.map((fact) => (
          <FactRow key={fact.name} fact={fact} />
        ))}
      </dl>
      {pinned ? (
        <div class="actions">
          {owner === undefined ? null : <ObjectLink to={owner}>Open {owner.name}</ObjectLink>}
          <button type="button" class="button plain" onClick={onClose}>
            Close
          </button>
        </div>
      ) : null}
    </aside>
  );
}

export function FactRow({ fact }: { readonly fact: Fact }): JSX.Element {
  return (
    <>
      <dt>{fact.name}</dt>
      <dd class={"mono" in fact && fact.mono ? "mono" : undefined}>
        <FactValue fact={fact} />
      </dd>
    </>
  );
}

function FactValue({ fact }: { readonly fact: Fact }): JSX.Element {
  if ("text" in fact) return fact.ref === undefined ? <>{fact.text}</> : <ObjectLink to={fact.ref}>{fact.text}</ObjectLink>;
  if ("spanMs" in fact) return <>{spanText(fact.spanMs)}</>;
  return (
    <>
      <Moment at={fact.atMs} /> <span class="faint">{localText(fact.atMs)}</span>
    </>
  );
}
