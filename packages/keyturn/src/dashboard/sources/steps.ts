// The five steps themselves: which are on, and what cannot be seen of them.
import { type StepName, type StepRecord, steps, type WatchTrouble } from "@keyturn/dashboard/contract";
import { Lease, resourceOf, type WatchStatus } from "@keyturn/runtime";
import { features } from "../../controllers/registry.ts";
import type { RecordSource, StatusOf } from "../record-source.ts";
import { shownText } from "../records/record-base.ts";
import type { StepLeaders } from "../step-leaders.ts";

/** Watches tell nobody when their state changes. */
const lookEveryMs = 2000;

/** What the steps are told from. */
export interface StepsOptions {
  readonly sources: () => readonly RecordSource[];
  readonly statusOf: StatusOf;
  readonly leaders: StepLeaders;
}

/** Five records, one for each step. */
export function stepsSource(touch: (key: string) => void, { sources, statusOf, leaders }: StepsOptions): Pick<RecordSource, "make"> {
  /** When all of a step was last known to be as it is shown. */
  const knownMs = new Map<StepName, number>();
  for (const step of steps) touch(stepId(step));
  return {
    make(id, nowMs) {
      const step = steps.find((candidate) => stepId(candidate) === id);
      if (!step) return undefined;
      const own = sources().filter((source) => source.step === step);
      const troubles = own.flatMap((source) => source.caches().flatMap((cache) => troubleOf(statusOf(cache)) ?? []));
      const isOld = troubles.some(({ state }) => state === "retrying");
      if (!isOld) knownMs.set(step, nowMs);
      const asOfMs = isOld ? knownMs.get(step) : undefined;
      const leader = leaders.of(step, nowMs);
      const state = stateOf(own, troubles, leaders.switchedOn);
      const record = { ...stepRecord(step, own), state, troubles, ...(leader && { leader }), ...(asOfMs !== undefined && { asOfMs }) };
      return { record, againAtMs: nowMs + lookEveryMs };
    },
  };
}

function stepId(step: StepName): string {
  return `step/${step}`;
}

function stepRecord(step: StepName, sources: readonly RecordSource[]): Omit<StepRecord, "state" | "troubles"> {
  return {
    type: "step",
    id: stepId(step),
    step,
    summary: features.find(({ name }) => name === step)?.summary ?? "",
    resources: sources.flatMap(({ resources }) => resources),
    hidden: [],
  };
}

function stateOf(sources: readonly RecordSource[], troubles: readonly WatchTrouble[], switchedOn: boolean): StepRecord["state"] {
  if (sources.length === 0) return "off";
  const missing = new Set(troubles.filter(({ state }) => state === "missing").map(({ resource }) => resource));
  // Leases are shown with a step and are no kind of its own.
  const own = sources.flatMap(({ resources }) => resources).filter((resource) => resource !== resourceOf(Lease));
  if (!switchedOn && own.every((resource) => missing.has(resource))) return "absent";
  return missing.size > 0 || troubles.some(({ state }) => state === "forbidden") ? "limited" : "on";
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
