// Why a workload is restarted for its sidecar, or why that is not known. What keeps it from being restarted is in `workloads/reasons.ts`.
import type { ReasonTable } from "../../feature/feature.ts";
import { rolloutReasons } from "../../workloads/reasons.ts";

/** Why it is not known whether a workload is outdated. */
const unknownReasons = {
  Pending: { meaning: "The configuration has just changed, or the webhook has not answered yet." },
  WebhookFailed: { meaning: "The webhook gave no answer that can be used; it is asked again." },
  WebhookRefused: { meaning: "The webhook would not allow the pod." },
  PodRefused: {
    meaning:
      "The API server would not admit a new pod: a policy, a quota or another webhook refuses it. Restarting would take pods away and bring none.",
  },
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

export const sidecarsReasons = { ...rolloutReasons, ...unknownReasons, ...eventReasons };

export type EventReason = keyof typeof eventReasons;
