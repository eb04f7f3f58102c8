// Why a workload that should be restarted waits or is left alone: the words shared by Events, metrics, `keyturn plan` and the documentation.
import type { ReasonTable } from "../feature/feature.ts";

/** Why a workload is not restarted yet. It will be, without anybody doing anything. */
const waitReasons = {
  RolloutInProgress: { meaning: "The workload is being rolled out by somebody else's change; its new pods may well be current." },
  CoolingDown: { meaning: "It was restarted less than the cooldown ago." },
  RestartFailed: { meaning: "The API server did not take the restart; it is tried again." },
  RecordFailed: {
    meaning:
      "The API server did not take the annotation that says what its pods were started with; it is tried again. Until then, changes may be missed.",
  },
  RecordTakenOff: {
    meaning:
      "Somebody takes off the annotation that says what its pods were started with, again and again; it is written ever more seldom, after an hour at most. Until it stands, a change that comes while the operator is away may be missed.",
    health: "degraded",
  },
  RolloutStuck: { meaning: "The rollout of another workload of the namespace does not get healthy, and until it does no other of it is restarted." },
  OutsideWindow: { meaning: "No maintenance window is open." },
  RestartDelay: { meaning: "The last restart of any workload was too short a while ago." },
  FirstPod: {
    meaning: "Nobody could be asked whether new pods would be admitted: the first new pod of another workload of the namespace is waited for.",
  },
  FirstHealthy: { meaning: "Another workload takes the same change first; once it is healthy, the others follow." },
  RolloutLimit: { meaning: "As many workloads as may are rolling." },
  ClockSkew: { meaning: "The operator's clock and the API server's differ too much; nothing is restarted until they agree." },
} as const satisfies ReasonTable;

/** Why a workload is not restarted at all. */
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
  RestartTakenBack: {
    meaning: "It was restarted, and somebody has taken the restart off its template since, such as an owner that writes its whole object back.",
    health: "degraded",
  },
} as const satisfies ReasonTable;

export const rolloutReasons = { ...waitReasons, ...skipReasons };

export type WaitReason = keyof typeof waitReasons;
export type SkipReason = keyof typeof skipReasons;

const skipWords: Readonly<Record<SkipReason, string>> = {
  OptedOut: "restarts are disabled by label",
  NotOptedIn: "restarts are not enabled by label",
  Paused: "it is paused, by its spec or by the annotation keyturn.io/paused; resume it, and it will be restarted",
  OnDelete: "its update strategy is OnDelete; delete its pods one by one",
  Partitioned: "its update strategy has a partition, below which no pod would be replaced",
  BarePod: "nothing would make the pod again; delete it and create it anew",
  Job: "pods of a Job run to their end",
  UnsupportedOwner: "its pods belong to something that cannot be restarted here",
  RestartTakenBack:
    "it has been restarted, and somebody took that back; whoever keeps its template has to leave its annotations alone, or restart it",
  RestartWithoutEffect: "it has been restarted, and its new pods are no different; something else changes them",
};

/** Why a workload is not restarted, in words. */
export function skipInWords(reason: SkipReason): string {
  return skipWords[reason];
}
