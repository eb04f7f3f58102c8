// The stages that a credential passes through, as the server describes them.
import type { ObjectRecord, StageLayout, StageRecord } from "../contract/index.ts";
import type { LivePicture } from "./live-picture.ts";
import { usePage } from "./page-state.ts";

/** All of them; none before the server has been heard. */
export function useStages(): readonly StageLayout[] {
  return usePage().live.hello.value?.stages ?? [];
}

/** The name of a stage's view in the address: `roll-out`. */
export function viewOf({ verb }: Pick<StageLayout, "verb">): string {
  return verb.toLowerCase().replaceAll(" ", "-");
}

/** How a stage fares as a whole, as last heard. */
export function stageRecordOf(live: LivePicture, { step }: Pick<StageLayout, "step">): StageRecord | undefined {
  return live.stages.value.find((record) => record.step === step);
}

/** Everything that a stage is responsible for, table by table. What it counts is in the first; what is in the others wants attention as much. */
export function tablesOf(live: LivePicture, { tables }: Pick<StageLayout, "tables">): readonly (readonly ObjectRecord[])[] {
  return tables.map(({ id }) => live.table(id));
}

/** `1 runtime`, `2 runtimes`. */
export function counted(count: number, { one, many }: Pick<StageLayout, "one" | "many">): string {
  return `${count} ${count === 1 ? one : many}`;
}
