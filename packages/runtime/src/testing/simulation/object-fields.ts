// The fields of an object, as server-side apply sees them: what it sets, what changed between two states, and how to merge or remove fields.
import { isList, isObject, type Json, type JsonObject, sameJson, withKey } from "../../json.ts";

// Sets of fields of an object, in the tree form that `metadata.managedFields` has (FieldsV1).

/**
 * A set of paths. A step is `f:name` (a member), `k:{…}` (an item of a list by its key fields) or `v:…` (an item of a set).
 * `owned` says that the path which leads here is itself in the set.
 */
export interface FieldSet {
  readonly owned: boolean;
  readonly children: ReadonlyMap<string, FieldSet>;
}

export const emptySet: FieldSet = { owned: false, children: new Map() };
const leaf: FieldSet = { owned: true, children: new Map() };

export function isEmptySet(set: FieldSet): boolean {
  return !set.owned && set.children.size === 0;
}

/** A set of the given children, less those that are empty. */
function fieldSet(owned: boolean, children: Iterable<readonly [string, FieldSet]>): FieldSet {
  const kept = new Map<string, FieldSet>();
  for (const [step, child] of children) if (!isEmptySet(child)) kept.set(step, child);
  return { owned, children: kept };
}

// Of sets without a path in common, or with all of them, what is asked for is there already: most writes change one field of many.

export function union(left: FieldSet, right: FieldSet): FieldSet {
  if (left === right || isEmptySet(right)) return left;
  if (isEmptySet(left)) return right;
  const steps = new Set([...left.children.keys(), ...right.children.keys()]);
  return fieldSet(
    left.owned || right.owned,
    Array.from(steps, (step) => [step, union(childOf(left, step), childOf(right, step))]),
  );
}

export function intersection(left: FieldSet, right: FieldSet): FieldSet {
  if (left === right) return left;
  if (isEmptySet(left) || isEmptySet(right)) return emptySet;
  return fieldSet(
    left.owned && right.owned,
    Array.from(left.children, ([step, child]) => [step, intersection(child, childOf(right, step))]),
  );
}

/** The paths of `left` that are not in `right`. */
export function difference(left: FieldSet, right: FieldSet): FieldSet {
  if (isEmptySet(right)) return left;
  if (left === right || isEmptySet(left)) return emptySet;
  return fieldSet(
    left.owned && !right.owned,
    Array.from(left.children, ([step, child]) => [step, difference(child, childOf(right, step))]),
  );
}

