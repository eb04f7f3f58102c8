// Owner references: tell Kubernetes to delete an object when its owner is gone.
import { apiVersionOf, type Kind } from "../client/kind.ts";
import type { KubeObject, OwnerReference, Stored } from "../client/object.ts";

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
