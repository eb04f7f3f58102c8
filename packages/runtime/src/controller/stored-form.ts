// Does a stored object already say what is wanted? Asked in the form in which the API server stores it: quantities, times, empty and absent fields, lists by their keys.
import type { Kind, KubeObject } from "../client/kind.ts";
import { isRecord } from "../json.ts";
import {
  digitsOfTime,
  isDefault,
  isFilledIn,
  isPointer,
  isQuantity,
  isQuantityMap,
  isSet,
  isTextMap,
  itemKey,
  type Place,
  sharingIn,
  typedGroups,
} from "./stored-fields.ts";

/**
 * True if `live` says all that `desired` says, so that applying it would change nothing. What the server and others have added does not count where several
 * may own parts of a value, and counts where one owns it whole, such as a selector or a list without keys: there it is taken back. Nor do `apiVersion` and
 * `kind` count, which items of a list lack. Fields that were applied earlier and are no longer desired do not show here. In custom kinds, whose schema is
 * not known here, additions never count.
 */
export function saysAll(kind: Pick<Kind, "group" | "plural">, live: KubeObject, desired: KubeObject): boolean {
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...contents } = desired;
  const { plural } = kind;
  if (!says(live.metadata, metadata, { plural, name: "metadata", parent: "", sharing: "shared" })) return false;
  if (!typedGroups.has(kind.group)) return covers(live, contents);
  const isPod = kind.group === "" && plural === "pods";
  return says(live, isPod ? withoutTolerations(contents) : contents, { plural, name: "", parent: "", sharing: isPod ? "fixed" : "shared" });
}

/** A pod keeps the tolerations that it was made with, and admission has added some. */
function withoutTolerations(pod: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return isRecord(pod["spec"]) ? { ...pod, spec: { ...pod["spec"], tolerations: undefined } } : pod;
}

/** The object as the server would store it: the texts of a Secret are data, and belong to whoever applied them only as such. */
export function asSent<T extends KubeObject>(kind: Pick<Kind, "group" | "plural">, object: T): T {
  const texts: unknown = "stringData" in object ? object.stringData : undefined;
  if (kind.group !== "" || kind.plural !== "secrets" || !isRecord(texts)) return object;
  const data = Object.entries(texts).map(([name, value]) => [name, Buffer.from(String(value)).toString("base64")] as const);
  const before: unknown = "data" in object ? object.data : undefined;
  return { ...object, data: { ...(isRecord(before) ? before : {}), ...Object.fromEntries(data) }, stringData: undefined };
}

/** The server writes some empty lists as null. */
function says(stored: unknown, desired: unknown, place: Place): boolean {
  if (desired === undefined || desired === null) return place.sharing !== "whole" || isFilledIn(stored, place);
  const live = stored ?? undefined;
  // The schema in a CRD is data, whatever its fields are called.
  if (place.name === "openAPIV3Schema") return saysSchema(live, desired);
  if (Array.isArray(desired)) return Array.isArray(live) ? saysItems(live, desired, place) : live === undefined && desired.length === 0;
  if (isRecord(desired)) return saysMembers(live, desired, place);
  if (live === desired) return true;
  // A zero that the types cannot keep apart from nothing.
  if (live === undefined) return (desired === false || desired === 0 || desired === "") && !isPointer(place);
  if (isQuantity(place)) return sameQuantity(live, desired);
  const digits = digitsOfTime(place);
  return digits !== undefined && sameTime(live, desired, digits);
}

function saysMembers(live: unknown, desired: Readonly<Record<string, unknown>>, place: Place): boolean {
  const sharing = sharingIn(place, false);
  const isWhole = sharing === "whole";
  if (isTextMap(place) && Object.values(desired).every((value) => typeof value === "string"))
    return isWhole ? isSame(live ?? {}, desired) : covers(live ?? {}, desired);
  const ofQuantities = isQuantityMap(place);
  if (!isRecord(live)) return live === undefined && ofQuantities && Object.keys(desired).length === 0;
  const inside = { plural: place.plural, parent: place.name || place.parent, sharing };
  for (const name in desired) {
    const [a, b] = [live[name], desired[name]];
    if (ofQuantities && !isRecord(b) ? !sameQuantity(a, b) : !says(a, b, { ...inside, name })) return false;
  }
  if (!isWhole) return true;
  for (const name in live)
    if (!(name in desired) && !(ofQuantities && isFilledIn(live, place)) && !isFilledIn(live[name], { ...inside, name })) return false;
  return true;
}

