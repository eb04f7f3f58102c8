// What a checksum sees of an Ingress: `number-version`. Its content counts only as far as whoever writes it raises the version.
import { leftOut, type Member } from "./member.ts";
import { type IdMetadata, type IdRules, objectIdOf } from "./object-id.ts";

/** The Ingress as a member of a checksum. */
export function ingressMember({ metadata }: { readonly metadata: IdMetadata }, rules: IdRules): Member {
  const objectId = objectIdOf(metadata, rules);
  return objectId.ok ? { state: "counted", id: objectId.id, digest: undefined } : leftOut(objectId.reason);
}
