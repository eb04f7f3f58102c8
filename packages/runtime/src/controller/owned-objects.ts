// Objects that are kept on an owner's behalf: applied and deleted, unless they are not ours or nothing would change.
import { hash } from "node:crypto";
import type { WholeCache } from "../cache/cache.ts";
import { isApiError } from "../client/api-error.ts";
import type { Client } from "../client/client.ts";
import {
  apiVersionOf,
  keyOf,
  keyOfObject,
  type Kind,
  type KubeObject,
  nameOf,
  type ObjectKey,
  type ObjectName,
  type OwnerReference,
  resourceOf,
  type Stored,
} from "../client/kind.ts";
import { isRecord } from "../json.ts";
import { TerminalError, TransientError } from "./failure.ts";
import { asSent, saysAll } from "./stored-form.ts";

// Who we are: the name and domain under which an operator marks what is its own.

/** The identity of an operator. Everything it leaves in a cluster is recognisable by it. */
export interface Operator {
  /** Short and lower-case; the value of `app.kubernetes.io/managed-by` and the prefix of field managers and Leases. */
  readonly name: string;
  /** A DNS name of the operator's own; the prefix of its annotations and finalizers. */
  readonly domain: string;
}

/** The label that every object of the operator carries, so that one selector finds them all. */
export const managedByLabel = "app.kubernetes.io/managed-by";

/** The annotation that names the object on whose behalf another one is kept. */
function ownerAnnotation(operator: Operator): string {
  return `${operator.domain}/owner`;
}

/** The annotation that remembers what was last applied, as a digest. */
function appliedAnnotation(operator: Operator): string {
  return `${operator.domain}/applied`;
}

/** The label selector that finds every object of the operator. */
export function managedBySelector(operator: Operator): string {
  return `${managedByLabel}=${operator.name}`;
}

/** The field manager of one of the operator's controllers. */
export function fieldManagerOf(operator: Operator, controller: string): string {
  return `${operator.name}-${controller}`;
}

// Is this object ours? Asked before every write to and delete of an object that may be somebody else's.

/** The object on whose behalf others are kept. Identified by name, so that what outlives it is found again when it is created anew. */
export interface Owner {
  readonly kind: Kind;
  readonly name: ObjectName;
}

/** `ours`: kept on behalf of this very owner. `another`: the operator's, but for another owner. `foreign`: not the operator's. */
export type Ownership = "ours" | "another" | "foreign";

/** How an owner is written in the mark: `plural.group/namespace/name`. */
function ownerKey(owner: Owner): string {
  return `${resourceOf(owner.kind)}/${keyOf(owner.name)}`;
}

/** The key of the owner if it is of the given kind; for triggers from owned objects. What is said about an object of another namespace is not believed: anybody could. */
export function ownerOf(object: KubeObject, operator: Operator, kind: Kind): ObjectKey | undefined {
  const value = object.metadata.annotations?.[ownerAnnotation(operator)];
  const prefix = `${resourceOf(kind)}/`;
  const key = value?.startsWith(prefix) ? value.slice(prefix.length) : undefined;
  return key !== undefined && nameOf(key).namespace === (kind.namespaced ? object.metadata.namespace : undefined) ? key : undefined;
}

/** The keys of the owners of one kind: by the mark, and by an owner reference that says `controller`. */
export function ownersOf(object: KubeObject, operator: Operator, kind: Kind): readonly ObjectKey[] {
  const marked = ownerOf(object, operator, kind);
  const reference = object.metadata.ownerReferences?.find((each) => each.controller === true);
  const [group = ""] = reference?.apiVersion.includes("/") ? reference.apiVersion.split("/") : [];
  if (!reference || reference.kind !== kind.kind || group !== kind.group) return marked === undefined ? [] : [marked];
  const { namespace } = object.metadata;
  const referred = keyOf({ name: reference.name, ...(kind.namespaced && namespace !== undefined && { namespace }) });
  return marked === undefined || marked === referred ? [referred] : [marked, referred];
}

/** Whose an object is. */
export function ownershipOf(object: KubeObject, operator: Operator, owner: Owner): Ownership {
  if (object.metadata.labels?.[managedByLabel] !== operator.name) return "foreign";
  return object.metadata.annotations?.[ownerAnnotation(operator)] === ownerKey(owner) ? "ours" : "another";
}

/** The object with the operator's mark and the owner's name on it. */
export function marked<T extends KubeObject>(object: T, operator: Operator, owner: Owner): T {
  return {
    ...object,
    metadata: {
      ...object.metadata,
      labels: { ...object.metadata.labels, [managedByLabel]: operator.name },
      annotations: { ...object.metadata.annotations, [ownerAnnotation(operator)]: ownerKey(owner) },
    },
  };
}

/** An object of the wanted name exists and is not ours to change. Terminal: only a person can decide which of the two should go. */
export class NameConflictError extends TerminalError {
  constructor(kind: Kind, name: ObjectName, options: { readonly ownership: Ownership; readonly holder: string | undefined }) {
    const holder = options.ownership === "another" ? `it belongs to ${options.holder ?? "another object"}` : "it was not made by this operator";
    super(`${kind.kind} ${keyOf(name)} exists and ${holder}; it was left as it is: remove it, or choose another name`, { reason: "Conflict" });
    this.name = "NameConflictError";
  }
}

// Would applying this change anything? Decides, without a request, whether a write can be left out.

/** The object with a digest of itself in an annotation: what tells a later process that nothing was dropped from the desired state since. */
export function withAppliedDigest<T extends KubeObject>(desired: T, operator: Operator): T {
  const digest = hash("sha256", canonicalJson(desired), "hex").slice(0, 16);
  return {
    ...desired,
    metadata: { ...desired.metadata, annotations: { ...desired.metadata.annotations, [appliedAnnotation(operator)]: digest } },
  };
}

/** JSON with sorted keys, so that equal values give equal text. Members that are undefined are left out, as JSON.stringify does. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(",")}]`;
  if (!isRecord(value)) return JSON.stringify(value ?? null);
  // One text that grows: this is the most frequent work of a run that finds nothing to do.
  let text = "";
  for (const name of Object.keys(value).sort()) {
    const member = value[name];
    if (member !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${canonicalJson(member)}`;
  }
  return `{${text}}`;
}

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
export function liveIn(cache: WholeCache<KubeObject>, key: ObjectKey): Live {
  const object = cache.get(key);
  const uid = cache.identity(key)?.uid;
  return object && uid ? { seen: "present", object, uid } : { seen: "absent" };
}

/** True if the object is known to be this owner's and to say all that is desired, so that applying it would change nothing. */
export function isUpToDate(
  kind: Kind,
  desired: KubeObject,
  { live, operator, owner }: { readonly live: Live | undefined; readonly operator: Operator; readonly owner: Owner },
): boolean {
  if (live?.seen !== "present" || ownershipOf(live.object, operator, owner) !== "ours") return false;
  return saysAll(kind, live.object, withAppliedDigest(marked(asSent(kind, desired), operator, owner), operator));
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

  /** Creates the object, or leaves whatever has the name as it is and reports what that is. */
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
      const wanted = withAppliedDigest(marked(asSent(kind, desired), operator, owner), operator);
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
      if (saysAll(kind, known.object, wanted)) return "unchanged";
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

// Owner references: tell Kubernetes to delete an object when its owner is gone.

/** A reference that makes `owner` the controlling owner. Owner and owned must be in one namespace, or the owner cluster-scoped. */
export function ownerReferenceTo<T extends KubeObject>(kind: Kind<T>, owner: Stored<T>): OwnerReference {
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}
