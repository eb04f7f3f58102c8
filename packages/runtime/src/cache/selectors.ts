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

/** True if no labels can be selected by both; throws on what cannot be parsed. */
export function areSelectorsDisjoint(one: string, other: string): boolean {
  const [first, second] = [one, other].map((selector) => splitRequirements(selector).map(parseRequirement));
  return (first ?? []).some((requirement) => (second ?? []).some((against) => excludes(requirement, against) || excludes(against, requirement)));
}

/** As far as two requirements alone tell: of one label's values. */
function excludes({ key, operator, values = [] }: Requirement, against: Requirement): boolean {
  if (key !== against.key) return false;
  if (against.operator === "DoesNotExist") return operator === "Exists" || operator === "In";
  if (operator !== "In") return false;
  const others: ReadonlySet<string> = new Set(against.values);
  if (against.operator === "In") return values.every((value) => !others.has(value));
  return against.operator === "NotIn" && values.every((value) => others.has(value));
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

// Field selectors, as far as it must be known here whether an object is one of those that the server selects.

/** The value of a field such as `status.phase`: empty where the object has none, undefined where that is not known. */
type FieldValue = (path: string) => string | undefined;

/** True if an object with these fields is selected. One of which a field is not known counts as not selected. */
type FieldMatcher = (valueOf: FieldValue) => boolean;

interface FieldRequirement {
  readonly path: string;
  readonly value: string;
  readonly equal: boolean;
}

/** Reads a selector in the API's own syntax, such as `type=kubernetes.io/tls,metadata.name!=x`. The server has checked it already: what cannot be read selects everything. */
export function parseFieldSelector(selector: string): FieldMatcher {
  const requirements = termsOf(selector).flatMap(requirementOf);
  return (valueOf) =>
    requirements.every(({ path, value, equal }) => {
      const actual = valueOf(path);
      return actual !== undefined && (actual === value) === equal;
    });
}

/** The fields that a selector asks for, as far as it can be read. */
export function fieldPathsOf(selector: string): readonly string[] {
  return termsOf(selector).flatMap((term) => requirementOf(term).map(({ path }) => path));
}

/** Parses a field selector over the given fields; a string says which part is not known. */
export function fieldSelector(text: string, known: readonly string[]): Selector | string {
  const unknown = termsOf(text)
    .map((term) => requirementOf(term)[0]?.path ?? term)
    .find((path) => !known.includes(path));
  if (unknown !== undefined) return unknown;
  const matches = parseFieldSelector(text);
  return (object) => matches((path) => fieldAt(object, path) ?? "");
}

/** The terms between commas that no backslash precedes. */
function termsOf(selector: string): readonly string[] {
  return selector.match(/(?:\\.|[^\\,])+/gs) ?? [];
}

function requirementOf(term: string): readonly FieldRequirement[] {
  const { path, operator, value = "" } = /^(?<path>[^=!\\]+)(?<operator>!=|==|=)(?<value>.*)$/s.exec(term)?.groups ?? {};
  if (path === undefined) return [];
  return [{ path, value: value.replace(/\\(.)/gs, "$1"), equal: operator !== "!=" }];
}

/** What an object has at a path of member names, as text; undefined if nothing. */
export function fieldAt(object: unknown, path: string): string | undefined {
  let found = object;
  for (const name of path.split(".")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  if (found === undefined || found === null) return undefined;
  return typeof found === "string" ? found : JSON.stringify(found);
}
