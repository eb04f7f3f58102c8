// A kind of object: where the API server serves it, and the TypeScript type of its objects.
import type { KubeObject, ObjectName } from "./object.ts";

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
export function resourceOf(kind: Kind): string {
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
