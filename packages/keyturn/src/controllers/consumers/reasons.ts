// Why a workload is restarted for what it uses, or why that is not known. What keeps it from being restarted is in `workloads/reasons.ts`.
import type { ReasonTable } from "../../feature/feature.ts";
import { rolloutReasons } from "../../workloads/reasons.ts";

/** Why it is not known whether a workload is behind. */
const unknownReasons = {
  Pending: { meaning: "Something that it uses has just changed, and more changes are waited for." },
  PodRefused: {
    meaning:
      "The API server would not admit a new pod: a policy, a quota or another webhook refuses it. Restarting would take pods away and bring none.",
  },
  WebhookFailed: { meaning: "The API server gave no answer that can be used about a new pod; it is asked again." },
  InstallationKeyMissing: {
    meaning: "The installation's key, with which contents are compared, cannot be read: grant the operator its rights in its own namespace.",
  },
} as const satisfies ReasonTable;

/** What an Event on a workload can say, besides a reason above. */
const eventReasons = {
  CredentialRestart: { meaning: "The workload was restarted because something that it uses has changed; the message says what.", notable: true },
  CredentialRolloutFinished: { meaning: "Its rollout is finished, and its pods use the new content.", notable: true },
} as const satisfies ReasonTable;

export const consumersReasons = { ...rolloutReasons, ...unknownReasons, ...eventReasons };

export type EventReason = keyof typeof eventReasons;
