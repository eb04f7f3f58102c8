// The checksum of a set of ids, as both sides compute it.
import { hash } from "node:crypto";

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
