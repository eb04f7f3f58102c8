// Label selectors as objects have them, evaluated as the API server does.
import type { LabelSelector } from "@keyturn/runtime";

type Labels = Readonly<Record<string, string>>;

/** True if the labels are selected. A selector that is absent or empty selects everything, as in webhook configurations. */
export function selects({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}, labels: Labels = {}): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value) &&
    matchExpressions.every((expression) => holds(expression, labels))
  );
}

function holds({ key, operator, values = [] }: NonNullable<LabelSelector["matchExpressions"]>[number], labels: Labels): boolean {
  const present = Object.hasOwn(labels, key);
  const listed = present && values.includes(labels[key] ?? "");
  switch (operator) {
    case "In":
      return listed;
    case "NotIn":
      // Also selects what does not have the label.
      return !listed;
    case "Exists":
      return present;
    case "DoesNotExist":
    default:
      return !present;
  }
}
