// Consistency: per namespace the checksum, since when it holds, what differs, and the agents that hold to it.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { ChecksumRecord } from "../../contract/index.ts";
import { filterRecords } from "../list/record-filter.ts";
import { DifferenceList } from "../parts/difference-list.tsx";
import { EmptyState, NothingFound } from "../parts/empty-state.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import { HealthMark } from "../parts/health-mark.tsx";
import { ObjectLink } from "../parts/link.tsx";
import { Moment } from "../parts/moment.tsx";
import { VirtualTable } from "../parts/virtual-table.tsx";
import { usePage } from "../state/page.ts";
import { useObjectDetail } from "../state/use-object-detail.ts";
import { agentColumns, checksumColumns, standingText } from "./consistency-columns.tsx";
import { ViewHead } from "./view-head.tsx";

/** So many differences are spelled out here; the others on the pages of their objects. */
const spelledOut = 2;

export function Consistency(): JSX.Element {
  const { live, navigation } = usePage();
  const { search, health } = navigation.route.value;
  const records = live.tables.checksum.value;
  const agents = live.tables.agent.value;
  const shown = useMemo(
    () => filterRecords(records, { search, health }, (record) => record.checksums.map(({ checksum }) => checksum)),
    [records, search, health],
  );
  const shownAgents = useMemo(
    () => filterRecords(agents, { search, health }, ({ identity, checksum }) => [identity, checksum]),
    [agents, search, health],
  );
  const differing = [...shown.filter(({ standing }) => standing === "differs"), ...shown.filter(({ standing }) => standing === "awaited")];
  const filtered = search !== "" || health !== "all";
  return (
    <>
      <ViewHead view="verify" />
      {records.length + agents.length === 0 ? (
        <EmptyState title="No checksum is published yet" command="kubectl annotate secret NAME-1 nginx.ingress.kubernetes.io/version=1">
          A checksum is made for a namespace as soon as it has a certificate or an Ingress with a number in its name and a version annotation.
        </EmptyState>
      ) : (
        <>
          <FilterBar tables={[records, agents]} shown={shown.length + shownAgents.length} noun="checksums and agents" />
          {differing.slice(0, spelledOut).map((record) => (
            <DifferingChecksum key={record.id} record={record} />
          ))}
          {shown.length === 0 ? (
            <NothingFound />
          ) : (
            <VirtualTable caption="Checksums by namespace" columns={checksumColumns} rows={shown} idOf={({ id }) => id} />
          )}
          <section class="section" aria-labelledby="agents">
            <h2 id="agents">Agents</h2>
            {shownAgents.length === 0 ? (
              <p class="panel empty soft">
                {filtered && agents.length > 0
                  ? "No agent is like that."
                  : "No agent has reported. An agent keeps the verified certificates of a namespace on a gateway's disk: keyturn agent --help"}
              </p>
            ) : (
              <VirtualTable caption="Agents" columns={agentColumns} rows={shownAgents} idOf={({ id }) => id} />
            )}
          </section>
        </>
      )}
    </>
  );
}

function DifferingChecksum({ record }: { readonly record: ChecksumRecord }): JSX.Element {
  const detail = useObjectDetail(record.ref, record);
  const [newest] = record.checksums;
  return (
    <section class={`panel difference-panel tone-${record.health}`} aria-label={`Difference in ${record.ref.namespace}`}>
      <header>
        <HealthMark health={record.health} text={standingText(record.standing)} />
        <h2>
          <ObjectLink to={record.ref}>
            {record.ref.namespace} · {record.ref.kind}
          </ObjectLink>
        </h2>
        <span class="faint">
          {record.sinceMs === undefined ? null : <Moment at={record.sinceMs} />}
          {newest?.announcedUntilMs === undefined ? null : (
            <>
              {" · given up "}
              <Moment at={newest.announcedUntilMs} />
            </>
          )}
        </span>
        <p class="soft">{record.message}</p>
      </header>
      <DifferenceList detail={detail} />
    </section>
  );
}
