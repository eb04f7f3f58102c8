// Lanes over time: draws the rows in sight, zooms, moves, and leads through its bars with the arrow keys.
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { ObjectRef } from "../../contract/index.ts";
import { useVirtualWindow } from "../parts/use-virtual-window.ts";
import { focusWhenDrawn, scrollToRow } from "../parts/virtual-table.tsx";
import { usePage } from "../state/page.ts";
import { ticksOf } from "../time/ticks.ts";
import { shareAt } from "../time/time-range.ts";
import { Axis, GridLines, NowLine } from "./axis.tsx";
import { BarCard } from "./bar-card.tsx";
import { neighbour, placeStretch } from "./lane-layout.ts";
import { GroupRow, LaneRow } from "./lane-row.tsx";
import type { Bar, LaneTrack, Track } from "./track.ts";
import type { RangeControl } from "./use-range.ts";
import { useElementWidth } from "./use-element-width.ts";
import { useTimelinePointer } from "./use-timeline-pointer.ts";

const rowHeight = 36;
const pixelsPerTick = 92;

export function Timeline({
  label,
  tracks,
  control,
}: {
  readonly label: string;
  readonly tracks: readonly Track[];
  readonly control: RangeControl;
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
                <LaneRow track={track} range={range} nowMs={nowMs} selected={selected} tabStop={tabStop} />
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

function findBar(tracks: readonly Track[], id: string | undefined): FoundBar | undefined {
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

/** The bar that was last focused if it is drawn, else the first live one that is in sight, else any. */
function tabStopOf(
  drawn: readonly Track[],
  { focused, control }: { readonly focused: string | undefined; readonly control: RangeControl },
): string | undefined {
  const inSight = drawn
    .filter((track): track is LaneTrack => track.type === "lane")
    .flatMap(({ bars }) => bars)
    .filter((bar) => placeStretch(bar, control.range) !== undefined);
  return (inSight.find(({ id }) => id === focused) ?? inSight.find(({ look }) => look === "live") ?? inSight[0])?.id;
}
