// What is kept of a pod, and what comes of comparing it with what a new one would get.
import type { DeepReadonly, Pod, PodTemplateSpec, Stored } from "@keyturn/runtime";
import { deadPod, keepLivePod, type LivePod, type PodOwner } from "../../workloads/pod-selection.ts";
import type { Inspection } from "../../workloads/rollout-plan.ts";
import type { Answer } from "./expectations.ts";
import { apiServer } from "./injection/expectation.ts";
import { compareSidecar, type ComparisonOptions, type InvalidImage, type Sidecar, sidecarDigest, sidecarOf } from "./injection/sidecar.ts";

// What is kept of a pod: its sidecar, and what decides about that of a pod that nobody can restart.

/** A pod that counts. */
export interface SidecarPod extends LivePod {
  readonly sidecar: Sidecar | undefined;
  /** Of pods that belong to no workload with a template we know: what decides about injection. */
  readonly outline: PodTemplateSpec | undefined;
}

/** A way to keep pods; `whole` also takes digests of the sidecar's parts. */
export function podKeeper({ whole }: { readonly whole: boolean }): (pod: Stored<Pod>) => SidecarPod | typeof deadPod {
  return function keepPod(pod) {
    const live = keepLivePod(pod);
    if (live === deadPod) return deadPod;
    const sidecar = sidecarOf(pod, { whole });
    // Without a sidecar there is nothing to report about a pod that nobody can restart; nor if the sidecar is one of its own, which nobody injected.
    const isReported = sidecar && isInjected(pod) && !hasTemplate(pod, live.owner);
    return { ...live, sidecar, outline: isReported ? outlineOf(pod) : undefined };
  };
}

/** istiod says on every pod what it has injected. */
function isInjected({ metadata: { annotations } }: Pod): boolean {
  return annotations?.["sidecar.istio.io/status"] !== undefined;
}

/** True for pods of Deployments, StatefulSets and DaemonSets. ReplicaSets that belong to no Deployment do not give their pods this label. */
function hasTemplate({ metadata: { labels } }: Pod, owner: PodOwner | undefined): boolean {
  if (owner?.apiVersion !== "apps/v1") return false;
  return owner.kind === "ReplicaSet" ? labels?.["pod-template-hash"] !== undefined : true;
}

/** Labels that Jobs give their pods, so that those of no two Jobs would look alike. */
const labelsOfOne = /^(?:batch\.kubernetes\.io\/)?(?:controller-uid|job-name|job-completion-index)$/;
/** What istiod itself leaves on a pod. */
const labelsOfIstio = /^(?:security\.istio\.io\/tlsMode|service\.istio\.io\/canonical-(?:name|revision))$/;

/** Such a pod has no template any more; what people wrote on it is enough to know which image and revision it would get. */
function outlineOf({ metadata: { labels = {}, annotations = {} }, spec }: Pod): PodTemplateSpec {
  const own = (entries: Readonly<Record<string, string>>, wanted: (key: string) => boolean): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(entries).filter(([key]) => wanted(key)));
  return {
    metadata: {
      labels: own(labels, (key) => !labelsOfOne.test(key) && !labelsOfIstio.test(key)),
      annotations: own(annotations, (key) => key.startsWith("sidecar.istio.io/") && key !== "sidecar.istio.io/status"),
    },
    spec: { containers: [{ name: "app" }], ...(spec?.serviceAccountName !== undefined && { serviceAccountName: spec.serviceAccountName }) },
  };
}

// What comes of comparing the pods of a workload with what a new one would get.

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
      return { type: "unknown", reason: "WebhookUndecidable", message: `webhook ${expectation.webhook}: ${expectation.message}`, lasts: true };
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
