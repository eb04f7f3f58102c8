// What a checksum sees of one object: its id and the digest of its content, or why it has none.
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

const leftOutMembers = new Map<LeftOutReason, Member>();

/** A member that is left out. One value per reason, for the many objects of a cluster that share it. */
export function leftOut(reason: LeftOutReason): Member {
  const known = leftOutMembers.get(reason) ?? Object.freeze({ state: "leftOut", reason } as const);
  leftOutMembers.set(reason, known);
  return known;
}
