// Kubernetes label selectors, evaluated here: as text, as in a query or a flag, and as objects have them.
import type { LabelSelector } from "../client/core-kinds.ts";

type Labels = Readonly<Record<string, string>>;
type Requirement = NonNullable<LabelSelector["matchExpressions"]>[number];

/** True for labels that the selector selects. */
export type LabelMatcher = (labels: Labels) => boolean;

const setBased = /^([\w./-]+)\s+(in|notin)\s*\(([\w.,\s-]*)\)$/;
const equality = /^([\w./-]+)\s*(==|=|!=)\s*([\w.-]*)$/;
const existence = /^(!?)\s*([\w./-]+)$/;

/** Parses a selector in the API's own syntax: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`, joined by commas. Throws on anything else. */
export function parseLabelSelector(selector: string): LabelMatcher {
  const requirements = splitRequirements(selector).map(parseRequirement);
  return (labels) => requirements.every((requirement) => holds(requirement, labels));
}

/** True if the labels are selected. A selector that is absent or empty selects everything, as in webhook configurations. */
export function selectsLabels({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}, labels: Labels = {}): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value) &&
    matchExpressions.every((requirement) => holds(requirement, labels))
  );
}

/** As the API server has it: `NotIn` also selects what does not have the label. */
function holds({ key, operator, values = [] }: Requirement, labels: Labels): boolean {
  const present = Object.hasOwn(labels, key);
  const listed = present && values.includes(labels[key] ?? "");
  switch (operator) {
    case "In":
      return listed;
    case "NotIn":
      return !listed;
    case "Exists":
      return present;
    case "DoesNotExist":
    default:
      return !present;
  }
}

/** Splits at the commas that are not within parentheses. */
function splitRequirements(selector: string): readonly string[] {
  return selector
    .split(/,(?![^()]*\))/)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function parseRequirement(text: string): Requirement {
  const [, key = "", operator, list = ""] = setBased.exec(text) ?? [];
  if (operator !== undefined) return { key, operator: operator === "in" ? "In" : "NotIn", values: list.split(",").map((value) => value.trim()) };
  const [, equalKey = "", sign, value = ""] = equality.exec(text) ?? [];
  if (sign !== undefined) return { key: equalKey, operator: sign === "!=" ? "NotIn" : "In", values: [value] };
  const [, negation, name] = existence.exec(text) ?? [];
  if (name !== undefined) return { key: name, operator: negation ? "DoesNotExist" : "Exists" };
  throw new Error(`the label selector requirement ${JSON.stringify(text)} is not understood: use a=b, a!=b, a in (b,c), a notin (b,c), a or !a`);
}
