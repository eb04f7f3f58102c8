// Why a workload is restarted, waits or is left alone: the words shared by Events, metrics, `keyturn plan` and the documentation.

/** Why an outdated workload is not restarted yet. It will be, without anybody doing anything. */
export type WaitReason =
  /** The workload is being rolled out by somebody else's change; its new pods may well be current. */
  | "RolloutInProgress"
  /** It was restarted less than the cooldown ago. */
  | "CoolingDown"
  /** The API server did not take the restart; it is tried again. */
  | "RestartFailed"
  /** The rollout of another workload does not get healthy, and until it does no other is restarted. */
  | "RolloutStuck"
  /** No maintenance window is open. */
  | "OutsideWindow"
  /** The last restart of any workload was too short a while ago. */
  | "RestartDelay"
  /** As many workloads as may are rolling. */
  | "RolloutLimit";

/** Why an outdated workload is not restarted at all. */
export type SkipReason =
  /** The label on it or on its namespace says `disabled`. */
  | "OptedOut"
  /** Only labelled workloads are restarted, and neither it nor its namespace says `enabled`. */
  | "NotOptedIn"
  /** The Deployment or Rollout is paused, so that a restart would have no effect; or the annotation `keyturn.io/paused` asks for none. */
  | "Paused"
  /** The update strategy is OnDelete: pods are replaced only when somebody deletes them. */
  | "OnDelete"
  /** The StatefulSet is partitioned: a restart would leave some of its pods as they are. */
  | "Partitioned"
  /** A pod that nothing would make again. */
  | "BarePod"
  /** Pods of a Job run to their end. */
  | "Job"
  /** The pods belong to something that this controller cannot restart. */
  | "UnsupportedOwner"
  /** It was restarted, and its new pods do not have the expected sidecar either. */
  | "RestartWithoutEffect";

/** Why it is not known whether a workload is outdated. */
export type UnknownReason =
  /** The configuration has just changed, or the webhook has not answered yet. */
  | "Pending"
  /** The webhook gave no answer that can be used; it is asked again. */
  | "WebhookFailed"
  /** The webhook would not allow the pod. */
  | "WebhookRefused"
  /** Whether the webhook would be called cannot be decided here. */
  | "WebhookUndecidable"
  /** The sidecar of a new pod, or another container that injection touches, would have an image that cannot be run: none, `auto`, or no image reference. */
  | "SidecarImageInvalid";

/** What an Event on a workload can say, besides a reason above. */
export type EventReason =
  /** The workload was restarted; the message says why. */
  | "SidecarRestart"
  /** Its rollout is finished, and its pods are current. */
  | "SidecarRolloutFinished";
