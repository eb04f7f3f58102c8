// What a checksum sees of a Secret or an Ingress, and the checksum of a set: ids and digests as Tengine computes them.
import { createHash, hash } from "node:crypto";
import { isReadableAuthority, leafFingerprintOf } from "../../certificate.ts";
import type { LeftOutReason } from "./reasons.ts";

/** One object of a namespace, seen by a checksum. Holds nothing of the object's content. */
export type Member =
  | {
      readonly state: "counted";
      /** What goes into the checksum, such as `27555-1-44a72405…`. */
      readonly id: string;
      /** SHA-256 of the whole content, in hex; undefined for kinds whose content no checksum covers. */
      readonly digest: string | undefined;
    }
  | { readonly state: "leftOut"; readonly reason: LeftOutReason };

/** How ids are made, the same on both sides of a checksum. */
export interface IdRules {
  /** Annotations that may hold the version; the first of them that an object has counts. */
  readonly versionAnnotations: readonly string[];
}

/** The part of an object's metadata that its id is made from. */
interface IdMetadata {
  readonly name?: string | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** The part of a Secret that is read. Values are base64, as the API server sends them. */
export interface SecretContent {
  readonly metadata: IdMetadata;
  readonly data?: Readonly<Record<string, string>> | undefined;
}

/** Where Tengine's reader finds the version of an object. */
export const defaultVersionAnnotation = "nginx.ingress.kubernetes.io/version";

/**
 * The annotations that hold a version unless flags say otherwise: Tengine's, and the one that the sample Secrets of its documentation have. Where both are,
 * Tengine's counts, because that is what Tengine itself reads.
 */
export const defaultVersionAnnotations: readonly string[] = [defaultVersionAnnotation, "fs.ingress.alibaba/version"];

/** What a gateway takes from a Secret. Other entries may be short enough to be guessed, so that nothing of them is published, not even in a digest. */
export const servedEntries = ["tls.crt", "tls.key", "ca.crt", "ca.crl"] as const;

/**
 * The Secret as a member of a checksum, by Tengine's rules: `number-version-fingerprint`. The cheap ones come first: a Secret without a version costs no hash.
 * A Secret that has a CA and no key pair has no fingerprint and counts as `number-version-`.
 */
export function secretMember({ metadata, data = {} }: SecretContent, rules: IdRules): Member {
  const objectId = objectIdOf(metadata, rules);
  if (!objectId.ok) return leftOut(objectId.reason);
  const authority = data["ca.crt"] ?? "";
  const isAuthority = authority !== "" && (data["tls.crt"] === undefined || data["tls.key"] === undefined);
  const leaf = isAuthority ? ({ ok: true, sha1: "" } as const) : leafFingerprintOf(data["tls.crt"], data["tls.key"]);
  if (!leaf.ok) return leftOut(leaf.reason);
  if (authority !== "" && !isReadableAuthority(authority)) return leftOut("AuthorityInvalid");
  return { state: "counted", id: `${objectId.id}-${leaf.sha1}`, digest: contentDigestOf(data) };
}

/** SHA-256, in hex, of what a gateway takes from a Secret's `data`. */
export function contentDigestOf(data: Readonly<Record<string, string>>): string {
  const sha256 = createHash("sha256");
  for (const entry of servedEntries) {
    const value = data[entry];
    // Base64 has no colon and no newline, so no two contents give the same text.
    if (value !== undefined) sha256.update(`${entry}:${value}\n`);
  }
  return sha256.digest("hex");
}

/** The Ingress as a member of a checksum: `number-version`. Its content counts only as far as whoever writes it raises the version. */
export function ingressMember({ metadata }: { readonly metadata: IdMetadata }, rules: IdRules): Member {
  const objectId = objectIdOf(metadata, rules);
  return objectId.ok ? { state: "counted", id: objectId.id, digest: undefined } : leftOut(objectId.reason);
}

const leftOutMembers = new Map<LeftOutReason, Member>();

/** A member that is left out. One value per reason, for the many objects of a cluster that share it. */
export function leftOut(reason: LeftOutReason): Member {
  const known = leftOutMembers.get(reason) ?? Object.freeze({ state: "leftOut", reason } as const);
  leftOutMembers.set(reason, known);
  return known;
}

/** `number-version`, or why there is none. */
type ObjectId = { readonly ok: true; readonly id: string } | { readonly ok: false; readonly reason: LeftOutReason };

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

/** However many zeros come first, no more digits than 64 bits can have: to read a number takes more than linear time. */
const decimal = /^[+-]?0*[0-9]{1,19}$/;
const [smallest, largest] = [-(2n ** 63n), 2n ** 63n - 1n];

/** The number that a text stands for, as Go's strconv.Atoi reads it, because Tengine's reader does: decimal digits with an optional sign, in 64 bits. Undefined for anything else, spaces included. */
function parseGoInteger(text: string): bigint | undefined {
  if (!decimal.test(text)) return undefined;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return value < smallest || value > largest ? undefined : value;
}

// The checksum of a set of ids, as both sides compute it.

/** MD5, in lower-case hex, of ids that are already in byte order, joined with commas. Without any id it is that of the empty text. */
export function checksumOfSorted(ids: readonly string[]): string {
  return hash("md5", ids.join(","), "hex");
}

/** The same of ids in any order. Ids are ASCII, for which the order of JavaScript's strings is the order of bytes. */
export function checksumOf(ids: Iterable<string>): string {
  return checksumOfSorted([...ids].sort());
}

/**
 * SHA-256, in lower-case hex, of `name digest` lines that are already in byte order: covers names, whole chains, private keys and CAs, which the ids do not.
 */
export function contentDigestOfSorted(lines: readonly string[]): string {
  return hash("sha256", lines.join("\n"), "hex");
}

/** How one object stands in the content digest. */
export function contentLine(name: string, digest: string): string {
  return `${name} ${digest}`;
}

// Ids of two sets compared: what one has and the other has not, and what an id says.

/** The number in an id. */
export function numberOfId(id: string): string {
  return id.slice(0, Math.max(0, id.indexOf("-", 1)));
}

/** The version in an id; 0, which is no version, for what is no id. */
export function versionOfId(id: string): bigint {
  const [, version = "0"] = /^\d+-(-?\d{1,19})(?:-|$)/.exec(id) ?? [];
  return BigInt(version);
}

/** What is in one list and not in the other, in byte order. */
interface Difference {
  /** In the live set, not in the checksum. */
  readonly notPublished: readonly string[];
  /** In the checksum, not in the live set. */
  readonly notLive: readonly string[];
}

/** Compares lists in any order; an id that is in one of them more often counts for the rest. */
export function differenceOf(liveIds: Iterable<string>, publishedIds: Iterable<string>): Difference {
  const [live, published] = [[...liveIds].sort(), [...publishedIds].sort()];
  const [notPublished, notLive]: [string[], string[]] = [[], []];
  let [l, p] = [0, 0];
  for (;;) {
    const [left, right] = [live[l], published[p]];
    if (left === undefined && right === undefined) return { notPublished, notLive };
    if (left === right) {
      l++;
      p++;
    } else if (right === undefined || (left !== undefined && left < right)) {
      if (left !== undefined) notPublished.push(left);
      l++;
    } else {
      notLive.push(right);
      p++;
    }
  }
}
