// JSON Patch (RFC 6902), applied here: what a webhook answers with, and what the simulated API server is sent.
import { isDeepStrictEqual } from "node:util";
import type { JsonPatchOperation } from "./client/client.ts";
import { isRecord } from "./json.ts";
import { runtimeLimits } from "./limits.ts";

/** One operation, as it stands in a patch of anybody's. */
export type JsonPatchStep = JsonPatchOperation | { readonly op: "move" | "copy"; readonly path: string; readonly from: string };

/** An operation that cannot be carried out, so that the whole patch is void. */
export class JsonPatchError extends Error {
  override readonly name = "JsonPatchError";
  readonly code = "JsonPatch";
}

/** How a patch is read. */
interface JsonPatchRules {
  /** As the API server's own library has it: where an object has no such member, `test` finds null and `replace` adds it. Default false, as the RFC has it. */
  readonly absentIsNull?: boolean;
}

/**
 * The document after all operations; the one given stays as it is. Throws a `JsonPatchError` if one cannot be carried out, if there are more than
 * `runtimeLimits.patchOperations`, or if they copy more than `runtimeLimits.patchCopiedBytes`: a copy of the whole into itself doubles it.
 * Members are only ever read and set as an object's own, so that no name, `__proto__` neither, reaches what objects inherit.
 */
export function applyJsonPatch(document: unknown, operations: readonly JsonPatchStep[], rules: JsonPatchRules = {}): unknown {
  const { patchOperations, patchCopiedBytes } = runtimeLimits;
  if (operations.length > patchOperations) throw new JsonPatchError(`the patch has ${operations.length} operations; ${patchOperations} are the most`);
  let copiedBytes = 0;
  return operations.reduce<unknown>((before, operation, index) => {
    try {
      if (operation.op === "copy") copiedBytes += (JSON.stringify(valueAt(before, parsePointer(operation.from))) ?? "").length;
      if (copiedBytes > patchCopiedBytes) throw new JsonPatchError(`the patch copies more than ${patchCopiedBytes} bytes`);
      return carryOut(before, operation, rules);
    } catch (error) {
      if (!(error instanceof JsonPatchError)) throw error;
      throw new JsonPatchError(`operation ${index} of the patch, ${operation.op} ${operation.path || '""'}: ${error.message}`, { cause: error });
    }
  }, document);
}

function carryOut(document: unknown, operation: JsonPatchStep, rules: JsonPatchRules): unknown {
  const path = parsePointer(operation.path);
  switch (operation.op) {
    case "add":
      return edit(document, path, { type: "add", value: operation.value });
    case "replace":
      return edit(document, path, { type: rules.absentIsNull ? "set" : "replace", value: operation.value });
    case "remove":
      return edit(document, path, { type: "remove" });
    case "copy":
      return edit(document, path, { type: "add", value: valueAt(document, parsePointer(operation.from)) });
    case "move": {
      if (operation.path === operation.from) return document;
      if (operation.path.startsWith(`${operation.from}/`)) throw new JsonPatchError(`it would move ${operation.from} into itself`);
      const from = parsePointer(operation.from);
      return edit(edit(document, from, { type: "remove" }), path, { type: "add", value: valueAt(document, from) });
    }
    case "test":
    default:
      if (isDeepStrictEqual(rules.absentIsNull ? valueOrNull(document, path) : valueAt(document, path), operation.value)) return document;
      throw new JsonPatchError("the value there is another one");
  }
}

/** `set` is a `replace` that adds what an object lacks. */
type Edit = { readonly type: "add" | "replace" | "set"; readonly value: unknown } | { readonly type: "remove" };

/** Rebuilds what is on the way to the place of the edit; the rest is shared with the document given. */
function edit(target: unknown, [key, ...rest]: readonly string[], change: Edit): unknown {
  if (key === undefined) {
    if (change.type === "remove") throw new JsonPatchError("the document itself cannot be removed");
    return change.value;
  }
  const inner = rest.length > 0 ? edit(memberOf(target, key), rest, change) : undefined;
  const here: Edit = rest.length > 0 ? { type: "replace", value: inner } : change;
  if (Array.isArray(target)) return editList(target, key, here);
  if (isRecord(target)) return editObject(target, key, here);
  throw new JsonPatchError(`there is nothing to hold "${key}"`);
}

function editList(list: readonly unknown[], key: string, change: Edit): unknown {
  const index = key === "-" && change.type === "add" ? list.length : indexIn(list, key, change.type === "add" ? 1 : 0);
  switch (change.type) {
    case "add":
      return list.toSpliced(index, 0, change.value);
    case "replace":
    case "set":
      return list.with(index, change.value);
    case "remove":
    default:
      return list.toSpliced(index, 1);
  }
}

function editObject(object: object, key: string, change: Edit): unknown {
  if ((change.type === "replace" || change.type === "remove") && !Object.hasOwn(object, key)) throw new JsonPatchError(`there is no "${key}"`);
  if (change.type !== "remove" && Object.hasOwn(object, key)) {
    return fromEntries(Object.entries(object).map(([name, value]) => [name, name === key ? change.value : value]));
  }
  const others = Object.entries(object).filter(([name]) => name !== key);
  return fromEntries(change.type === "remove" ? others : [...others, [key, change.value]]);
}

/** `Object.fromEntries` defines members instead of assigning them: `__proto__` becomes a name like any other. */
function fromEntries(entries: readonly (readonly [string, unknown])[]): object {
  return Object.fromEntries(entries);
}

function valueAt(document: unknown, path: readonly string[]): unknown {
  return path.reduce(memberOf, document);
}

/** Null in place of the last member, if an object has none of that name. */
function valueOrNull(document: unknown, path: readonly string[]): unknown {
  const parent = valueAt(document, path.slice(0, -1));
  const key = path.at(-1);
  const isAbsent = key !== undefined && isRecord(parent) && !Object.hasOwn(parent, key);
  return isAbsent ? null : valueAt(document, path);
}

function memberOf(target: unknown, key: string): unknown {
  if (Array.isArray(target)) return target[indexIn(target, key, 0)];
  if (isRecord(target) && Object.hasOwn(target, key)) return Reflect.get(target, key);
  throw new JsonPatchError(`there is no "${key}"`);
}

/** RFC 6901, section 4: digits without leading zeros. */
function indexIn(list: readonly unknown[], key: string, beyond: 0 | 1): number {
  const index = /^(?:0|[1-9]\d*)$/.test(key) ? Number(key) : NaN;
  if (!(index < list.length + beyond)) throw new JsonPatchError(`"${key}" is no place in a list of ${list.length}`);
  return index;
}

/** RFC 6901: empty for the whole document, else every step begins with a slash. */
function parsePointer(pointer: string): readonly string[] {
  if (pointer === "") return [];
  if (!pointer.startsWith("/")) throw new JsonPatchError(`"${pointer}" is no JSON pointer: it must begin with a slash`);
  if (/~(?![01])/.test(pointer)) throw new JsonPatchError(`"${pointer}" is no JSON pointer: ~ must be followed by 0 or 1`);
  return pointer
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}
