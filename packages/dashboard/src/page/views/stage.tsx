// The view of one stage, as the server lays it out: its tables, as rows or as lanes over time, and what keeps it from showing everything.
import type { ComponentChildren, JSX } from "preact";
import { useMemo } from "preact/hooks";
import { type Doubt, isShown, type ObjectRecord, type StageLayout, type StageRecord, type TableLayout } from "../../contract/index.ts";
import { knownUntilMs, limitText, namespacesText, useDoubtsOn } from "../doubt.ts";
import { stageRecordOf, tablesOf, usePage } from "../page-state.ts";
import { cellColumns } from "../parts/cell.tsx";
import { EmptyState, NothingFound, UnknownState } from "../parts/connection-state.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import { HealthMark } from "../parts/health-mark.tsx";
import { Moment, ObjectLink } from "../parts/inline.tsx";
import { DifferenceList, useObjectDetail } from "../parts/object-detail.tsx";
import { VirtualTable } from "../parts/virtual-table.tsx";
import { filterRecords, sortRecords } from "../record-list.ts";
import { TrackTable, ZoomBar } from "../timeline/timeline-controls.tsx";
import { Timeline, useRange } from "../timeline/timeline.tsx";
import { suggestedSpan, useTracks } from "../timeline/tracks.ts";

export function StageView({ stage }: { readonly stage: StageLayout }): JSX.Element {
  const { live } = usePage();
  const [main, ...others] = stage.tables;
  const tables = tablesOf(live, stage);
  const isEmpty = tables.every(({ length }) => length === 0);
  const record = stageRecordOf(live, stage);
  const doubts = useDoubtsOn(stage);
  return (
    <>
      <header class="view-head">
        <div>
          <h1>{stage.title}</h1>
          <p>{stage.about}</p>
        </div>
      </header>
      {record === undefined ? null : <StageNotices record={record} />}
      {main === undefined ? null : isEmpty && doubts.length > 0 ? (
        <UnknownState what={`are ${stage.many}`} doubts={doubts} command={main.empty.command} />
      ) : isEmpty ? (
        record === undefined || !isShown(record) ? null : (
          <EmptyState title={`${main.empty.title}${placesText(record.shownIn ?? live.hello.value?.namespaces)}`} command={main.empty.command}>
            {main.empty.text}
          </EmptyState>
        )
      ) : main.timeline === undefined ? (
        <Rows stage={stage} tables={tables} main={main} others={others} />
      ) : (
        <Lanes stage={stage} records={tables[0] ?? []} layout={main} legend={main.timeline} />
      )}
    </>
  );
}

/** ` in namespace shop`; nothing if all are looked at. */
function placesText(namespaces: readonly string[] | undefined): string {
  return namespaces === undefined ? "" : ` in ${namespacesText(namespaces)}`;
}

// What keeps it from showing everything.

function StageNotices({ record }: { readonly record: StageRecord }): JSX.Element {
  return (
    <>
      {record.state === "absent" ? <Notice health="unknown">This step is not installed: {record.resources.join(", ")}.</Notice> : null}
      {record.state === "off" ? <Notice health="unknown">This controller is not switched on in this operator.</Notice> : null}
      {isShown(record) && record.leader !== undefined && record.leader.state !== "led" ? (
        <Notice health="degraded">
          {record.leader.state === "none" ? "No operator leads this step" : "Whether an operator leads this step is not known"}:{" "}
          {record.leader.message}.
        </Notice>
      ) : null}
      {record.hidden.length > 0 ? (
        <Notice health="paused">
          You may not see these, so they are left out: {record.hidden.join(", ")}. It takes the rights to list and watch them.
        </Notice>
      ) : null}
      {isShown(record) && record.shownIn !== undefined ? (
        <Notice health="unknown">{limitText(record.shownIn)}. It takes the rights to list and watch them in the whole cluster.</Notice>
      ) : null}
      {record.troubles.map((trouble) => (
        <Notice key={`${trouble.resource}/${trouble.namespace ?? ""}`} health={trouble.state === "syncing" ? "progressing" : "degraded"}>
          {troubleWords[trouble.state]}: {trouble.resource}
          {trouble.namespace === undefined ? "" : ` in ${trouble.namespace}`}. {trouble.message}
        </Notice>
      ))}
    </>
  );
}

