// Lanes over time: draws the rows in view, zooms, moves, and leads through its bars with the arrow keys.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ObjectRef } from "../../contract/index.ts";
import { usePage } from "../page-state.ts";
import { focusWhenDrawn, scrollToRow, useVirtualWindow } from "../parts/virtual-table.tsx";
import { clampSpan, followingRange, moved, shareAt, ticksOf, type TimeRange, zoomed } from "../time.ts";
import { Axis, BarCard, GridLines, GroupRow, LaneRow, NowLine } from "./lanes.tsx";
import type { Bar } from "../../contract/index.ts";
import { type DrawnLane, type DrawnTrack, neighbour, placeStretch } from "./tracks.ts";

// The width of an element, now and later.

function useElementWidth(ref: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(900);
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [ref]);
  return width;
}

// The stretch of time that a timeline shows: part of the address, and moving along with the time unless somebody has moved it.

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

// Wheel with Ctrl zooms around the pointer, a sideways wheel moves, and so does dragging the axis or the space between bars.

function useTimelinePointer(frame: { readonly current: HTMLElement | null }, control: RangeControl): void {
  const latest = useRef(control);
  latest.current = control;
  useEffect(() => {
    const element = frame.current;
    const track = element?.querySelector(".axis-ticks");
    if (!element || !track) return undefined;
    let draggedFrom: number | undefined;
    const onWheel = (event: WheelEvent): void => {
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (!event.ctrlKey && !sideways) return;
      event.preventDefault();
      const box = track.getBoundingClientRect();
      const { current } = latest;
      const { range } = current;
      const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      if (event.ctrlKey) current.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 120), range.fromMs + share * (range.toMs - range.fromMs));
      else current.move(event.deltaX / box.width);
    };
    const onDown = (event: PointerEvent): void => {
      const onBar = event.target instanceof Element && event.target.closest("button, a, .bar-card, .lane-label") !== null;
      if (event.button === 0 && !onBar) draggedFrom = event.clientX;
    };
    const onMove = (event: PointerEvent): void => {
      if (draggedFrom === undefined || Math.abs(event.clientX - draggedFrom) < 2) return;
      latest.current.move((draggedFrom - event.clientX) / track.clientWidth);
      draggedFrom = event.clientX;
    };
    const onUp = (): void => {
      draggedFrom = undefined;
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    element.addEventListener("pointerdown", onDown);
    addEventListener("pointermove", onMove);
    addEventListener("pointerup", onUp);
    addEventListener("pointercancel", onUp);
    return () => {
      element.removeEventListener("wheel", onWheel);
      element.removeEventListener("pointerdown", onDown);
      removeEventListener("pointermove", onMove);
      removeEventListener("pointerup", onUp);
      removeEventListener("pointercancel", onUp);
    };
  }, [frame]);
}

const rowHeight = 36;
const pixelsPerTick = 92;

