// The two numbers that every id begins with: the one at the end of the object's name, and its version.
import { parseGoInteger } from "./go-integer.ts";
import type { LeftOutReason } from "./reasons.ts";

/** Where Tengine's reader finds the version of an object. */
export const defaultVersionAnnotation = "nginx.ingress.kubernetes.io/version";

/**
 * The annotations that hold a version unless flags say otherwise: Tengine's, and the one that the sample Secrets of its document have. Where both are,
 * Tengine's counts, because that is what Tengine itself reads.
 */
export const defaultVersionAnnotations: readonly string[] = [defaultVersionAnnotation, "fs.ingress.alibaba/version"];

/** How ids are made, the same on both sides of a checksum. */
export interface IdRules {
  /** Annotations that may hold the version; the first of them that an object has counts. */
  readonly versionAnnotations: readonly string[];
}

/** The part of an object's metadata that its id is made from. */
export interface IdMetadata {
  readonly name?: string | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** `number-version`, or why there is none. */
export type ObjectId = { readonly ok: true; readonly id: string } | { readonly ok: false; readonly reason: LeftOutReason };

/** The part of an id that comes from the metadata: for an Ingress the whole id. A version may be negative: `7--1`. */
export function objectIdOf({ name = "", annotations = {} }: IdMetadata, { versionAnnotations }: IdRules): ObjectId {
  const number = numberOf(name);
  if (number === undefined) return { ok: false, reason: "NumberMissing" };
  const annotation = versionAnnotations.map((key) => annotations[key]).find((value) => value !== undefined);
  if (annotation === undefined) return { ok: false, reason: "VersionMissing" };
  const version = parseGoInteger(annotation);
  if (version === undefined || version === 0n) return { ok: false, reason: "VersionInvalid" };
  return { ok: true, id: `${number}-${version}` };
}

/** The number after the last dash. Leading zeros do not count, so that `a-007` and `a-7` have the same. */
function numberOf(name: string): bigint | undefined {
  const dash = name.lastIndexOf("-");
  return dash < 0 ? undefined : parseGoInteger(name.slice(dash + 1));
}
