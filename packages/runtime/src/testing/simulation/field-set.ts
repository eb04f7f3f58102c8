// Sets of fields of an object, in the tree form that `metadata.managedFields` has (FieldsV1).
import { isObject } from "./json.ts";
import type { JsonObject } from "./json.ts";

/**
 * A set of paths. A step is `f:name` (a member), `k:{…}` (an item of a list by its key fields) or `v:…` (an item of a set).
 * `owned` says that the path which leads here is itself in the set.
 */
export interface FieldSet {
  readonly owned: boolean;
  readonly children: ReadonlyMap<string, FieldSet>;
}

export const emptySet: FieldSet = { owned: false, children: new Map() };
export const leaf: FieldSet = { owned: true, children: new Map() };

export function isEmptySet(set: FieldSet): boolean {
  return !set.owned && set.children.size === 0;
}

/** A set of the given children, less those that are empty. */
export function fieldSet(owned: boolean, children: Iterable<readonly [string, FieldSet]>): FieldSet {
  return { owned, children: new Map([...children].filter(([, child]) => !isEmptySet(child))) };
}

export function union(left: FieldSet, right: FieldSet): FieldSet {
  const steps = new Set([...left.children.keys(), ...right.children.keys()]);
  return fieldSet(
    left.owned || right.owned,
    [...steps].map((step) => [step, union(childOf(left, step), childOf(right, step))]),
  );
}

export function intersection(left: FieldSet, right: FieldSet): FieldSet {
  return fieldSet(
    left.owned && right.owned,
    [...left.children].map(([step, child]) => [step, intersection(child, childOf(right, step))]),
  );
}

/** The paths of `left` that are not in `right`. */
export function difference(left: FieldSet, right: FieldSet): FieldSet {
  return fieldSet(
    left.owned && !right.owned,
    [...left.children].map(([step, child]) => [step, difference(child, childOf(right, step))]),
  );
}

export function childOf(set: FieldSet, step: string): FieldSet {
  return set.children.get(step) ?? emptySet;
}

/** Every path of the set as the API server writes it in conflict messages: `.data.key`, `.list[name="x"].field`. */
export function pathsOf(set: FieldSet, prefix = ""): readonly string[] {
  return [...(set.owned ? [prefix] : []), ...[...set.children].flatMap(([step, child]) => pathsOf(child, prefix + stepText(step)))];
}

function stepText(step: string): string {
  const text = step.slice(2);
  if (step.startsWith("f:")) return `.${text}`;
  if (step.startsWith("v:")) return `[=${text}]`;
  const keys: unknown = JSON.parse(text);
  const pairs = Object.entries(typeof keys === "object" && keys !== null ? keys : {});
  return `[${pairs.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(",")}]`;
}

/** The FieldsV1 form: `{}` for a path in the set, `"."` for one that has further paths below it. Steps are sorted. */
export function toFieldsV1(set: FieldSet): JsonObject {
  const self: [string, JsonObject][] = set.owned && set.children.size > 0 ? [[".", {}]] : [];
  const below = [...set.children].map(([step, child]): [string, JsonObject] => [step, toFieldsV1(child)]);
  return Object.fromEntries([...self, ...below.sort(([left], [right]) => (left < right ? -1 : 1))]);
}

/** The inverse of `toFieldsV1`. */
export function fromFieldsV1(fields: JsonObject, isRoot = true): FieldSet {
  const steps = Object.entries(fields);
  const owned = !isRoot && (steps.length === 0 || "." in fields);
  return fieldSet(
    owned,
    steps.flatMap(([step, child]) => (step !== "." && isObject(child) ? [[step, fromFieldsV1(child, false)] as const] : [])),
  );
}
