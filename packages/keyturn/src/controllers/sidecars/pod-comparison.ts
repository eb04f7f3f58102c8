// What comes of comparing the pods of a workload with what a new one would get.
import type { DeepReadonly } from "@keyturn/runtime";
import type { Answer } from "./expectations.ts";
import { compareSidecar, type ComparisonOptions, type InvalidImage, type Sidecar, sidecarDigest } from "./injection/sidecar.ts";
import type { LivePod } from "./pods.ts";
import type { Inspection } from "./rollout-plan.ts";

/** The inspection of these pods. One pod that is outdated makes its workload so. */
export function comparePods(pods: readonly DeepReadonly<LivePod>[], expectation: Answer["expectation"], options: ComparisonOptions): Inspection {
  switch (expectation.type) {
    case "pending":
      return { type: "unknown", reason: "Pending", message: "the webhook has not answered yet" };
    case "failed":
      return { type: "unknown", reason: "WebhookFailed", message: `webhook ${expectation.webhook}: ${expectation.message}` };
    case "refused":
      return { type: "unknown", reason: "WebhookRefused", message: `webhook ${expectation.webhook} would refuse a new pod: ${expectation.message}` };
    case "undecidable":
      return { type: "unknown", reason: "WebhookUndecidable", message: `webhook ${expectation.webhook}: ${expectation.message}` };
    case "known":
    default:
      return expectation.invalidImage
        ? { type: "unknown", reason: "SidecarImageInvalid", message: invalidImageInWords(expectation.invalidImage) }
        : compared(pods, expectation.sidecar, options);
  }
}

/** Whatever the live pods have, a restart would only replace them by pods that do not start. */
function invalidImageInWords({ container, image }: InvalidImage): string {
  return `the container ${container} of a new pod would have the image "${image}", which cannot be run; see whether it is to be injected, and what its template sets`;
}

function compared(pods: readonly DeepReadonly<LivePod>[], expected: Sidecar | undefined, options: ComparisonOptions): Inspection {
  const outdated = pods.flatMap((pod) => {
    const comparison = compareSidecar(pod.sidecar, expected, options);
    return comparison.type === "outdated" ? [{ pod, ...comparison }] : [];
  });
  const [first] = outdated;
  if (!first) return { type: "current" };
  const others = outdated.length > 1 ? ` (and ${outdated.length - 1} more of ${pods.length} pods)` : "";
  return { type: "outdated", reason: first.reason, message: `pod ${first.pod.name} ${first.message}${others}`, digest: sidecarDigest(expected) };
}
