// Consistency: per namespace the checksum, since when it holds, what differs, and the agents that hold to it.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { AgentRecord, ChecksumRecord } from "../../contract/index.ts";
import { usePage } from "../page-state.ts";
import { EmptyState, NothingFound } from "../parts/connection-state.tsx";
import { FilterBar } from "../parts/filter-bar.tsx";
import { HealthMark } from "../parts/health-mark.tsx";
import { Moment, ObjectLink } from "../parts/inline.tsx";
import { DifferenceList, useObjectDetail } from "../parts/object-detail.tsx";
import { type Column, VirtualTable } from "../parts/virtual-table.tsx";
import { filterRecords } from "../record-list.ts";
import { ViewHead } from "./stage.tsx";

const words = { current: "agrees", awaited: "awaited", differs: "differs" } as const;

/** What a standing means, in one word. */
function standingText(standing: ChecksumRecord["standing"]): string {
  return words[standing];
}

const checksumColumns: readonly Column<ChecksumRecord>[] = [
  {
    title: "Namespace",
    width: "minmax(170px, 1.4fr)",
    cell: ({ ref }, tabIndex) => (
      <>
        <ObjectLink to={ref} tabIndex={tabIndex}>
          {ref.namespace}
        </ObjectLink>
        <span class="sub">{ref.kind === "IngressCheckSum" ? "Ingresses" : "certificates"}</span>
      </>
    ),
  },
  {
    title: "State",
    width: "minmax(110px, 0.8fr)",
    cell: ({ health, standing, reason }) => (
      <>
        <HealthMark health={health} text={standingText(standing)} />
        <span class="sub">{reason}</span>
      </>
    ),
  },
  {
    title: "Checksum",
    width: "minmax(150px, 1.6fr)",
    phone: "hidden",
    cell: ({ checksums: [newest] }) => <span class="mono">{newest?.checksum ?? "none"}</span>,
  },
  {
    title: "Holds since",
    width: "minmax(100px, 0.7fr)",
    phone: "line",
    cell: ({ checksums: [newest] }) => (
      <span>
        <span class="phone-only mono">{newest?.checksum.slice(0, 12)} </span>
        {newest?.sinceMs === undefined ? <span class="faint">not yet</span> : <Moment at={newest.sinceMs} />}
      </span>
    ),
  },
  { title: "Objects", width: "70px", phone: "hidden", cell: ({ checksums: [newest] }) => <span>{newest?.count ?? 0}</span> },
  {
    title: "Left out",
    width: "minmax(90px, 0.9fr)",
    phone: "hidden",
    cell: ({ problemCount, problems: [first] }) =>
      problemCount === 0 ? (
        <span class="faint">none</span>
      ) : (
        <>
          <span>{problemCount}</span>
          <span class="sub">{first === undefined ? "" : `${first.name}: ${first.reason}`}</span>
        </>
      ),
  },
  {
    title: "Agents",
    width: "minmax(120px, 0.9fr)",
    phone: "hidden",
    cell: ({ agents: { current, behind, silent } }) =>
      current + behind + silent === 0 ? (
        <span class="faint">none</span>
      ) : (
        <span>{[`${current} current`, ...(behind > 0 ? [`${behind} behind`] : []), ...(silent > 0 ? [`${silent} silent`] : [])].join(", ")}</span>
      ),
  },
];

const agentColumns: readonly Column<AgentRecord>[] = [
  {
    title: "Agent",
    width: "minmax(170px, 1.4fr)",
    cell: ({ ref, identity }, tabIndex) => (
      <>
        <ObjectLink to={ref} tabIndex={tabIndex}>
          {identity}
        </ObjectLink>
        <span class="sub">{ref.namespace}</span>
      </>
    ),
  },
  {
    title: "State",
    width: "minmax(110px, 0.8fr)",
    cell: ({ health, state, alarms }) => (
      <>
        <HealthMark health={health} text={state} />
        <span class="sub">{alarms.join(", ")}</span>
      </>
    ),
  },
  {
    title: "Checksum",
    width: "minmax(150px, 1.6fr)",
    phone: "hidden",
    cell: ({ checksum }) => <span class="mono">{checksum === "" ? "none" : checksum}</span>,
  },
  {
    title: "Set promoted",
    width: "minmax(100px, 0.7fr)",
    phone: "line",
    cell: ({ promotedMs }) => (
      <span>
        <span class="phone-only">set promoted </span>
        {promotedMs === undefined ? <span class="faint">never</span> : <Moment at={promotedMs} />}
      </span>
    ),
  },
  { title: "Secrets", width: "70px", phone: "hidden", cell: ({ secrets }) => <span>{secrets}</span> },
  {
    title: "Difference",
    width: "minmax(90px, 0.9fr)",
    phone: "hidden",
    cell: ({ differences: { missing, unexpected, changed } }) =>
      missing + unexpected + changed === 0 ? (
        <span class="faint">none</span>
      ) : (
        <span>
          {missing} missing, {unexpected} unexpected, {changed} changed
        </span>
      ),
  },
  {
    title: "Last heard of",
    width: "minmax(120px, 0.9fr)",
    phone: "hidden",
    cell: ({ renewedMs }) => (renewedMs === undefined ? <span class="faint">never</span> : <Moment at={renewedMs} />),
  },
];

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