export function Timeline({
  label,
  tracks,
  control,
  knownMs,
}: {
  readonly label: string;
  readonly tracks: readonly DrawnTrack[];
  readonly control: RangeControl;
  /** Until when what is drawn is known to be so; what came after is drawn as what is only expected. */
  readonly knownMs: number | undefined;
}): JSX.Element {
  const { navigation } = usePage();
  const { selected } = navigation.route.value;
  const frame = useRef<HTMLDivElement>(null);
  const { ref: lanes, rows } = useVirtualWindow(tracks.length, rowHeight);
  const [near, setNear] = useState<string | undefined>(undefined);
  const [focused, setFocused] = useState<string | undefined>(undefined);
  const width = useElementWidth(lanes);
  const { range, nowMs } = control;
  useTimelinePointer(frame, control);
  const ticks = useMemo(
    () => ticksOf(range, { most: Math.max(2, Math.floor(width / pixelsPerTick)), offsetMinutes: -new Date(nowMs).getTimezoneOffset() }),
    [range, nowMs, width],
  );
  const drawn = tracks.slice(rows.first, rows.end);
  const tabStop = useMemo(() => tabStopOf(drawn, { focused, control }), [drawn, focused, control]);
  const shown = findBar(tracks, near ?? selected);

  const focusBar = (id: string, row: number): void => {
    setFocused(id);
    scrollToRow(lanes.current, row, rowHeight);
    focusWhenDrawn(() => frame.current?.querySelector<HTMLElement>(`[data-bar="${CSS.escape(id)}"]`));
  };
  const goTo = (direction: "left" | "right" | "up" | "down"): void => {
    const from = findBar(tracks, focused ?? tabStop);
    if (from === undefined) return;
    const bars = tracks.map((track) => (track.type === "lane" ? track.bars : []));
    const next = neighbour(bars, { lane: from.row, bar: from.index }, direction);
    const bar = next && bars[next.lane]?.[next.bar];
    if (next === undefined || bar === undefined) return;
    if (placeStretch(bar, range) === undefined) control.move(shareAt(range, bar.fromMs) - 0.5);
    focusBar(bar.id, next.lane);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = actions(control, { goTo, close: () => navigation.adjust({ selected: undefined }) })[(event.shiftKey ? "Shift " : "") + event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  const barOf = (event: Event): string | undefined =>
    event.target instanceof Element ? event.target.closest<HTMLElement>("[data-bar]")?.dataset["bar"] : undefined;

  return (
    <div
      class="panel timeline"
      ref={frame}
      role="group"
      aria-label={label}
      aria-roledescription="timeline"
      onKeyDown={onKeyDown}
      onPointerOver={(event) => setNear(barOf(event))}
      onPointerLeave={() => setNear(undefined)}
      onFocusIn={(event) => {
        setFocused(barOf(event) ?? focused);
        setNear(barOf(event));
      }}
      onFocusOut={() => setNear(undefined)}
      onClick={(event) => {
        const id = barOf(event);
        if (id !== undefined) navigation.adjust({ selected: id === selected ? undefined : id });
      }}
    >
      <Axis control={control} ticks={ticks} width={width} />
      <div class="lanes" ref={lanes} style={{ height: `${tracks.length * rowHeight}px` }}>
        <GridLines control={control} ticks={ticks} />
        <ul>
          {drawn.map((track, offset) => (
            <li
              key={track.id}
              class={track.type === "group" ? "lane group" : "lane"}
              aria-posinset={rows.first + offset + 1}
              aria-setsize={tracks.length}
              style={{ height: `${rowHeight}px`, transform: `translateY(${(rows.first + offset) * rowHeight}px)` }}
            >
              {track.type === "group" ? (
                <GroupRow track={track} />
              ) : (
                <LaneRow
                  track={track}
                  range={range}
                  nowMs={nowMs}
                  knownMs={Math.min(nowMs, knownMs ?? nowMs)}
                  selected={selected}
                  tabStop={tabStop}
                />
              )}
            </li>
          ))}
        </ul>
        <NowLine control={control} />
      </div>
      {shown === undefined ? null : (
        <BarCard
          bar={shown.bar}
          owner={shown.owner}
          pinned={near === undefined || near === selected ? selected === shown.bar.id : false}
          onClose={() => navigation.adjust({ selected: undefined })}
        />
      )}
    </div>
  );
}

function actions(
  control: RangeControl,
  { goTo, close }: { readonly goTo: (direction: "left" | "right" | "up" | "down") => void; readonly close: () => void },
) {
  const table: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => goTo("left"),
    ArrowRight: () => goTo("right"),
    ArrowUp: () => goTo("up"),
    ArrowDown: () => goTo("down"),
    "Shift ArrowLeft": () => control.move(-0.25),
    "Shift ArrowRight": () => control.move(0.25),
    "+": () => control.zoom(0.5),
    "Shift +": () => control.zoom(0.5),
    "=": () => control.zoom(0.5),
    "-": () => control.zoom(2),
    "0": () => control.follow(control.range.toMs - control.range.fromMs),
    Escape: close,
  };
  return table;
}

interface FoundBar {
  readonly bar: Bar;
  readonly row: number;
  readonly index: number;
  readonly owner: ObjectRef | undefined;
}

function findBar(tracks: readonly DrawnTrack[], id: string | undefined): FoundBar | undefined {
  if (id === undefined) return undefined;
  let group: ObjectRef | undefined;
  for (const [row, track] of tracks.entries()) {
    if (track.type === "group") {
      group = track.ref;
      continue;
    }
    const index = id.startsWith(track.id) ? track.bars.findIndex((bar) => bar.id === id) : -1;
    const bar = track.bars[index];
    if (bar !== undefined) return { bar, row, index, owner: track.ref ?? group };
  }
  return undefined;
}

/** The bar that was last focused if it is drawn, else the first live one that is in view, else any. */
function tabStopOf(
  drawn: readonly DrawnTrack[],
  { focused, control }: { readonly focused: string | undefined; readonly control: RangeControl },
): string | undefined {
  const visible = drawn
    .filter((track): track is DrawnLane => track.type === "lane")
    .flatMap(({ bars }) => bars)
    .filter((bar) => placeStretch(bar, control.range) !== undefined);
  return (visible.find(({ id }) => id === focused) ?? visible.find(({ look }) => look === "live") ?? visible[0])?.id;
}
