// The columns of checksums and of agents.
import type { AgentRecord, ChecksumRecord } from "../../contract/index.ts";
import { HealthMark } from "../parts/health-mark.tsx";
import { ObjectLink } from "../parts/link.tsx";
import { Moment } from "../parts/moment.tsx";
import type { Column } from "../parts/virtual-table.tsx";

const words = { current: "agrees", awaited: "awaited", differs: "differs" } as const;

/** What a standing means, in one word. */
export function standingText(standing: ChecksumRecord["standing"]): string {
  return words[standing];
}

export const checksumColumns: readonly Column<ChecksumRecord>[] = [
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

export const agentColumns: readonly Column<AgentRecord>[] = [
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
