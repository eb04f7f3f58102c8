// Would applying this change anything? Decides, without a request, whether a write can be left out.
import { hash } from "node:crypto";
import type { KubeObject } from "../client/object.ts";
import { isRecord } from "../json.ts";
import { appliedAnnotation, type Operator } from "./operator.ts";

/** The object with a digest of itself in an annotation: what tells a later process that nothing was dropped from the desired state since. */
export function withAppliedDigest<T extends KubeObject>(desired: T, operator: Operator): T {
  const digest = hash("sha256", canonicalJson(desired), "hex").slice(0, 16);
  return {
    ...desired,
    metadata: { ...desired.metadata, annotations: { ...desired.metadata.annotations, [appliedAnnotation(operator)]: digest } },
  };
}

/**
 * True if `live` already says all that `desired` says. The server's own additions (defaults, status, other managers' fields) do not count as differences.
 * Fields that were applied earlier and are no longer desired do not show here; the digest annotation, being part of both, brings those to light.
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

/** JSON with sorted keys, so that equal values give equal text. Members that are undefined are left out, as JSON.stringify does. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(",")}]`;
  if (!isRecord(value)) return JSON.stringify(value ?? null);
  // One text that grows: this is the most frequent work of a pass that finds nothing to do.
  let text = "";
  for (const name of Object.keys(value).sort()) {
    const member = value[name];
    if (member !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${canonicalJson(member)}`;
  }
  return `{${text}}`;
}
