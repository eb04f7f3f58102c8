// Writes of objects that are kept on an owner's behalf: never touches what is not ours, never sends what would change nothing.
import type { Client } from "../client/client.ts";
import { type Kind, resourceOf } from "../client/kind.ts";
import { keyOfObject, type KubeObject, nameOf, type ObjectKey, type ObjectName } from "../client/object.ts";
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
  /**
   * No cache shows it. It is created; should the name be taken all the same, that is found out then, and nothing was touched. What has the name is written to if it is this owner's;
   * with `createOnly` the write fails with `Conflict` instead: for objects whose next state is made from their last.
   */
  | { readonly seen: "absent"; readonly createOnly?: true }
  /** Nobody has looked; it is looked up first. */
  | { readonly seen: "unknown" };

/** What a cache of whole objects knows about an object. */
export function liveIn(cache: Cache<KubeObject>, key: ObjectKey): Live {
  const object = cache.get(key);
  const uid = cache.identity(key)?.uid;
  return object && uid ? { seen: "present", object, uid } : { seen: "absent" };
}

/** True if the object is known to be this owner's and to say all that is desired, so that applying it would change nothing. */
export function isUpToDate(
  desired: KubeObject,
  live: Live | undefined,
  { operator, owner }: { readonly operator: Operator; readonly owner: Owner },
): boolean {
  if (live?.seen !== "present" || ownershipOf(live.object, operator, owner) !== "ours") return false;
  return saysAll(live.object, withAppliedDigest(marked(desired, operator, owner), operator));
}

/** Items of a list come without apiVersion and kind, so those say nothing about a difference. */
function saysAll(live: KubeObject, wanted: KubeObject): boolean {
  return covers(live, { ...wanted, apiVersion: undefined, kind: undefined });
}

/**
 * A resourceVersion that no object has: etcd's first write is its second revision. Server-side apply with it creates an object that is not there,
 * and fails with `Conflict` on one that is, whoever made it.
 */
const neverStored = "1";

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

  /** Creates the object, or leaves whatever has the name as it is and tells what that is. */
  async function create<T extends KubeObject>(kind: Kind<T>, wanted: T): Promise<Live | undefined> {
    try {
      const created = { ...wanted, metadata: { ...wanted.metadata, resourceVersion: neverStored } };
      await client.apply(kind, created, { fieldManager, answer: "metadata" }, signal);
      return undefined;
    } catch (error) {
      if (!isApiError(error, "Conflict")) throw error;
      const found = await lookUp(kind, nameOf(keyOfObject(wanted)));
      if (found.seen === "present") return found;
      throw new TransientError(error.message, { reason: "Conflict", cause: error });
    }
  }

  return {
    async apply(kind, desired, live = { seen: "unknown" }) {
      const wanted = withAppliedDigest(marked(desired, operator, owner), operator);
      let known = live.seen === "unknown" ? await lookUp(kind, nameOf(keyOfObject(desired))) : live;
      if (known.seen !== "present") {
        const obstacle = await create(kind, wanted);
        if (obstacle?.seen !== "present") return "created";
        if (known.seen === "absent" && known.createOnly && ownershipOf(obstacle.object, operator, owner) === "ours") {
          throw new TransientError(`${resourceOf(kind)} ${keyOfObject(wanted)} was there already`, { reason: "Conflict" });
        }
        known = obstacle;
      }
      if (ownershipOf(known.object, operator, owner) !== "ours") throw conflict(kind, known.object);
      if (saysAll(known.object, wanted)) return "unchanged";
      // The uid makes sure that what we decided about is what we write to.
      const { uid, resourceVersion } = known;
      const identity = { uid, ...(resourceVersion !== undefined && { resourceVersion }) };
      const updated = { ...wanted, metadata: { ...wanted.metadata, ...identity } };
      await client.apply(kind, updated, { fieldManager, force: true, answer: "metadata" }, signal);
      return "updated";
    },

    async remove(kind, name) {
      const object = await client.get(kind, name, signal);
      if (!object || ownershipOf(object, operator, owner) !== "ours") return false;
      const { uid, resourceVersion } = object.metadata;
      await client.delete(kind, name, { uid, resourceVersion, answer: "metadata" }, signal);
      return true;
    },
  };
}
