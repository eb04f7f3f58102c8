// The two plain patch formats of the API server: JSON patch (RFC 6902) and JSON merge patch (RFC 7386).
import { isList, isObject, sameJson, stringOr, withKey } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";

/** The document after all operations, or undefined if one of them fails: a `test` that does not hold, or a path that is not there. */
export function applyJsonPatch(document: Json, operations: readonly Json[]): Json | undefined {
  let result: Json | undefined = document;
  for (const operation of operations) {
    if (result === undefined || !isObject(operation) || typeof operation["path"] !== "string") return undefined;
    result = applyOperation(result, operation, operation["path"]);
  }
  return result;
}

function applyOperation(document: Json, operation: JsonObject, path: string): Json | undefined {
  const pointer = parsePointer(path);
  const value = operation["value"];
  switch (stringOr(operation["op"], "")) {
    case "test":
      return sameJson(valueAt(document, pointer) ?? null, value ?? null) ? document : undefined;
    case "remove":
      return edit(document, pointer, removeMember);
    case "add":
      return value === undefined ? undefined : edit(document, pointer, (parent, key) => addMember(parent, key, value));
    case "replace":
      return value === undefined ? undefined : edit(document, pointer, (parent, key) => replaceMember(parent, key, value));
    default:
      return undefined;
  }
}

type Edit = (parent: Json, key: string) => Json | undefined;

/** Rebuilds the document with `change` made at the pointer's last step. */
function edit(document: Json, pointer: readonly string[], change: Edit): Json | undefined {
  const [key, ...rest] = pointer;
  if (key === undefined) return undefined;
  if (rest.length === 0) return change(document, key);
  const child = valueAt(document, [key]);
  const changed = child === undefined ? undefined : edit(child, rest, change);
  return changed === undefined ? undefined : replaceMember(document, key, changed);
}

function addMember(parent: Json, key: string, value: Json): Json | undefined {
  if (isObject(parent)) return withKey(parent, key, value);
  if (!isList(parent)) return undefined;
  const index = key === "-" ? parent.length : Number(key);
  return Number.isInteger(index) && index >= 0 && index <= parent.length ? parent.toSpliced(index, 0, value) : undefined;
}

/** As in the API server's library, replacing a member that an object lacks adds it. */
function replaceMember(parent: Json, key: string, value: Json): Json | undefined {
  if (isObject(parent)) return withKey(parent, key, value);
  return isList(parent) && valueAt(parent, [key]) !== undefined ? parent.with(Number(key), value) : undefined;
}

function removeMember(parent: Json, key: string): Json | undefined {
  if (valueAt(parent, [key]) === undefined) return undefined;
  return isList(parent) ? parent.toSpliced(Number(key), 1) : isObject(parent) ? withKey(parent, key, undefined) : undefined;
}

function valueAt(document: Json, pointer: readonly string[]): Json | undefined {
  let value: Json | undefined = document;
  for (const key of pointer) {
    if (isList(value)) value = /^\d+$/.test(key) ? value[Number(key)] : undefined;
    else if (isObject(value)) value = Object.hasOwn(value, key) ? value[key] : undefined;
    else return undefined;
  }
  return value;
}

function parsePointer(path: string): readonly string[] {
  return path
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The target with the patch merged into it: null removes, objects merge, anything else replaces. */
export function applyMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  let result: JsonObject = isObject(target) ? target : {};
  for (const [key, value] of Object.entries(patch)) {
    result = withKey(result, key, value === null ? undefined : applyMergePatch(result[key], value));
  }
  return result;
}
