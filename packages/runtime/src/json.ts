// JSON values: what they are, whether they are equal, and merge patches of them.

/** True for a JSON object: neither null nor a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// Messages in the shape that JSON gives them: protobuf writes what is empty, JSON leaves it out.

/** A message while it is being read. */
export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Sets the field, unless the text is empty. */
export function setText<Field extends string>(target: { [Key in Field]?: string }, field: Field, text: string): void {
  if (text !== "") target[field] = text;
}

/** Sets the field, unless the number is zero. */
export function setNumber<Field extends string>(target: { [Key in Field]?: number }, field: Field, value: number): void {
  if (value !== 0) target[field] = value;
}

// JSON values as the simulated API server holds them: immutable, so that the past of an object can be kept by reference.

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: Json;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** The object itself, or an empty one if the value is none. */
export function objectOr(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** The list itself, or an empty one if the value is none. */
export function listOr(value: Json | undefined): readonly Json[] {
  return isList(value) ? value : [];
}

/** The string itself, or the fallback if the value is none. */
export function stringOr(value: Json | undefined, fallback: string): string {
  return typeof value === "string" ? value : fallback;
}

/** Parses JSON text that must be an object; undefined if it is not. */
export function parseObject(text: string): JsonObject | undefined {
  const value = parseJson(text);
  return isObject(value) ? value : undefined;
}

/** Parses JSON text; undefined if it is not JSON. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Same value; the order of an object's keys does not matter. */
export function sameJson(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true;
  if (isList(left)) return isList(right) && left.length === right.length && left.every((item, index) => sameJson(item, right[index]));
  if (!isObject(left) || !isObject(right)) return false;
  const keys = Object.keys(left);
  return keys.length === Object.keys(right).length && keys.every((key) => Object.hasOwn(right, key) && sameJson(left[key], right[key]));
}

/** The object with `key` set, or removed when `value` is undefined. */
export function withKey(object: JsonObject, key: string, value: Json | undefined): JsonObject {
  if (value !== undefined) return object[key] === value ? object : { ...object, [key]: value };
  if (!Object.hasOwn(object, key)) return object;
  const { [key]: _removed, ...rest } = object;
  return rest;
}

/** The object without its null members, at any depth: to the API server null and absent are the same. */
export function withoutNulls(object: JsonObject): JsonObject {
  const clean = (value: Json): Json => (isObject(value) ? withoutNulls(value) : isList(value) ? value.map(clean) : value);
  return Object.fromEntries(Object.entries(object).flatMap(([key, value]) => (value === null ? [] : [[key, clean(value)]])));
}

/** The target with the merge patch (RFC 7386) in it: null removes, objects merge, anything else replaces. */
export function applyMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  let result: JsonObject = isObject(target) ? target : {};
  for (const [key, value] of Object.entries(patch)) {
    result = withKey(result, key, value === null ? undefined : applyMergePatch(result[key], value));
  }
  return result;
}
