// The conditions of an object's status, kept as Kubernetes' conventions ask.
import { redactAndCut } from "./redact.ts";

/** A condition as it stands in a status (metav1.Condition). */
export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  /** PascalCase, never empty. */
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number | undefined;
  /** When `status` last changed; whole seconds. */
  readonly lastTransitionTime: string;
}

/** A condition to be set; the time is found out. */
export type ConditionToSet = Omit<Condition, "lastTransitionTime">;

/** The API server refuses longer ones (metav1.Condition's own schema). */
const longestMessage = 32_768;

/**
 * The conditions with one of them set; the given list is not changed. The time of the last transition stays unless the status changes, the message is
 * redacted and cut, the order is that of first appearance, and setting what is already there returns the very same list.
 */
export function setCondition(conditions: readonly Condition[], { observedGeneration, ...wanted }: ConditionToSet, now: number): readonly Condition[] {
  const previous = conditions.find(({ type }) => type === wanted.type);
  const condition: Condition = {
    type: wanted.type,
    status: wanted.status,
    reason: wanted.reason,
    message: redactAndCut(wanted.message, longestMessage),
    ...(observedGeneration !== undefined && { observedGeneration }),
    lastTransitionTime: previous?.status === wanted.status ? previous.lastTransitionTime : `${new Date(now).toISOString().slice(0, 19)}Z`,
  };
  if (!previous) return [...conditions, condition];
  if (isSame(previous, condition)) return conditions;
  return conditions.map((other) => (other.type === wanted.type ? condition : other));
}

/** The conditions without one type; the same list if it was not there. */
export function removeCondition(conditions: readonly Condition[], type: string): readonly Condition[] {
  return conditions.some((condition) => condition.type === type) ? conditions.filter((condition) => condition.type !== type) : conditions;
}

/** The condition of a type, if there is one. */
export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** True if the condition of this type has the status True, and was seen for this generation if one is given. */
export function isConditionTrue(conditions: readonly Condition[] | undefined, type: string, generation?: number): boolean {
  const condition = findCondition(conditions, type);
  return condition?.status === "True" && (generation === undefined || condition.observedGeneration === generation);
}

function isSame(a: Condition, b: Condition): boolean {
  return (
    a.status === b.status &&
    a.reason === b.reason &&
    a.message === b.message &&
    a.observedGeneration === b.observedGeneration &&
    a.lastTransitionTime === b.lastTransitionTime
  );
}
