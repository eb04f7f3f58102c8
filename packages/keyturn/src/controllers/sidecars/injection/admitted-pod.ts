// What the API server itself would make of a new pod: one is created by server-side dry run, through all webhooks and policies, and not stored.
import { type Client, isApiError, Pod } from "@keyturn/runtime";
import { draftPod, type PodSource } from "../../../workloads/pod-draft.ts";
import type { Expectation } from "./expectation.ts";
import { invalidImageIn, sidecarOf } from "./sidecar.ts";

/** Whoever is named here is the API server itself, and no webhook that is known by its name. */
export const apiServer = "of the API server";

/** We may not create pods, not even without storing them. */
const lacksRight = /cannot create resource "pods"/;

/** What the API server would make of a new pod, all its webhooks included; `unasked` if it may not be asked. */
export async function expectedByApiServer(
  client: Client,
  source: PodSource,
  { whole, signal }: { readonly whole: boolean; readonly signal: AbortSignal },
): Promise<Expectation | { readonly type: "unasked"; readonly message: string }> {
  try {
    const draft = draftPod(source);
    const { name, ownerReferences = [], ...rest } = draft.metadata;
    // Who creates a pod that blocks the deletion of its owner may need a right on that owner, as on OpenShift; its controller has it, and we do not.
    const metadata = { ...rest, ownerReferences: ownerReferences.map(({ blockOwnerDeletion: _needsRight, ...owner }) => owner) };
    // A name of its own: a pod of a StatefulSet has one that is taken.
    const pod = await client.create(
      Pod,
      { ...draft, metadata: name === undefined ? metadata : { ...metadata, generateName: `${name}-` } },
      { dryRun: true },
      signal,
    );
    return { type: "known", sidecar: sidecarOf(pod, { whole }), invalidImage: invalidImageIn(pod, draft), webhooks: [] };
  } catch (error) {
    signal.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    if (isApiError(error, "Forbidden") && lacksRight.test(message)) return { type: "unasked", message };
    return { type: isApiError(error, "Forbidden") || isApiError(error, "Invalid") ? "refused" : "failed", webhook: apiServer, message };
  }
}
