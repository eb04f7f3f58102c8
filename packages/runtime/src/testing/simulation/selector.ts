// Label and field selectors in the API's own syntax.
import { parseLabelSelector } from "../../cache/label-selector.ts";
import { objectOr, stringOr } from "./json.ts";
import type { JsonObject } from "./json.ts";

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
