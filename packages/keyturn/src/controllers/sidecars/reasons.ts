// Why a workload is restarted, waits or is left alone: the words shared by Events, metrics, `keyturn plan` and the documentation.
import type { ReasonTable } from "../../feature/feature.ts";

/** Why an outdated workload is not restarted yet. It will be, without anybody doing anything. */
const waitReasons = {
  RolloutInProgress: { meaning: "The workload is being rolled out by somebody else's change; its new pods may well be current." },
  CoolingDown: { meaning: "It was restarted less than the cooldown ago." },
  RestartFailed: { meaning: "The API server did not take the restart; it is tried again." },
  RolloutStuck: { meaning: "The rollout of another workload does not get healthy, and until it does no other is restarted." },
  OutsideWindow: { meaning: "No maintenance window is open." },
  RestartDelay: { meaning: "The last restart of any workload was too short a while ago." },
  RolloutLimit: { meaning: "As many workloads as may are rolling." },
} as const satisfies ReasonTable;

/** Why an outdated workload is not restarted at all. */
const skipReasons = {
  OptedOut: { meaning: "The label on it or on its namespace says `disabled`." },
  NotOptedIn: { meaning: "Only labelled workloads are restarted, and neither it nor its namespace says `enabled`." },
  Paused: {
    meaning: "The Deployment or Rollout is paused, so that a restart would have no effect; or the annotation `keyturn.io/paused` asks for none.",
  },
  OnDelete: { meaning: "The update strategy is OnDelete: pods are replaced only when somebody deletes them." },
  Partitioned: { meaning: "The StatefulSet is partitioned: a restart would leave some of its pods as they are." },
  BarePod: { meaning: "A pod that nothing would make again." },
  Job: { meaning: "Pods of a Job run to their end." },
  UnsupportedOwner: { meaning: "The pods belong to something that this controller cannot restart." },
  RestartWithoutEffect: { meaning: "It was restarted, and its new pods do not have the expected sidecar either." },
} as const satisfies ReasonTable;

/** Why it is not known whether a workload is outdated. */
const unknownReasons = {
  Pending: { meaning: "The configuration has just changed, or the webhook has not answered yet." },
  WebhookFailed: { meaning: "The webhook gave no answer that can be used; it is asked again." },
  WebhookRefused: { meaning: "The webhook would not allow the pod." },
  WebhookUndecidable: { meaning: "Whether the webhook would be called cannot be decided here." },
  SidecarImageInvalid: {
    meaning:
      "The sidecar of a new pod, or another container that injection touches, would have an image that cannot be run: none, `auto`, or no image reference.",
  },
} as const satisfies ReasonTable;

/** What an Event on a workload can say, besides a reason above. */
const eventReasons = {
  SidecarRestart: { meaning: "The workload was restarted; the message says why.", notable: true },
  SidecarRolloutFinished: { meaning: "Its rollout is finished, and its pods are current.", notable: true },
} as const satisfies ReasonTable;

export const sidecarsReasons = { ...waitReasons, ...skipReasons, ...unknownReasons, ...eventReasons };

export type WaitReason = keyof typeof waitReasons;
export type SkipReason = keyof typeof skipReasons;
export type UnknownReason = keyof typeof unknownReasons;
export type EventReason = keyof typeof eventReasons;
