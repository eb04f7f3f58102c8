// A kind of object: where the API server serves it, its objects' type, and how an object is named.

/** A link to the object that owns this one; Kubernetes deletes the owned when all owners are gone. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** Who last set which fields, as the server records it for server-side apply. */
interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation?: "Apply" | "Update";
  readonly subresource?: string;
  /** When the manager last changed one of its fields; whole seconds. */
  readonly time?: string;
  /** The fields, as a tree of `f:name`. */
  readonly fieldsV1?: unknown;
}

/** What the API server keeps about every object. Fields that the server always sets on a stored object are optional here because an object to be written lacks them. */
export interface ObjectMeta {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

/** Any Kubernetes object, to be written or as read. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** Metadata as the API server returns it: named, identified, versioned. */
export type StoredMeta = ObjectMeta & { readonly name: string; readonly uid: string; readonly resourceVersion: string };

/** An object as the API server returns it. */
export type Stored<T extends KubeObject> = T & { readonly metadata: StoredMeta };

/** Where an object lives within its kind. `namespace` is absent for cluster-scoped kinds. */
export interface ObjectName {
  readonly namespace?: string;
  readonly name: string;
}

/** The one-string form of an `ObjectName`: `namespace/name`, or `name` alone for cluster-scoped kinds. */
export type ObjectKey = string;

/** The key of a name; neither part can contain a slash. */
export function keyOf({ namespace, name }: ObjectName): ObjectKey {
  return namespace ? `${namespace}/${name}` : name;
}

/** The key of an object that has a name. */
export function keyOfObject(object: KubeObject): ObjectKey {
  const { namespace, name = "" } = object.metadata;
  return keyOf(namespace ? { namespace, name } : { name });
}

/** The inverse of `keyOf`. */
export function nameOf(key: ObjectKey): ObjectName {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

declare const objectType: unique symbol;

/** Names a resource of the API server and carries the type of its objects. */
export interface Kind<T extends KubeObject = KubeObject> {
  /** The API group; empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The lower-case plural that stands in URLs and RBAC rules. */
  readonly plural: string;
  readonly namespaced: boolean;
  /** Never set: ties `T` to the kind for inference. */
  readonly [objectType]?: T;
}

/** Declares a kind; `T` is the type of its objects. */
export function defineKind<T extends KubeObject>(kind: Omit<Kind, typeof objectType>): Kind<T> {
  return Object.freeze({ ...kind });
}

/** `group/version`, or `version` alone for the core group: the `apiVersion` of the kind's objects. */
export function apiVersionOf(kind: Kind): string {
  return kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
}

/** `plural.group`, as kubectl and CRD names write it; identifies a kind in logs, metrics and cache keys. */
export function resourceOf(kind: Pick<Kind, "group" | "plural">): string {
  return kind.group === "" ? kind.plural : `${kind.plural}.${kind.group}`;
}

/** The URL path of a kind's collection: of one namespace, or of the whole cluster when `namespace` is absent. */
export function collectionPath(kind: Kind, namespace?: string): string {
  const root = kind.group === "" ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const scope = kind.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${scope}/${kind.plural}`;
}

/** The URL path of one object, or of one of its subresources. */
export function objectPath(kind: Kind, { namespace, name }: ObjectName, subresource?: string): string {
  const path = `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}`;
  return subresource ? `${path}/${subresource}` : path;
}
