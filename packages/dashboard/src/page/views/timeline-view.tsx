// A step whose records are lanes over time: search, zoom, the lanes or the same as a table, and what their looks mean.
import type { ComponentChildren, JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { ObjectRecord } from "../../contract/index.ts";
import { filterRecords } from "../record-list.ts";
import { NothingFound } from "../parts/connection-state.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import type { ViewName } from "../route.ts";
import { usePage } from "../page-state.ts";
import { suggestedSpan, type Track, useTracks } from "../timeline/tracks.ts";
import { Timeline, useRange } from "../timeline/timeline.tsx";
import { TrackTable, ZoomBar } from "../timeline/timeline-controls.tsx";
import { ViewHead } from "./stage.tsx";

/** One look of a timeline and what it means; `look` is made of the classes that draw it. */
interface LegendEntry {
  readonly look: string;
  readonly meaning: string;
}

interface TimelineViewProps<T extends ObjectRecord> {
  readonly view: ViewName;
  readonly records: readonly T[];
  /** Must always be the same function. */
  readonly tracksOf: (record: T) => readonly Track[];
  /** What else than names is searched. Must always be the same function. */
  readonly textsOf: (record: T) => readonly string[];
  readonly noun: string;
  readonly label: string;
  readonly legend: readonly LegendEntry[];
  readonly legendNote?: string;
  /** Said if there are no records. */
  readonly empty: ComponentChildren;
}

export function TimelineView<T extends ObjectRecord>(props: TimelineViewProps<T>): JSX.Element {
  const { records, textsOf } = props;
  const { clock, navigation } = usePage();
  const { search, health, table } = navigation.route.value;
  const shown = useMemo(() => filterRecords(records, { search, health }, textsOf), [records, search, health, textsOf]);
  const tracks = useTracks(shown, props.tracksOf);
  // Chosen once, so that the picture does not jump when something changes.
  const suggested = useMemo(() => suggestedSpan(tracks, clock.read()), [records.length > 0]);
  const control = useRange(suggested);
  const lanes = table ? (
    <TrackTable caption={props.label} tracks={tracks} />
  ) : (
    <>
      <Timeline label={props.label} tracks={tracks} control={control} />
      <Legend entries={props.legend} note={props.legendNote} />
    </>
  );
  return (
    <>
      <ViewHead view={props.view} />
      {records.length === 0 ? (
        props.empty
      ) : (
        <>
          <FilterBar tables={[records]} shown={shown.length} noun={props.noun}>
            <ZoomBar control={control} />
          </FilterBar>
          {shown.length === 0 ? <NothingFound /> : lanes}
        </>
      )}
    </>
  );
}

function Legend({ entries, note }: { readonly entries: readonly LegendEntry[]; readonly note: string | undefined }): JSX.Element {
  return (
    <div class="key-legend">
      {entries.map(({ look, meaning }) => (
        <span key={meaning}>
          <i class={look.startsWith("mark") ? "legend-mark" : undefined} aria-hidden="true">
            <b class={look} />
          </i>
          {meaning}
        </span>
      ))}
      {note === undefined ? null : <span>{note}</span>}
    </div>
  );
}
