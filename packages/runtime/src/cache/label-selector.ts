// Kubernetes label and field selectors, evaluated here: as text, as in a query or a flag, and as objects have them.
import type { LabelSelector } from "../client/builtin-kinds.ts";
import { type JsonObject, objectOr, stringOr } from "../json.ts";

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

/** Whether an object is selected. */
export type Selector = (object: JsonObject) => boolean;

/** Parses a label selector; undefined if it cannot be parsed. */
export function labelSelector(text: string): Selector | undefined {
  try {
    const matches = parseLabelSelector(text);
    return (object) => matches(labelsOf(object));
  } catch {
    return undefined;
  }
}

function labelsOf(object: JsonObject): Readonly<Record<string, string>> {
  const labels = Object.entries(objectOr(objectOr(object["metadata"])["labels"]));
  return Object.fromEntries(labels.map(([key, value]) => [key, stringOr(value, "")]));
}

/** Parses a field selector over the given fields; a string says which part is not known. */
export function fieldSelector(text: string, known: readonly string[]): Selector | string {
  const selectors: Selector[] = [];
  for (const part of text.split(",").filter((item) => item !== "")) {
    const match = /^(?<field>[^!=]+)(?<operator>==|=|!=)(?<value>.*)$/.exec(part);
    const { field = part, operator, value } = match?.groups ?? {};
    if (!known.includes(field)) return field;
    const steps = field.split(".");
    const valueOf = (object: JsonObject): string => {
      const parent = steps.slice(0, -1).reduce((inner, step) => objectOr(inner[step]), object);
      return stringOr(parent[steps.at(-1) ?? ""], "");
    };
    selectors.push((object) => (valueOf(object) === value) === (operator !== "!="));
  }
  return (object) => selectors.every((selects) => selects(object));
}
