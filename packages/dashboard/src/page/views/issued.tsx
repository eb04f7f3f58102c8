// Issued: each runtime with its application, where its credentials are, how old they are and when they change.
import type { JSX } from "preact";
import type { IssuedRecord } from "../../contract/index.ts";
import { filterRecords } from "../record-list.ts";
import { EmptyState, NothingFound } from "../parts/connection-state.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import { HealthMark } from "../parts/health-mark.tsx";
import { Moment, ObjectLink } from "../parts/inline.tsx";
import { type Column, VirtualTable } from "../parts/virtual-table.tsx";
import { usePage } from "../page-state.ts";
import { ViewHead } from "./stage.tsx";

const columns: readonly Column<IssuedRecord>[] = [
  {
    title: "Runtime",
    width: "minmax(190px, 1.6fr)",
    cell: ({ ref }, tabIndex) => (
      <>
        <ObjectLink to={ref} tabIndex={tabIndex} />
        <span class="sub">{ref.namespace}</span>
      </>
    ),
  },
  {
    title: "State",
    width: "minmax(130px, 1fr)",
    cell: ({ health, reason, deletingSinceMs }) => (
      <HealthMark health={health} text={deletingSinceMs === undefined ? reason : `deleting: ${reason}`} />
    ),
  },
  {
    title: "Application",
    width: "minmax(130px, 1.2fr)",
    phone: "hidden",
    cell: ({ application }) =>
      application === undefined ? (
        <span class="faint">none yet</span>
      ) : (
        <>
          <span>{application.name}</span>
          <span class="sub mono">{application.id}</span>
        </>
      ),
  },
  {
    title: "Secret",
    width: "minmax(130px, 1.2fr)",
    phone: "hidden",
    cell: ({ target }) =>
      target === undefined ? (
        <span class="faint">none yet</span>
      ) : (
        <>
          <span>{target.secret}</span>
          <span class="sub">cluster {target.clusterId}</span>
        </>
      ),
  },
  {
    title: "Issued",
    width: "minmax(96px, 0.6fr)",
    phone: "line",
    cell: ({ issuedMs }) => (
      <span>
        <span class="phone-only">issued </span>
        {issuedMs === undefined ? <span class="faint">not known</span> : <Moment at={issuedMs} />}
      </span>
    ),
  },
  {
    title: "Next rotation",
    width: "minmax(96px, 0.6fr)",
    phone: "hidden",
    cell: ({ nextRotationMs }) => (nextRotationMs === undefined ? <span class="faint">none planned</span> : <Moment at={nextRotationMs} />),
  },
];

export function Issued(): JSX.Element {
  const { live, navigation } = usePage();
  const records = live.tables.issued.value;
  const shown = filterRecords(records, navigation.route.value, ({ application, target }) => [
    application?.name ?? "",
    application?.id ?? "",
    target?.secret ?? "",
  ]);
  return (
    <>
      <ViewHead view="issue" />
      {records.length === 0 ? (
        <EmptyState title="No runtime has credentials yet" command="kubectl get kymas,eventingauths -A">
          An EventingAuth is made for every Kyma, and can also be made by hand. Its application and its Secret follow.
        </EmptyState>
      ) : (
        <>
          <FilterBar tables={[records]} shown={shown.length} noun="runtimes" />
          {shown.length === 0 ? <NothingFound /> : <VirtualTable caption="Issued credentials" columns={columns} rows={shown} idOf={({ id }) => id} />}
        </>
      )}
    </>
  );
}
