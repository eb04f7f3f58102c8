// Keys: each JWKS with its keys as bars, so that one sees how they overlap.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { KeySetRecord } from "../../contract/index.ts";
import { filterRecords } from "../list/record-filter.ts";
import { EmptyState, NothingFound } from "../parts/empty-state.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import { usePage } from "../state/page.ts";
import { keyTracks } from "../timeline/key-tracks.ts";
import { suggestedSpan } from "../timeline/suggested-span.ts";
import { Timeline } from "../timeline/timeline.tsx";
import { TrackTable } from "../timeline/track-table.tsx";
import { useTracks } from "../timeline/use-tracks.ts";
import { useRange } from "../timeline/use-range.ts";
import { ZoomBar } from "../timeline/zoom-bar.tsx";
import { ViewHead } from "./view-head.tsx";

const textsOf = ({ keys, configMap }: KeySetRecord): readonly string[] => [configMap, ...keys.flatMap(({ kid, source }) => [kid, source])];

export function Keys(): JSX.Element {
  const { live, clock, navigation } = usePage();
  const route = navigation.route.value;
  const records = live.tables.keySet.value;
  const shown = useMemo(() => filterRecords(records, route, textsOf), [records, route.search, route.health]);
  const tracks = useTracks(shown, keyTracks);
  // Chosen once, so that the picture does not jump when something changes.
  const suggested = useMemo(() => suggestedSpan(tracks, clock.read()), [records.length > 0]);
  const control = useRange(suggested);
  return (
    <>
      <ViewHead view="publish" />
      {records.length === 0 ? (
        <EmptyState title="No keys are published yet" command="kubectl get jwksconfigs,jwks -A">
          A JWKSConfig names a Secret with a certificate and the ConfigMap to publish its public key in.
        </EmptyState>
      ) : (
        <>
          <FilterBar records={records} shown={shown.length} noun="key sets">
            <ZoomBar control={control} />
          </FilterBar>
          {shown.length === 0 ? (
            <NothingFound />
          ) : route.table ? (
            <TrackTable caption="Keys by key set" tracks={tracks} />
          ) : (
            <>
              <Timeline label="Keys over time" tracks={tracks} control={control} />
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
          <b class="bar live hue-0" />
        </i>
        active
      </span>
      <span>
        <i aria-hidden="true">
          <b class="bar retiring" />
        </i>
        retiring: verifies, signs no more
      </span>
      <span>
        <i aria-hidden="true">
          <b class="bar removed" />
        </i>
        removed
      </span>
      <span class="tone-warning">
        <i class="legend-mark" aria-hidden="true">
          <b class="mark expiry" />
        </i>
        certificate expires
      </span>
      <span>
        <i class="legend-mark" aria-hidden="true">
          <b class="mark end" />
        </i>
        removal
      </span>
    </div>
  );
}
