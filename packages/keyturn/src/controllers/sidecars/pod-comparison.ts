// What comes of comparing the pods of a workload with what a new one would get.
import type { DeepReadonly } from "@keyturn/runtime";
import type { Answer } from "./expectations.ts";
import { apiServer } from "./injection/admitted-pod.ts";
import { compareSidecar, type ComparisonOptions, type InvalidImage, type Sidecar, sidecarDigest } from "./injection/sidecar.ts";
import type { SidecarPod } from "./sidecar-pod.ts";
import type { Inspection } from "../../workloads/rollout-plan.ts";

/** The inspection of these pods. One pod that is outdated makes its workload so. */
export function comparePods(pods: readonly DeepReadonly<SidecarPod>[], expectation: Answer["expectation"], options: ComparisonOptions): Inspection {
  switch (expectation.type) {
    case "pending":
      return { type: "unknown", reason: "Pending", message: "the webhook has not answered yet" };
    case "failed":
      return { type: "unknown", reason: "WebhookFailed", message: `${calledBy(expectation)}: ${expectation.message}` };
    case "refused":
      return {
        type: "unknown",
        reason: expectation.webhook === apiServer ? "PodRefused" : "WebhookRefused",
        message: `${calledBy(expectation)} would refuse a new pod: ${expectation.message}`,
      };
    case "undecidable":
      return { type: "unknown", reason: "WebhookUndecidable", message: `webhook ${expectation.webhook}: ${expectation.message}` };
    case "known":
    default:
      return expectation.invalidImage
        ? { type: "unknown", reason: "SidecarImageInvalid", message: invalidImageInWords(expectation.invalidImage) }
        : compared(pods, expectation.sidecar, options);
  }
}

function calledBy({ webhook }: { readonly webhook: string }): string {
  return webhook === apiServer ? "the API server" : `webhook ${webhook}`;
}

/** Whatever the live pods have, a restart would only replace them by pods that do not start. */
function invalidImageInWords({ container, image }: InvalidImage): string {
  return `the container ${container} of a new pod would have the image "${image}", which cannot be run; see whether it is to be injected, and what its template sets`;
}

function compared(pods: readonly DeepReadonly<SidecarPod>[], expected: Sidecar | undefined, options: ComparisonOptions): Inspection {
  const outdated = pods.flatMap((pod) => {
    const comparison = compareSidecar(pod.sidecar, expected, options);
    return comparison.type === "outdated" ? [{ pod, ...comparison }] : [];
  });
  const [first] = outdated;
  if (!first) return { type: "current" };
  const others = outdated.length > 1 ? ` (and ${outdated.length - 1} more of ${pods.length} pods)` : "";
  return { type: "outdated", reason: first.reason, message: `pod ${first.pod.name} ${first.message}${others}`, digest: sidecarDigest(expected) };
}
