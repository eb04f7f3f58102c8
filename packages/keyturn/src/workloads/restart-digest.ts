// What stands for that which a restart is to bring: the parts of a digest, one for each reason of each inspector. Pure.
import { hash } from "node:crypto";

/** Several reasons for a restart are one digest. */
const digestSeparator = "+";

/** Stands before what something has now; what stands before it is the same for all contents. */
const contentSeparator = "@";

/** The digest of all of these. */
export function joinedDigest(digests: readonly string[]): string {
  return digests.join(digestSeparator);
}

/** The inverse: the parts, in their order. */
export function splitDigest(digest: string): readonly string[] {
  return digest.split(digestSeparator);
}

/**
 * True if a restart for the one was also for all of the other. What it was for in full counts, and not only what it was about: other content of the same
 * thing is another reason.
 */
export function covers(restartedFor: string | undefined, digest: string): boolean {
  if (restartedFor === digest) return true;
  const known = new Set(splitDigest(restartedFor ?? "").map(shortened));
  return splitDigest(digest).every((each) => known.has(shortened(each)));
}

/** The same part with a few letters for what it is about, for where there are very many. */
export function shortened(part: string): string {
  const end = part.lastIndexOf(contentSeparator);
  const start = part.indexOf(":") + 1;
  if (end < 0 || part.startsWith(shortMark, start)) return part;
  return `${part.slice(0, start)}${shortMark}${hash("sha256", part.slice(0, end)).slice(0, 12)}${part.slice(end)}`;
}

const shortMark = "#";

/**
 * What a digest is about, wherever else in the namespace it is waited for. Two contents of the same thing, or two parts of it, are one: whoever does not know
 * yet what it does takes no second workload.
 */
export function changesOf({ namespace }: { readonly namespace: string }, digest: string): readonly string[] {
  const parts = splitDigest(digest).filter((part) => part !== "");
  return parts.map((part) => `${namespace} ${aboutOf(shortened(part))}`);
}

/** Digests of sidecars have no such end, and nothing waits for what they are about. */
function aboutOf(part: string): string {
  const end = part.lastIndexOf(contentSeparator);
  return end < 0 ? part : part.slice(0, end);
}