const troubleWords = {
  missing: "Not installed",
  forbidden: "A right is missing",
  retrying: "The API server does not answer",
  syncing: "Being listed",
} as const;

function Notice({
  health,
  children,
}: {
  readonly health: "unknown" | "paused" | "progressing" | "degraded";
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <p class={`notice tone-${health}`}>
      <HealthMark health={health} quiet />
      <span>{children}</span>
    </p>
  );
}

// Tables of rows: the first, with its facets and what differs, then the others.

interface RowsProps {
  readonly stage: StageLayout;
  readonly tables: readonly (readonly ObjectRecord[])[];
  readonly main: TableLayout;
  readonly others: readonly TableLayout[];
}

/** So many differences are spelled out here; the others on the pages of their objects. */
const spelledOut = 2;

function Rows({ stage, tables, main, others }: RowsProps): JSX.Element {
  const { navigation } = usePage();
  const { search, health, namespace, sort, selected } = navigation.route.value;
  const shown = tables.map((records) => sortRecords(filterRecords(records, { search, health, namespace }), sort));
  const facet = main.facets?.find(({ id }) => id === selected);
  const [records = [], ...rest] = facet ? shown.with(0, shown[0]?.filter((record) => record.facet === facet.id) ?? []) : shown;
  const differing = records.filter((record) => record.differing !== undefined).toSorted((a, b) => orderOf(a) - orderOf(b));
  const doubts = useDoubtsOn(stage);
  const noun = [stage.many, ...others.map(({ title }) => title.toLowerCase())].join(" and ");
  return (
    <>
      {main.facets === undefined ? null : <Facets layout={main} records={tables[0] ?? []} isDoubtful={doubts.length > 0} />}
      <FilterBar tables={tables} shown={records.length + rest.flat().length} noun={noun} />
      {differing.slice(0, spelledOut).map((record) => (
        <DifferingObject key={record.id} record={record} />
      ))}
      {records.length > 0 ? (
        <ObjectTable layout={main} records={records} />
      ) : facet ? (
        <p class="panel empty soft">
          No {stage.one} is {facet.title}.
        </p>
      ) : (
        <NothingFound />
      )}
      {others.map((layout, index) => (
        <section key={layout.id} class="section" aria-labelledby={`table-${layout.id}`}>
          <h2 id={`table-${layout.id}`}>{layout.title}</h2>
          <OtherTable layout={layout} all={tables[index + 1] ?? []} shown={rest[index] ?? []} doubts={doubts} />
        </section>
      ))}
    </>
  );
}

function orderOf({ differing }: ObjectRecord): number {
  return differing?.order ?? 0;
}

function OtherTable(props: {
  readonly layout: TableLayout;
  readonly all: readonly ObjectRecord[];
  readonly shown: readonly ObjectRecord[];
  readonly doubts: readonly Doubt[];
}): JSX.Element {
  const { layout, all, shown, doubts } = props;
  if (shown.length > 0) return <ObjectTable layout={layout} records={shown} />;
  const { title, text, command } = layout.empty;
  if (all.length === 0 && doubts.length > 0) return <p class="panel empty soft">Whether there are any is not known.</p>;
  return <p class="panel empty soft">{all.length > 0 ? "No matches." : `${title}. ${text}: ${command}`}</p>;
}

