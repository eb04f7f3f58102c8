// Around a timeline: how much time is shown, and the same as a table.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { ObjectRef } from "../../contract/index.ts";
import { usePage } from "../page-state.ts";
import { Moment, ObjectLink } from "../parts/inline.tsx";
import { type Column, VirtualTable } from "../parts/virtual-table.tsx";
import { zoomSteps } from "../time.ts";
import type { RangeControl } from "./timeline.tsx";
import type { Bar } from "../../contract/index.ts";
import type { DrawnTrack } from "./tracks.ts";

// How much time is shown, and which.

/** `alone`: there is no table to choose instead. */
export function ZoomBar({ control, alone = false }: { readonly control: RangeControl; readonly alone?: boolean }): JSX.Element {
  const { navigation } = usePage();
  const table = navigation.route.value.table && !alone;
  const span = control.range.toMs - control.range.fromMs;
  return (
    <div class="zoom-bar">
      {table ? null : (
        <>
          <div class="button-row" role="group" aria-label="How much time is shown">
            {zoomSteps.map(({ name, label, spanMs }) => (
              <button
                type="button"
                class="button"
                key={name}
                aria-label={`${name}, ${label}`}
                title={label}
                aria-pressed={control.following && Math.abs(span - spanMs) < 1000}
                onClick={() => control.follow(spanMs)}
              >
                {name}
              </button>
            ))}
          </div>
          <div class="button-row" role="group" aria-label="Move and zoom">
            <button type="button" class="button" aria-label="Earlier" title="Earlier (Shift ←)" onClick={() => control.move(-0.4)}>
              ←
            </button>
            <button type="button" class="button" aria-label="Zoom out" title="Zoom out (−)" onClick={() => control.zoom(2)}>
              −
            </button>
            <button
              type="button"
              class="button"
              aria-label="Now"
              title="Back to now (0)"
              aria-pressed={control.following}
              onClick={() => control.follow(span)}
            >
              now
            </button>
            <button type="button" class="button" aria-label="Zoom in" title="Zoom in (+)" onClick={() => control.zoom(0.5)}>
              +
            </button>
            <button type="button" class="button" aria-label="Later" title="Later (Shift →)" onClick={() => control.move(0.4)}>
              →
            </button>
          </div>
        </>
      )}
      {alone ? null : (
        <button type="button" class="button" aria-pressed={table} onClick={() => navigation.adjust({ table: !table, selected: undefined })}>
          Table
        </button>
      )}
    </div>
  );
}

// A timeline as a table, for those who would rather read.

interface BarRow {
  readonly bar: Bar;
  readonly group: string;
  readonly lane: string;
  readonly ref: ObjectRef;
}

const columns: readonly Column<BarRow>[] = [
  {
    title: "Of",
    width: "minmax(150px, 1.2fr)",
    cell: ({ ref, group, lane }, tabIndex) => (
      <>
        <ObjectLink to={ref} tabIndex={tabIndex}>
          {lane}
        </ObjectLink>
        <span class="sub">{group}</span>
      </>
    ),
  },
  { title: "State", width: "minmax(80px, 0.6fr)", cell: ({ bar }) => <span>{bar.look}</span> },
  { title: "What", width: "minmax(140px, 1fr)", phone: "hidden", cell: ({ bar }) => <span class="mono">{bar.label}</span> },
  {
    title: "From",
    width: "minmax(110px, 0.8fr)",
    phone: "line",
    cell: ({ bar }) => (
      <span>
        <span class="phone-only mono">{bar.label} </span>
        <Moment at={bar.fromMs} />
      </span>
    ),
  },
  {
    title: "Until",
    width: "minmax(110px, 0.8fr)",
    phone: "hidden",
    cell: ({ bar }) => (bar.toMs === undefined ? <span class="faint">open</span> : <Moment at={bar.toMs} />),
  },
  {
    title: "Why",
    width: "minmax(160px, 1.6fr)",
    phone: "hidden",
    cell: ({ bar }) => <span>{bar.facts.flatMap((fact) => (fact.name === "why" && "text" in fact ? [fact.text] : [])).join("")}</span>,
  },
];

export function TrackTable({ caption, tracks }: { readonly caption: string; readonly tracks: readonly DrawnTrack[] }): JSX.Element {
  const rows = useMemo(() => rowsOf(tracks), [tracks]);
  return <VirtualTable caption={caption} columns={columns} rows={rows} idOf={({ bar }) => bar.id} />;
}

function rowsOf(tracks: readonly DrawnTrack[]): readonly BarRow[] {
  const rows: BarRow[] = [];
  let group: { readonly title: string; readonly ref: ObjectRef } | undefined;
  for (const track of tracks) {
    if (track.type === "group") group = track;
    else if (group !== undefined) {
      const { title, ref } = group;
      rows.push(...track.bars.map((bar) => ({ bar, group: title, lane: track.title, ref: track.ref ?? ref })));
    }
  }
  return rows;
}
