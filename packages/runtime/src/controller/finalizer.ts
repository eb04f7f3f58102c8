// Finalizers: hold an object's deletion until our cleanup is done. Patched with `test`, so that nobody else's finalizer is ever lost.
import type { Client, JsonPatchOperation } from "../client/client.ts";
import type { Kind, KubeObject, Stored } from "../client/kind.ts";
import { isApiError } from "../client/api-error.ts";
import { conflictReason, TransientError } from "./failure.ts";

/** True if the object carries the finalizer. */
function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/** True once somebody has asked for the object's deletion. */
export function isBeingDeleted(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

/** The patch that adds the finalizer, or undefined if it is there. Fails on the server if the object was replaced or its finalizers changed since it was read. */
export function addFinalizerPatch(object: Stored<KubeObject>, finalizer: string): readonly JsonPatchOperation[] | undefined {
  if (hasFinalizer(object, finalizer)) return undefined;
  const guard: JsonPatchOperation = { op: "test", path: "/metadata/uid", value: object.metadata.uid };
  const present = object.metadata.finalizers;
  if (!present?.length) {
    // An `add` would overwrite a list that somebody else began meanwhile; the resourceVersion rules that out.
    return [
      guard,
      { op: "test", path: "/metadata/resourceVersion", value: object.metadata.resourceVersion },
      { op: "add", path: "/metadata/finalizers", value: [finalizer] },
    ];
  }
  return [guard, { op: "test", path: "/metadata/finalizers", value: present }, { op: "add", path: "/metadata/finalizers/-", value: finalizer }];
}

/** The patch that removes the finalizer, or undefined if it is not there. The `test` proves that the index still names ours. */
export function dropFinalizerPatch(object: Stored<KubeObject>, finalizer: string): readonly JsonPatchOperation[] | undefined {
  const index = object.metadata.finalizers?.indexOf(finalizer) ?? -1;
  if (index < 0) return undefined;
  return [
    { op: "test", path: "/metadata/uid", value: object.metadata.uid },
    { op: "test", path: `/metadata/finalizers/${index}`, value: finalizer },
    { op: "remove", path: `/metadata/finalizers/${index}` },
  ];
}

/** Adds the finalizer. Resolves to the object as it then is; unchanged, without a request, if the finalizer is there. */
export async function addFinalizer<T extends KubeObject>(
  through: { readonly client: Client },
  target: { kind: Kind<T>; object: Stored<T> },
  finalizer: string,
): Promise<Stored<T>> {
  const patch = addFinalizerPatch(target.object, finalizer);
  return patch ? unlessChanged(through.client.jsonPatch(target.kind, target.object.metadata, patch)) : target.object;
}

/** Removes the finalizer. An object that has gone meanwhile is fine: that is what was wanted. */
export async function dropFinalizer<T extends KubeObject>(
  client: Client,
  target: { kind: Kind<T>; object: Stored<T> },
  finalizer: string,
): Promise<void> {
  const patch = dropFinalizerPatch(target.object, finalizer);
  if (!patch) return;
  try {
    await unlessChanged(client.jsonPatch(target.kind, target.object.metadata, patch, { answer: "metadata" }));
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
  }
}

/** A `test` that does not hold is answered with 422. The object has changed since it was read: a conflict, and no refusal. */
async function unlessChanged<T>(patched: Promise<T>): Promise<T> {
  try {
    return await patched;
  } catch (error) {
    if (!isApiError(error, "Invalid")) throw error;
    throw new TransientError(error.message, { reason: conflictReason, cause: error });
  }
}