function ObjectTable({ layout, records }: { readonly layout: TableLayout; readonly records: readonly ObjectRecord[] }): JSX.Element {
  const { navigation } = usePage();
  const columns = useMemo(() => cellColumns(layout), [layout.id]);
  const { sort } = navigation.route.value;
  return (
    <VirtualTable
      caption={layout.title}
      columns={columns}
      rows={records}
      idOf={({ id }) => id}
      sort={sort}
      onSort={(column) => navigation.adjust({ sort: sort === column ? `-${column}` : sort === `-${column}` ? "" : column })}
    />
  );
}

function Facets({
  layout,
  records,
  isDoubtful,
}: {
  readonly layout: TableLayout;
  readonly records: readonly ObjectRecord[];
  readonly isDoubtful: boolean;
}): JSX.Element {
  const { navigation } = usePage();
  const { selected } = navigation.route.value;
  return (
    <div class="phases" role="group" aria-label="Phases">
      {layout.facets?.map(({ id, title, hint, health }) => {
        const own = records.filter(({ facet }) => facet === id);
        const tone = isDoubtful ? "unknown" : health;
        return (
          <button
            type="button"
            key={id}
            class={`panel phase tone-${tone}`}
            aria-pressed={selected === id}
            onClick={() => navigation.adjust({ selected: selected === id ? undefined : id })}
          >
            <strong>{isDoubtful && own.length === 0 ? "?" : own.length}</strong>
            <HealthMark health={tone} text={title} />
            <span class="faint">{hint}</span>
          </button>
        );
      })}
    </div>
  );
}

function DifferingObject({ record }: { readonly record: ObjectRecord }): JSX.Element {
  const { ref, health, reason, message, sinceMs, differing } = record;
  const detail = useObjectDetail(ref, record);
  return (
    <section class={`panel difference-panel tone-${health}`} aria-label={`Difference in ${ref.namespace}`}>
      <header>
        <HealthMark health={health} text={reason} />
        <h2>
          <ObjectLink to={ref}>
            {ref.namespace} · {ref.kind}
          </ObjectLink>
        </h2>
        <span class="faint">
          {sinceMs === undefined ? null : <Moment at={sinceMs} />}
          {differing?.givenUpMs === undefined ? null : (
            <>
              {" · given up "}
              <Moment at={differing.givenUpMs} />
            </>
          )}
        </span>
        <p class="soft">{message}</p>
      </header>
      <DifferenceList detail={detail} />
    </section>
  );
}

// A table as lanes over time: search, zoom, the lanes or the same as rows, and what their looks mean.

interface LanesProps {
  readonly stage: StageLayout;
  readonly records: readonly ObjectRecord[];
  readonly layout: TableLayout;
  readonly legend: NonNullable<TableLayout["timeline"]>;
}

function Lanes({ stage, records, layout, legend }: LanesProps): JSX.Element {
  const { clock, navigation } = usePage();
  const { search, health, namespace, table } = navigation.route.value;
  const shown = useMemo(() => filterRecords(records, { search, health, namespace }), [records, search, health, namespace]);
  const tracks = useTracks(shown);
  // Chosen once, so that the picture does not jump when something changes.
  const suggested = useMemo(() => suggestedSpan(tracks, clock.read()), [records.length > 0]);
  const control = useRange(suggested);
  const knownMs = knownUntilMs(useDoubtsOn(stage));
  const lanes = table ? (
    <TrackTable caption={layout.title} tracks={tracks} />
  ) : (
    <>
      <Timeline label={layout.title} tracks={tracks} control={control} knownMs={knownMs} />
      <Legend {...legend} />
    </>
  );
  return (
    <>
      <FilterBar tables={[records]} shown={shown.length} noun={stage.many}>
        <ZoomBar control={control} />
      </FilterBar>
      {shown.length === 0 ? <NothingFound /> : lanes}
    </>
  );
}

function Legend({ legend, note }: NonNullable<TableLayout["timeline"]>): JSX.Element {
  return (
    <div class="key-legend">
      {legend.map(({ look, meaning }) => (
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
