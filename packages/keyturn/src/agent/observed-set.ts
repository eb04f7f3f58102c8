// The Secrets of a namespace at one moment, as checksums see them, and how they differ from one.
import { checksumOfSorted, contentDigestOfSorted, contentLine } from "../controllers/checksum/checksum.ts";
import type { SetState } from "../controllers/checksum/member-set.ts";
import type { ObservedSecret } from "./observed-secret.ts";
import { type SecretDifference, setDifference } from "./set-difference.ts";

/** The Secrets of a namespace. */
export interface ObservedSet {
  readonly state: SetState;
  /** By name; with those that do not count. */
  readonly secrets: ReadonlyMap<string, ObservedSecret>;
}

/** The set that these Secrets make, by name. */
export function observedSetOf(secrets: ReadonlyMap<string, ObservedSecret>): ObservedSet {
  const ids: string[] = [];
  const lines: string[] = [];
  for (const [name, { member }] of secrets) {
    if (member.state === "leftOut") continue;
    ids.push(member.id);
    if (member.digest !== undefined) lines.push(contentLine(name, member.digest));
  }
  ids.sort();
  const sha256 = lines.length > 0 ? contentDigestOfSorted(lines.sort()) : undefined;
  return { secrets, state: { ids, checksum: checksumOfSorted(ids), sha256 } };
}

/** Secrets that are there and do not count, with the reason. */
export function leftOutOf({ secrets }: ObservedSet): ReadonlyMap<string, string> {
  return new Map(Array.from(secrets).flatMap(([name, { member }]) => (member.state === "leftOut" ? [[name, member.reason] as const] : [])));
}

/** How the set differs from published ids. `known`: Secrets that were seen before, for the names of those that are gone. */
export function differencesTo(
  published: readonly string[],
  set: ObservedSet,
  known: Readonly<Record<string, { readonly id: string }>> = {},
): readonly SecretDifference[] {
  const live = new Map(Array.from(set.secrets).flatMap(([name, { member }]) => (member.state === "counted" ? [[name, member.id] as const] : [])));
  const knownNames = new Map(Object.entries(known).map(([name, { id }]) => [id, name]));
  return setDifference({ live, leftOut: leftOutOf(set), published, knownNames });
}
