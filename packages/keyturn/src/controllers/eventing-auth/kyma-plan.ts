// What is to be done about the EventingAuth of one Kyma: a pure function of both objects.
import { apiVersionOf, isBeingDeleted, type OwnerReference, type Stored } from "@keyturn/runtime";
import { type EventingAuth, eventingAuthFinalizer, Kyma } from "./api.ts";

/** As much of a Kyma as matters here. */
export interface KymaSight {
  readonly name: string;
  readonly uid: string;
  readonly beingDeleted: boolean;
}

/** What to do. */
export type KymaStep =
  | { readonly type: "nothing" }
  | { readonly type: "create"; readonly ownerReference: OwnerReference }
  /** The object has another owner than it should, or none. */
  | { readonly type: "own"; readonly ownerReferences: readonly OwnerReference[] }
  /** The Kyma that it was made for is gone. */
  | { readonly type: "delete" };

/**
 * One EventingAuth for every Kyma that is there to stay. One whose Kyma is gone goes too, also where no garbage collector does it; one that never had
 * a Kyma is left alone: people may write their own.
 */
export function planKyma(kyma: KymaSight | undefined, auth: Stored<EventingAuth> | undefined): KymaStep {
  if (!kyma) return auth && !isBeingDeleted(auth) && controllingKyma(auth) ? { type: "delete" } : { type: "nothing" };
  if (kyma.beingDeleted) return { type: "nothing" };
  const wanted = referenceTo(kyma);
  if (!auth) return { type: "create", ownerReference: wanted };
  if (isBeingDeleted(auth)) return { type: "nothing" };
  const present = auth.metadata.ownerReferences ?? [];
  if (present.some((reference) => isSame(reference, wanted))) return { type: "nothing" };
  return { type: "own", ownerReferences: [...present.filter(({ controller, uid }) => !controller && uid !== kyma.uid), wanted] };
}

/** A new EventingAuth. It has its finalizer from the beginning, so that nothing can be made for it that its deletion would not undo. */
export function newEventingAuth(key: { readonly namespace: string; readonly name: string }, ownerReference: OwnerReference): EventingAuth {
  return { metadata: { ...key, finalizers: [eventingAuthFinalizer], ownerReferences: [ownerReference] }, spec: {} };
}

/** The Kyma that controls the object, by its reference. */
export function controllingKyma({ metadata }: EventingAuth): OwnerReference | undefined {
  return metadata.ownerReferences?.find(
    ({ controller, kind, apiVersion }) => controller && kind === Kyma.kind && apiVersion.startsWith(`${Kyma.group}/`),
  );
}

function referenceTo({ name, uid }: KymaSight): OwnerReference {
  return { apiVersion: apiVersionOf(Kyma), kind: Kyma.kind, name, uid, controller: true, blockOwnerDeletion: true };
}

function isSame(a: OwnerReference, b: OwnerReference): boolean {
  return a.uid === b.uid && a.apiVersion === b.apiVersion && a.kind === b.kind && a.name === b.name && a.controller === b.controller;
}
