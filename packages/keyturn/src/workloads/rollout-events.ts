// The Events about a workload, one for each change of what is decided about it.
import { Job, type Kind, Pod, type PlannedEvent } from "@keyturn/runtime";
import type { RestartEvents } from "./inspector.ts";
import { skipInWords } from "./reasons.ts";
import type { Row, WorkloadId } from "./rollout-plan.ts";
import { restartableKinds } from "./workload.ts";

/** What is said of a workload. */
type RowEvent = Pick<PlannedEvent, "type" | "reason" | "message">;

/** What is to be said of a row as it stands; undefined for nothing. Restarts and their ends are told of when they are done. */
export function standingEvent({ decision, why }: Row, events: RestartEvents | undefined): RowEvent | undefined {
  switch (decision.type) {
    case "skip":
      return {
        type: decision.reason === "RestartWithoutEffect" || decision.reason === "RestartTakenBack" ? "Warning" : "Normal",
        reason: decision.reason,
        message: `${why}; not restarted: ${skipInWords(decision.reason)}`,
      };
    case "unknown":
      return decision.reason === "Pending" ? undefined : { type: "Warning", reason: decision.reason, message: why };
    case "rolling":
      return decision.stuck && events ? { type: "Warning", reason: "RolloutStuck", message: events.stuck } : undefined;
    case "wait":
      return decision.reason === "RestartFailed" || decision.reason === "RecordFailed" || decision.reason === "RecordTakenOff"
        ? { type: "Warning", reason: decision.reason, message: decision.message ?? "" }
        : undefined;
    case "restart":
    case "finish":
    default:
      return undefined;
  }
}

/** After the restart or the end of one that the row stands for. */
export function doneEvent({ decision, why }: Row, events: RestartEvents | undefined): RowEvent | undefined {
  if (!events) return undefined;
  if (decision.type === "restart") return { type: "Normal", reason: events.restarted, message: `restarted: ${why}` };
  // One without effect is reported as what is skipped from now on.
  return decision.type === "finish" && decision.helped ? { type: "Normal", ...events.finished } : undefined;
}

/** The same Event, about the workload; undefined for kinds that are only known by their name. */
export function eventAbout({ ref }: Pick<Row, "ref">, uid: string | undefined, event: RowEvent): PlannedEvent | undefined {
  const kind = kindOf(ref.kind);
  const { namespace, name } = ref;
  return kind && { ...event, action: "Restart", regarding: { kind, object: { metadata: { namespace, name, ...(uid !== undefined && { uid }) } } } };
}

/** A kind that Events can be about. */
export function kindOf(name: string): Kind | undefined {
  return restartableKinds.get(name)?.kind ?? (name === Pod.kind ? Pod : name === Job.kind ? Job : undefined);
}

/** What was said last of each workload. */
export type Said = ReadonlyMap<WorkloadId, string>;

/** As text, to tell whether something new is said. */
export function saying(event: RowEvent | undefined): string {
  return event ? `${event.reason} ${event.message}` : "";
}
