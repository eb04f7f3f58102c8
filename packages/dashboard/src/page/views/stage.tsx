// What the views of all stages share: their records and their heading.
import type { ComponentChildren, JSX } from "preact";
import {
  type AgentRecord,
  type ChecksumRecord,
  isShown,
  type IssuedRecord,
  type KeySetRecord,
  type RotationSetRecord,
  type StageName,
  type WorkloadRecord,
} from "../../contract/index.ts";
import { limitText } from "../doubt.ts";
import type { LiveTables } from "../live-picture.ts";
import { usePage } from "../page-state.ts";
import { HealthMark } from "../parts/health-mark.tsx";
import type { ViewName } from "../route.ts";
import { stageInfos } from "../stages.ts";

export type ShownRecord = IssuedRecord | RotationSetRecord | KeySetRecord | ChecksumRecord | AgentRecord | WorkloadRecord;

/** What a step counts. Agents are not counted among checksums, but want attention as much. */
export function countedRecords(tables: LiveTables, step: StageName): readonly ShownRecord[] {
  switch (step) {
    case "eventing-auth":
      return tables.issued.value;
    case "rotation":
      return tables.rotationSet.value;
    case "jwks":
      return tables.keySet.value;
    case "checksum":
      return tables.checksum.value;
    case "sidecars":
    default:
      return tables.workload.value;
  }
}

/** Everything that a step is responsible for, table by table. */
export function allTables(tables: LiveTables, step: StageName): readonly (readonly ShownRecord[])[] {
  return step === "checksum" ? [tables.checksum.value, tables.agent.value] : [countedRecords(tables, step)];
}

// The heading of a step's view, with what keeps it from showing everything.

export function ViewHead({ view, children }: { readonly view: ViewName; readonly children?: ComponentChildren }): JSX.Element | null {
  const info = stageInfos.find((candidate) => candidate.view === view);
  if (info === undefined) return null;
  return (
    <>
      <header class="view-head">
        <div>
          <h1>{info.title}</h1>
          <p>{info.summary}</p>
        </div>
        {children}
      </header>
      <StageNotices view={view} />
    </>
  );
}

function StageNotices({ view }: { readonly view: ViewName }): JSX.Element | null {
  const { live } = usePage();
  const step = stageInfos.find((info) => info.view === view)?.step;
  const record = live.tables.step.value.find((candidate) => candidate.step === step);
  if (record === undefined) return null;
  return (
    <>
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
