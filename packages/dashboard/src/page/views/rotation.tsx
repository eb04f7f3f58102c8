// Rotation: a lane per target over time, with what was, what is live, and what is planned.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { RotationSetRecord } from "../../contract/index.ts";
import { filterRecords } from "../list/record-filter.ts";
import { EmptyState, NothingFound } from "../parts/empty-state.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import { usePage } from "../state/page.ts";
import { suggestedSpan } from "../timeline/suggested-span.ts";
import { rotationTracks } from "../timeline/rotation-tracks.ts";
import { Timeline } from "../timeline/timeline.tsx";
import { TrackTable } from "../timeline/track-table.tsx";
import { useTracks } from "../timeline/use-tracks.ts";
import { useRange } from "../timeline/use-range.ts";
import { ZoomBar } from "../timeline/zoom-bar.tsx";
import { ViewHead } from "./view-head.tsx";

const textsOf = ({ set, source, lanes }: RotationSetRecord): readonly string[] => [set, source?.name ?? "", ...lanes.map(({ target }) => target.name)];

export function Rotation(): JSX.Element {
  const { live, clock, navigation } = usePage();
  const route = navigation.route.value;
  const records = live.tables.rotationSet.value;
  const shown = useMemo(() => filterRecords(records, route, textsOf), [records, route.search, route.health]);
  const tracks = useTracks(shown, rotationTracks);
  // Chosen once, so that the picture does not jump when something changes.
  const suggested = useMemo(() => suggestedSpan(tracks, clock.read()), [records.length > 0]);
  const control = useRange(suggested);
  return (
    <>
      <ViewHead view="rotate" />
      {records.length === 0 ? (
        <EmptyState title="Nothing is rotated yet" command="kubectl annotate secret NAME rotator.k8s.telekom.com/rotation-set=SET">
          Mark a Secret as the source of a rotation set, and make a RotationTarget for each version that should be kept of it.
        </EmptyState>
      ) : (
        <>
          <FilterBar records={records} shown={shown.length} noun="rotation sets">
            <ZoomBar control={control} />
          </FilterBar>
          {shown.length === 0 ? (
            <NothingFound />
          ) : route.table ? (
            <TrackTable caption="Versions by target" tracks={tracks} />
          ) : (
            <>
              <Timeline label="Rotation over time" tracks={tracks} control={control} />
              <Legend />
            </>
          )}
        </>
      )}
    </>
  );
}

function Legend(): JSX.Element {
  return (
    <div class="key-legend">
      <span>
        <i aria-hidden="true">
          <b class="bar past hue-1" />
        </i>
        held before
      </span>
      <span>
        <i aria-hidden="true">
          <b class="bar live hue-1" />
        </i>
        live
      </span>
      <span>
        <i aria-hidden="true">
          <b class="bar planned hue-1" />
        </i>
        planned
      </span>
      <span>
        <i aria-hidden="true">
          <b class="bar past filled hue-1" />
        </i>
        filled in for want of an older one
      </span>
      <span>
        <i aria-hidden="true">
          <b class="band" />
        </i>
        frozen
      </span>
      <span>
        <i aria-hidden="true">
          <b class="band gap" />
        </i>
        gap
      </span>
      <span>One colour is one version.</span>
    </div>
  );
}
