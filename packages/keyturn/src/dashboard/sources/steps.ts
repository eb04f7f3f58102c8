// The five steps themselves: which are on, and what cannot be seen of them.
import { type StepName, type StepRecord, steps, type WatchTrouble } from "@keyturn/dashboard/contract";
import type { WatchStatus } from "@keyturn/runtime";
import { features } from "../../controllers/registry.ts";
import type { RecordSource, StatusOf } from "../record-source.ts";
import { shownText } from "../records/record-base.ts";

/** Watches tell nobody when their state changes. */
const lookEveryMs = 2000;

/** What the steps are told from. */
export interface StepsOptions {
  readonly sources: () => readonly RecordSource[];
  readonly statusOf: StatusOf;
}

/** Five records, one for each step. */
export function stepsSource(touch: (key: string) => void, { sources, statusOf }: StepsOptions): Pick<RecordSource, "make"> {
  for (const step of steps) touch(stepId(step));
  return {
    make(id, nowMs) {
      const step = steps.find((candidate) => stepId(candidate) === id);
      const own = sources().filter((source) => source.step === step);
      return step && { record: stepRecord(step, own, statusOf), againAtMs: nowMs + lookEveryMs };
    },
  };
}

function stepId(step: StepName): string {
  return `step/${step}`;
}

function stepRecord(step: StepName, sources: readonly RecordSource[], statusOf: StatusOf): StepRecord {
  const troubles = sources.flatMap((source) => source.caches().flatMap((cache) => troubleOf(statusOf(cache)) ?? []));
  const isLimited = troubles.some(({ state }) => state === "forbidden" || state === "missing");
  return {
    type: "step",
    id: stepId(step),
    step,
    summary: features.find(({ name }) => name === step)?.summary ?? "",
    state: sources.length === 0 ? "off" : isLimited ? "limited" : "on",
    resources: sources.flatMap(({ resources }) => resources),
    hidden: [],
    troubles,
  };
}

function troubleOf({ resource, namespace, state, synced }: WatchStatus): WatchTrouble | undefined {
  const where = { resource, ...(namespace !== undefined && { namespace }) };
  switch (state.type) {
    case "forbidden":
      return { ...where, state: "forbidden", message: `the right to ${state.rule} is missing` };
    case "missing":
      return { ...where, state: "missing", message: "the API server does not serve this kind; install its CRD" };
    case "retrying":
      return { ...where, state: "retrying", message: shownText(state.error) };
    case "idle":
    case "syncing":
      return synced ? undefined : { ...where, state: "syncing", message: "the first list is on its way" };
    case "live":
    default:
      return undefined;
  }
}
