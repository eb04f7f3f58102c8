// Label and field selectors in the API's own syntax.
import { objectOr, stringOr } from "./json.ts";
import type { JsonObject } from "./json.ts";

/** Whether an object is selected. */
export type Selector = (object: JsonObject) => boolean;

const labelRequirement = /^\s*(?:(?<absent>!)\s*)?(?<key>[\w./-]+)\s*(?:(?<operator>==|=|!=|\s(?:in|notin)\b)\s*(?<values>\([^)]*\)|[\w.-]*))?\s*$/;

/** Parses a label selector; undefined if it cannot be parsed. */
export function labelSelector(text: string): Selector | undefined {
  const selectors: Selector[] = [];
  for (const part of splitOutsideParentheses(text)) {
    const selector = requirementOf(part);
    if (!selector) return undefined;
    selectors.push(selector);
  }
  return (object) => selectors.every((selects) => selects(object));
}

function requirementOf(part: string): Selector | undefined {
  const groups = labelRequirement.exec(part)?.groups;
  const key = groups?.["key"];
  if (!groups || key === undefined) return undefined;
  const labelOf = (object: JsonObject): string | undefined => {
    const value = objectOr(objectOr(object["metadata"])["labels"])[key];
    return typeof value === "string" ? value : undefined;
  };
  const isAbsent = groups["absent"] !== undefined;
  const operator = groups["operator"]?.trim();
  if (operator === undefined) return (object) => (labelOf(object) === undefined) === isAbsent;
  if (isAbsent) return undefined;
  const values = new Set(
    (groups["values"] ?? "")
      .replace(/^\(|\)$/g, "")
      .split(",")
      .map((value) => value.trim()),
  );
  const isNegative = operator === "!=" || operator === "notin";
  return (object) => {
    const value = labelOf(object);
    return isNegative ? value === undefined || !values.has(value) : value !== undefined && values.has(value);
  };
}

function splitOutsideParentheses(text: string): readonly string[] {
  return text.trim() === "" ? [] : text.split(/,(?![^(]*\))/);
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
