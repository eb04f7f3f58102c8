// The records of each step, for what is said about all of them.
import type { AgentRecord, ChecksumRecord, IssuedRecord, KeySetRecord, RotationSetRecord, StepName, WorkloadRecord } from "../../contract/index.ts";
import type { LiveTables } from "../state/live-picture.ts";

export type ObjectRecord = IssuedRecord | RotationSetRecord | KeySetRecord | ChecksumRecord | AgentRecord | WorkloadRecord;

/** What a step counts. Agents are not counted among checksums, but want attention as much. */
export function countedRecords(tables: LiveTables, step: StepName): readonly ObjectRecord[] {
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
export function allTables(tables: LiveTables, step: StepName): readonly (readonly ObjectRecord[])[] {
  return step === "checksum" ? [tables.checksum.value, tables.agent.value] : [countedRecords(tables, step)];
}
