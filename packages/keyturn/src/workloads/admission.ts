// Whether the API server would admit a new pod of a workload, and what it would make of it: one is created by server-side dry run, through all webhooks and policies,
// and not stored. Also for how long its refusal is believed.
import { type Client, type Clock, isApiError, Pod } from "@keyturn/runtime";
import { draftPod, type PodSource } from "./pod-draft.ts";
import type { Inspection, WorkloadId } from "./rollout-plan.ts";

/** What the API server said about a new pod. */
export type Admission =
  /** `draft` is what it was asked about. */
  | { readonly type: "admitted"; readonly pod: Pod; readonly draft: Pod }
  /** A restart would take pods away and bring none. */
  | { readonly type: "refused"; readonly message: string }
  /** There was no answer that can be used. */
  | { readonly type: "failed"; readonly message: string }
  /** We may not ask. */
  | { readonly type: "unasked"; readonly message: string };

/** We may not create pods, not even without storing them: the whole beginning of the API server's own words, which no webhook or policy can give to its own. */
const lacksRight = /^pods is forbidden: User "[^"\n]{1,256}" cannot create resource "pods"/;

/** Asks. Rejects only if the signal aborts. */
export async function askAdmission(client: Client, source: PodSource, signal: AbortSignal): Promise<Admission> {
  const draft = draftPod(source);
  try {
    const { name, ownerReferences = [], ...rest } = draft.metadata;
    // Who creates a pod that blocks the deletion of its owner may need a right on that owner, as on OpenShift; its controller has it, and we do not.
    const metadata = { ...rest, ownerReferences: ownerReferences.map(({ blockOwnerDeletion: _needsRight, ...owner }) => owner) };
    // A name of its own: a pod of a StatefulSet has one that is taken.
    const named = name === undefined ? metadata : { ...metadata, generateName: `${name}-` };
    return { type: "admitted", pod: await client.create(Pod, { ...draft, metadata: named }, { dryRun: true }, signal), draft };
  } catch (error) {
    signal.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    if (isApiError(error, "Forbidden") && lacksRight.test(error.body.message ?? "")) return { type: "unasked", message };
    return { type: isApiError(error, "Forbidden") || isApiError(error, "Invalid") ? "refused" : "failed", message };
  }
}

/** The same as an inspection, if it says that nobody may be restarted; `reason` is the same whoever wants the restart. */
function admissionFailure(admission: Admission): Extract<Inspection, { readonly type: "unknown" }> | undefined {
  const { type } = admission;
  if (type === "refused") return { type: "unknown", reason: "PodRefused", message: `the API server would refuse a new pod: ${admission.message}` };
  if (type === "failed") return { type: "unknown", reason: "WebhookFailed", message: `the API server: ${admission.message}` };
  return undefined;
}

interface Kept {
  /** What the restart would have been for, and of which template. */
  readonly input: string;
  readonly failure: Extract<Inspection, { readonly type: "unknown" }>;
  readonly failures: number;
  readonly untilMs: number;
}

const firstRetryMs = 5000;
const maxRetryMs = 300_000;

/** The workloads whose new pods were not admitted. Each is asked about again after 5 s, 10 s … 5 min, and at once if it is to be restarted for something else or its template changes. */
export class AdmissionFailures {
  readonly #kept = new Map<WorkloadId, Kept>();
  readonly #clock: Pick<Clock, "monotonic">;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Keeps what was said about a restart for `input`. */
  keep(id: WorkloadId, input: string, admission: Admission): void {
    const failure = admissionFailure(admission);
    const known = this.#kept.get(id);
    if (!failure) this.#kept.delete(id);
    else {
      const failures = known?.input === input ? known.failures : 0;
      const untilMs = this.#clock.monotonic() + Math.min(firstRetryMs * 2 ** failures, maxRetryMs);
      this.#kept.set(id, { input, failure, failures: failures + 1, untilMs });
    }
  }

  /** What counts instead of a restart for `input`, and for how much longer. */
  of(id: WorkloadId, input: string): { readonly failure: Kept["failure"]; readonly forMs: number } | undefined {
    const known = this.#kept.get(id);
    const forMs = (known?.untilMs ?? 0) - this.#clock.monotonic();
    return known?.input === input && forMs > 0 ? { failure: known.failure, forMs } : undefined;
  }

  forget(id: WorkloadId): void {
    this.#kept.delete(id);
  }
}
