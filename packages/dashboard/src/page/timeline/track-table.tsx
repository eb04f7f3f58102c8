// A timeline as a table, for those who would rather read.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { ObjectRef } from "../../contract/index.ts";
import { ObjectLink } from "../parts/link.tsx";
import { Moment } from "../parts/moment.tsx";
import { type Column, VirtualTable } from "../parts/virtual-table.tsx";
import type { Bar, Track } from "./track.ts";

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

export function TrackTable({ caption, tracks }: { readonly caption: string; readonly tracks: readonly Track[] }): JSX.Element {
  const rows = useMemo(() => rowsOf(tracks), [tracks]);
  return <VirtualTable caption={caption} columns={columns} rows={rows} idOf={({ bar }) => bar.id} />;
}

function rowsOf(tracks: readonly Track[]): readonly BarRow[] {
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
