// Writes of objects that are kept on an owner's behalf: never touches what is not ours, never sends what would change nothing.
import type { Client } from "../client/client.ts";
import type { Kind } from "../client/kind.ts";
import { keyOfObject, type KubeObject, nameOf, type ObjectKey, type ObjectName, type Stored } from "../client/object.ts";
import type { Cache } from "../cache/cache.ts";
import { isApiError } from "../client/api-error.ts";
import { fieldManagerOf, type Operator, ownerAnnotation } from "./operator.ts";
import { marked, NameConflictError, type Owner, ownershipOf } from "./ownership.ts";
import { TransientError } from "./errors.ts";
import { covers, withAppliedDigest } from "./unchanged.ts";

/** What the caller knows of the object as it is now. */
export type Live =
  /**
   * A cache of whole objects shows this one. With `resourceVersion` a write fails with `Conflict` unless the object is still of that version:
   * for objects whose next state is made from their last, which a cache that is behind must not decide.
   */
  | { readonly seen: "present"; readonly object: KubeObject; readonly uid: string; readonly resourceVersion?: string }
  /** A cache that covers every object of the kind shows none of this name. */
  | { readonly seen: "absent" }
  /** The caches cannot tell; it is looked up first. */
  | { readonly seen: "unknown" };

/** What a cache of whole objects knows about an object. A cache with a selection shows only some objects, so that one it does not show may still exist. */
export function liveIn(cache: Cache<KubeObject>, key: ObjectKey): Live {
  const object = cache.get(key);
  const uid = cache.identity(key)?.uid;
  if (object && uid) return { seen: "present", object, uid };
  const { namespace, labels, fields } = cache.selection;
  return { seen: labels || fields || (namespace && namespace !== nameOf(key).namespace) ? "unknown" : "absent" };
}

/** True if the object is known to be this owner's and to say all that is desired, so that applying it would change nothing. */
export function isUpToDate(
  desired: KubeObject,
  live: Live | undefined,
  { operator, owner }: { readonly operator: Operator; readonly owner: Owner },
): boolean {
  if (live?.seen !== "present") return false;
  const wanted = withAppliedDigest(marked(desired, operator, owner), operator);
  // Items of a list come without apiVersion and kind, so those say nothing about a difference.
  return ownershipOf(live.object, operator, owner) === "ours" && covers(live.object, { ...wanted, apiVersion: undefined, kind: undefined });
}

/** What a write came to. */
export type WriteResult = "created" | "updated" | "unchanged";

/** Applies and removes one owner's objects. */
export interface OwnedWriter {
  /** Brings the object to `desired` by server-side apply. Throws `NameConflictError`, having written nothing, if the name is taken by an object that is not this owner's. */
  apply<T extends KubeObject>(kind: Kind<T>, desired: T, live?: Live): Promise<WriteResult>;
  /** Deletes the object if it is this owner's; leaves any other alone. True if something was deleted. */
  remove<T extends KubeObject>(kind: Kind<T>, name: ObjectName): Promise<boolean>;
}

/** A writer for one owner within one reconcile. */
export function ownedWriter(options: {
  readonly client: Client;
  readonly operator: Operator;
  readonly controller: string;
  readonly owner: Owner;
  readonly signal: AbortSignal;
}): OwnedWriter {
  const { client, operator, owner, signal } = options;
  const fieldManager = fieldManagerOf(operator, options.controller);

  async function lookUp(kind: Kind, name: ObjectName): Promise<Live> {
    const object = await client.get(kind, name, signal);
    return object ? { seen: "present", object, uid: object.metadata.uid } : { seen: "absent" };
  }

  function conflict(kind: Kind, object: KubeObject): NameConflictError {
    const holder = object.metadata.annotations?.[ownerAnnotation(operator)];
    return new NameConflictError(kind, nameOf(keyOfObject(object)), { ownership: ownershipOf(object, operator, owner), holder });
  }

  /**
   * Server-side apply cannot be told to create only. Applied without force it fails where another manager holds a different value; where it
   * merged into an object that somebody made since we looked, the answer shows other managers, and we take our fields back.
   */
  async function create<T extends KubeObject>(kind: Kind<T>, wanted: T): Promise<WriteResult> {
    let created: Stored<T>;
    try {
      created = await client.apply(kind, wanted, { fieldManager }, signal);
    } catch (error) {
      if (isApiError(error, "Conflict")) throw new TransientError(error.message, { reason: "Conflict", cause: error });
      throw error;
    }
    const metadata = created.metadata;
    if (metadata.managedFields?.every(({ manager }) => manager === fieldManager) ?? true) return "created";
    const { name, namespace, uid } = metadata;
    const nothing: KubeObject = { metadata: { name, uid, ...(namespace ? { namespace } : {}) } };
    await client.apply<KubeObject>(kind, nothing, { fieldManager, force: true }, signal);
    throw new NameConflictError(kind, nameOf(keyOfObject(created)), { ownership: "foreign", holder: undefined });
  }

  return {
    async apply(kind, desired, live = { seen: "unknown" }) {
      const wanted = withAppliedDigest(marked(desired, operator, owner), operator);
      const known = live.seen === "unknown" ? await lookUp(kind, nameOf(keyOfObject(desired))) : live;
      if (known.seen !== "present") return create(kind, wanted);
      if (ownershipOf(known.object, operator, owner) !== "ours") throw conflict(kind, known.object);
      if (isUpToDate(desired, known, { operator, owner })) return "unchanged";
      // The uid makes sure that what we decided about is what we write to.
      const { uid, resourceVersion } = known;
      const identity = { uid, ...(resourceVersion !== undefined && { resourceVersion }) };
      await client.apply(kind, { ...wanted, metadata: { ...wanted.metadata, ...identity } }, { fieldManager, force: true }, signal);
      return "updated";
    },

    async remove(kind, name) {
      const object = await client.get(kind, name, signal);
      if (!object || ownershipOf(object, operator, owner) !== "ours") return false;
      const { uid, resourceVersion } = object.metadata;
      await client.delete(kind, name, { uid, resourceVersion }, signal);
      return true;
    },
  };
}
