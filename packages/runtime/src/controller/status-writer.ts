// Writes an object's status subresource by server-side apply, and only when it says something new.
import type { Client } from "../client/client.ts";
import type { Kind } from "../client/kind.ts";
import type { KubeObject, Stored } from "../client/object.ts";
import { isSame } from "./unchanged.ts";

/** An object whose controller reports in `status`. */
export interface WithStatus<Status> extends KubeObject {
  readonly status?: Status;
}

/** Makes `status` the whole status that this field manager reports. True if it had to be sent. Fails with `Conflict` if the very object is gone. */
export async function writeStatus<Status, T extends WithStatus<Status>>(
  through: { readonly client: Client; readonly signal?: AbortSignal },
  target: { readonly kind: Kind<T>; readonly object: Stored<T>; readonly status: Status; readonly fieldManager: string },
): Promise<boolean> {
  const { kind, object, status, fieldManager } = target;
  if (isSame(object.status, status)) return false;
  const { name, namespace, uid } = object.metadata;
  const applied: WithStatus<Status> = { metadata: { name, uid, ...(namespace ? { namespace } : {}) }, status };
  const options = { fieldManager, force: true, subresource: "status", answer: "metadata" } as const;
  await through.client.apply<WithStatus<Status>, "metadata">(kind, applied, options, through.signal);
  return true;
}
