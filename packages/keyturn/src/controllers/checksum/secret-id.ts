// What a checksum sees of a Secret: `number-version-fingerprint`, and a digest of everything that a gateway serves from it.
import { createHash } from "node:crypto";
import { leafFingerprintOf } from "./leaf-certificate.ts";
import { leftOut, type Member } from "./member.ts";
import { type IdMetadata, type IdRules, objectIdOf } from "./object-id.ts";

/** The part of a Secret that is read. Values are base64, as the API server sends them. */
export interface SecretContent {
  readonly metadata: IdMetadata;
  readonly data?: Readonly<Record<string, string>> | undefined;
}

/** What a gateway takes from a Secret. Other entries may be short enough to be guessed, so that nothing of them is published, not even in a digest. */
export const servedEntries = ["tls.crt", "tls.key", "ca.crt", "ca.crl"] as const;

/**
 * The Secret as a member of a checksum, by Tengine's rules. The cheap ones come first: a Secret without a version costs no hash.
 * A Secret that has a CA and no key pair has no fingerprint and counts as `number-version-`.
 */
export function secretMember({ metadata, data = {} }: SecretContent, rules: IdRules): Member {
  const objectId = objectIdOf(metadata, rules);
  if (!objectId.ok) return leftOut(objectId.reason);
  const isAuthority = data["ca.crt"] && (data["tls.crt"] === undefined || data["tls.key"] === undefined);
  const leaf = isAuthority ? ({ ok: true, sha1: "" } as const) : leafFingerprintOf(data["tls.crt"], data["tls.key"]);
  if (!leaf.ok) return leftOut(leaf.reason);
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
