// Which pods of a workload are compared with what a new one would get, and what comes of it.
import type { Cache, Change, Clock, DeepReadonly, ObjectKey } from "@keyturn/runtime";
import { restartTimeMs } from "./annotations.ts";
import type { Answer } from "./expectations.ts";
import { compareSidecar, type ComparisonOptions, type InvalidImage, type Sidecar, sidecarDigest } from "./injection/sidecar.ts";
import type { LivePod } from "./pods.ts";
import type { Inspection, WorkloadRef } from "./rollout-plan.ts";

/**
 * The pods that count: those made since the last restart. Once that is finished there are no others, and a cache that still shows some is behind.
 * A pod made from a restarted template says so itself; a Rollout's pods only have their age.
 */
export function countedPods<P extends Pick<LivePod, "restartedAt" | "createdAtMs">>(
  { ref, restartedAt }: { readonly ref: Pick<WorkloadRef, "kind">; readonly restartedAt: string | undefined },
  pods: readonly P[],
): readonly P[] {
  if (ref.kind !== "Rollout") return pods.filter((pod) => pod.restartedAt === restartedAt);
  const sinceMs = restartTimeMs(restartedAt) ?? 0;
  return pods.filter(({ createdAtMs }) => createdAtMs >= sinceMs);
}

/** The inspection of these pods. One pod that is outdated makes its workload so. */
export function judge(pods: readonly DeepReadonly<LivePod>[], expectation: Answer["expectation"], options: ComparisonOptions): Inspection {
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

// Labels of namespaces that have just changed: whoever moves a namespace to another revision changes several, one after the other.

type Labels = Readonly<Record<string, string>>;

/** Follows the namespaces, whether or not this process leads. */
export class NamespaceStabilization {
  readonly #changedMs = new Map<ObjectKey, number>();
  readonly #clock: Clock;
  readonly #stabilizeMs: number;

  /** `matters` says which labels decide about injection. */
  constructor(
    namespaces: Cache<Labels>,
    { clock, stabilizeMs, matters }: { readonly clock: Clock; readonly stabilizeMs: number; readonly matters: (label: string) => boolean },
  ) {
    this.#clock = clock;
    this.#stabilizeMs = stabilizeMs;
    namespaces.subscribe((change) => {
      if (change.type === "deleted") this.#changedMs.delete(change.key);
      else if (changedLabels(change).some(matters)) this.#changedMs.set(change.key, clock.monotonic());
    });
  }

  /** How much longer a namespace is given; 0 if its labels are stable. */
  stabilizesInMs(namespace: string): number {
    const changedMs = this.#changedMs.get(namespace);
    if (changedMs === undefined) return 0;
    const leftMs = changedMs + this.#stabilizeMs - this.#clock.monotonic();
    if (leftMs > 0) return leftMs;
    this.#changedMs.delete(namespace);
    return 0;
  }
}

/** The labels that a change has added, removed or given another value; none for a namespace that is new. */
export function changedLabels(change: Change<Labels>): readonly string[] {
  if (change.type !== "updated" && change.type !== "replaced") return [];
  const { previous, value } = change;
  return Array.from(new Set([...Object.keys(previous), ...Object.keys(value)])).filter((label) => previous[label] !== value[label]);
}