function childOf(set: FieldSet, step: string): FieldSet {
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

/** What sets were read from and written as: an object's owners are read at every write of it, and few of them change. */
const setsByForm = new WeakMap<JsonObject, FieldSet>();
const formsBySet = new WeakMap<FieldSet, JsonObject>();

/** The FieldsV1 form: `{}` for a path in the set, `"."` for one that has further paths below it. Steps are sorted. */
export function toFieldsV1(set: FieldSet): JsonObject {
  const known = formsBySet.get(set);
  if (known) return known;
  const form = formOf(set);
  formsBySet.set(set, form);
  // A form does not say whether the whole is in the set.
  if (!set.owned) setsByForm.set(form, set);
  return form;
}

function formOf(set: FieldSet): JsonObject {
  const form: Record<string, JsonObject> = set.owned && set.children.size > 0 ? { ".": {} } : {};
  for (const step of [...set.children.keys()].sort()) form[step] = formOf(childOf(set, step));
  return form;
}

/** The inverse of `toFieldsV1`. */
export function fromFieldsV1(fields: JsonObject): FieldSet {
  const known = setsByForm.get(fields);
  if (known) return known;
  const set = setOf(fields, true);
  setsByForm.set(fields, set);
  return set;
}

function setOf(fields: JsonObject, isRoot: boolean): FieldSet {
  const steps = Object.entries(fields);
  const owned = !isRoot && (steps.length === 0 || "." in fields);
  return fieldSet(
    owned,
    steps.flatMap(([step, child]) => (step !== "." && isObject(child) ? [[step, setOf(child, false)] as const] : [])),
  );
}

/** How a list or map merges: by the named key fields of its items, as a set of its items, or only as a whole. Lists without a rule merge only as a whole. */
type MergeRule = readonly string[] | "set" | "atomic";

/** Merge rules by dotted path; list items add no step (`spec.containers.ports`). */
export type MergeRules = Readonly<Record<string, MergeRule>>;

/** Where in an object a value stands. */
interface Place {
  readonly rules: MergeRules;
  readonly path: string;
}

/** The set of fields that an applied configuration has an opinion on. */
export function fieldsOf(value: Json, place: Place): FieldSet {
  const members = membersOf(value, place);
  if (!members) return leaf;
  // An empty map is something to own, an empty list of keyed items is not.
  if (members.size === 0) return isList(value) ? emptySet : leaf;
  return fieldSet(
    false,
    [...members].map(([step, member]) => {
      const inner = fieldsOf(member, placeOf(place, step));
      return [step, step.startsWith("f:") ? inner : { ...inner, owned: true }];
    }),
  );
}

/** What changed from `before` to `after`: paths that are new or differ, and paths that are gone. */
interface FieldChanges {
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

export function changesBetween(before: Json | undefined, after: Json | undefined, place: Place): FieldChanges {
  if (sameJson(before, after)) return { changed: emptySet, removed: emptySet };
  if (before === undefined) return { changed: allPathsOf(after, place), removed: emptySet };
  if (after === undefined) return { changed: emptySet, removed: allPathsOf(before, place) };
  const was = membersOf(before, place);
  const is = membersOf(after, place);
  if (!was || !is) return { changed: leaf, removed: emptySet };
  const steps = [...new Set([...was.keys(), ...is.keys()])];
  const inner = steps.map((step) => [step, changesBetween(was.get(step), is.get(step), placeOf(place, step))] as const);
  return {
    changed: fieldSet(
      false,
      inner.map(([step, { changed }]) => [step, changed]),
    ),
    removed: fieldSet(
      false,
      inner.map(([step, { removed }]) => [step, removed]),
    ),
  };
}

function allPathsOf(value: Json | undefined, place: Place): FieldSet {
  const members = membersOf(value, place);
  return members
    ? fieldSet(
        true,
        [...members].map(([step, member]) => [step, allPathsOf(member, placeOf(place, step))]),
      )
    : leaf;
}

/** `live` with everything that `config` says; what it does not mention stays. */
export function mergeFields(live: Json | undefined, config: Json, place: Place): Json {
  const wanted = membersOf(config, place);
  const current = membersOf(live, place);
  if (!wanted || !current) return config;
  if (isObject(live)) {
    return Object.entries(objectOf(config)).reduce<JsonObject>(
      (merged, [key, value]) => withKey(merged, key, mergeFields(live[key], value, placeOf(place, `f:${key}`))),
      live,
    );
  }
  return mergeItems(current, wanted, place);
}

/** The items of the configuration keep their order; the other live items stay after the neighbour they had. */
function mergeItems(current: ReadonlyMap<string, Json>, wanted: ReadonlyMap<string, Json>, place: Place): readonly Json[] {
  const merged: Json[] = [];
  const rest = [...current].map(([step]) => step);
  const takeOthers = (): void => {
    for (let next = rest[0]; next !== undefined && !wanted.has(next); next = rest[0]) {
      const item = current.get(next);
      if (item !== undefined) merged.push(item);
      rest.shift();
    }
  };
  takeOthers();
  for (const [step, item] of wanted) {
    merged.push(mergeFields(current.get(step), item, placeOf(place, step)));
    const index = rest.indexOf(step);
    if (index >= 0) rest.splice(index, 1);
    takeOthers();
  }
  return merged;
}

/** `value` without the fields of `set`; undefined if the value itself is in it. Fields in or above `keep` stay. */
export function removeFields(value: Json, { set, keep }: { readonly set: FieldSet; readonly keep: FieldSet }, place: Place): Json | undefined {
  if (isEmptySet(set)) return value;
  if (set.owned && isEmptySet(keep)) return undefined;
  const members = membersOf(value, place);
  if (!members) return value;
  const left = [...members].flatMap(([step, member]) => {
    const inner = removeFields(member, { set: childOf(set, step), keep: childOf(keep, step) }, placeOf(place, step));
    return inner === undefined ? [] : [[step, inner] as const];
  });
  // A map or list that became empty goes, but one that was empty stays.
  if (left.length === 0 && members.size > 0) return undefined;
  return isObject(value) ? Object.fromEntries(left.map(([step, member]) => [step.slice(2), member])) : left.map(([, item]) => item);
}

/** The members of a value that merges by member, by step; undefined for one that is a whole. */
function membersOf(value: Json | undefined, { rules, path }: Place): ReadonlyMap<string, Json> | undefined {
  const rule = rules[path];
  const members = new Map<string, Json>();
  if (isObject(value)) {
    if (rule === "atomic") return undefined;
    for (const [key, member] of Object.entries(value)) members.set(`f:${key}`, member);
    return members;
  }
  if (!isList(value) || rule === undefined || rule === "atomic") return undefined;
  for (const item of value) members.set(rule === "set" ? `v:${JSON.stringify(item)}` : `k:${keyText(objectOf(item), rule)}`, item);
  return members;
}

function keyText(item: JsonObject, keys: readonly string[]): string {
  return JSON.stringify(Object.fromEntries(keys.toSorted().map((key) => [key, item[key] ?? null])));
}

function objectOf(value: Json): JsonObject {
  return isObject(value) ? value : {};
}

function placeOf({ rules, path }: Place, step: string): Place {
  if (!step.startsWith("f:")) return { rules, path };
  return { rules, path: path === "" ? step.slice(2) : `${path}.${step.slice(2)}` };
}
