// Is this object ours? Asked before every write to and delete of an object that may be somebody else's.
import { type Kind, resourceOf } from "../client/kind.ts";
import { type KubeObject, type ObjectKey, keyOf, nameOf, type ObjectName } from "../client/object.ts";
import { managedByLabel, type Operator, ownerAnnotation } from "./operator.ts";
import { TerminalError } from "./errors.ts";

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
