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
export function ownerAnnotation(operator: Operator): string {
  return `${operator.domain}/owner`;
}

/** The annotation that remembers what was last applied, as a digest. */
export function appliedAnnotation(operator: Operator): string {
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