function saysItems(live: readonly unknown[], desired: readonly unknown[], place: Place): boolean {
  if (desired.length === 0 && isDefault(live, place)) return true;
  if (isSet(place)) return desired.every((item) => live.includes(item));
  const keyOf = itemKey(place);
  const item: Place = { plural: place.plural, name: "", parent: place.name, sharing: sharingIn(place, true) };
  if (!keyOf) return live.length === desired.length && desired.every((wanted, index) => says(live[index], wanted, item));
  // In the order that is wanted, whatever stands in between.
  let from = 0;
  return desired.every((wanted) => {
    const at = isRecord(wanted) ? live.findIndex((other, index) => index >= from && isRecord(other) && keyOf(other) === keyOf(wanted)) : -1;
    from = at + 1;
    return at >= 0 && says(live[at], wanted, item);
  });
}

/** It belongs to a list with one owner, so what others add to it counts. */
function saysSchema(live: unknown, desired: unknown): boolean {
  return isSame(schemaAsStored(live), schemaAsStored(desired));
}

const schemasByName: ReadonlySet<string> = new Set(["properties", "patternProperties", "definitions", "dependencies"]);
const schemaData: ReadonlySet<string> = new Set(["default", "example", "enum"]);

/** A schema without what is empty or false. All its numbers are pointers. */
function schemaAsStored(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(schemaAsStored);
  if (!isRecord(schema)) return schema;
  const kept = Object.entries(schema).flatMap(([name, value]) => {
    if (schemaData.has(name)) return [[name, value]];
    const inner = schemasByName.has(name) && isRecord(value) ? Object.entries(value).map(([key, one]) => [key, schemaAsStored(one)]) : undefined;
    if (inner) return inner.length > 0 ? [[name, Object.fromEntries(inner)]] : [];
    const isNothing = value === undefined || value === null || value === false || value === "" || (Array.isArray(value) && value.length === 0);
    return isNothing ? [] : [[name, schemaAsStored(value)]];
  });
  return Object.fromEntries(kept);
}

/**
 * True if `live` already says all that `desired` says, value by value. The server's own additions (defaults, status, other managers' fields) do not count
 * as differences.
 */
export function covers(live: unknown, desired: unknown): boolean {
  if (desired === undefined) return true;
  if (Array.isArray(desired)) {
    return Array.isArray(live) && live.length === desired.length && desired.every((item, index) => covers(live[index], item));
  }
  if (isRecord(desired)) {
    if (!isRecord(live)) return false;
    for (const name in desired) if (!covers(live[name], desired[name])) return false;
    return true;
  }
  return live === desired;
}

/** True if both say the same. The order of keys does not matter, nor do members that are undefined. */
export function isSame(a: unknown, b: unknown): boolean {
  return covers(a, b) && covers(b, a);
}

// Quantities and times, which the server writes in one form of many.

/** k8s.io/apimachinery/pkg/api/resource: a decimal with an SI or binary suffix or an exponent. Longer ones are compared as texts. */
const quantity = /^([+-]?)(\d{0,40})(?:\.(\d{0,40}))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,2}))?$/;
const decimals: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const binaries = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

function sameQuantity(live: unknown, desired: unknown): boolean {
  const [a, b] = [amountOf(live), amountOf(desired)];
  return a !== undefined && b !== undefined ? a === b : live === desired;
}

/** In units of 10^-139, which no quantity is too small for; undefined for what is none. */
function amountOf(value: unknown): bigint | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const match = quantity.exec(String(value));
  if (!match) return undefined;
  const [, sign, whole = "", fraction = "", suffix = "", exponent = "0"] = match;
  if (whole === "" && fraction === "") return undefined;
  const binary = BigInt(1024 ** Math.max(0, binaries.indexOf(suffix)));
  const power = (decimals[suffix] ?? 0) + Number(exponent) - fraction.length + 139;
  const amount = BigInt(`${whole}${fraction}`) * binary * 10n ** BigInt(power);
  return sign === "-" ? -amount : amount;
}

const instant = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/** True if both are the same time, to so many digits of a second. */
function sameTime(live: unknown, desired: unknown, digits: number): boolean {
  const [a, b] = [live, desired].map((value) => {
    const match = typeof value === "string" ? instant.exec(value) : null;
    return match && `${Date.parse(`${match[1]}${match[3]}`)}.${(match[2] ?? "").padEnd(digits, "0").slice(0, digits)}`;
  });
  return typeof a === "string" && a === b;
}
