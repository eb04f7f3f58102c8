// JWKS documents that somebody else wrote: what is taken of them, and what of it is worth a warning.
import * as z from "zod";
import { keyMembersOf, keyOfMembers, keyUseOf, thumbprintOf } from "../../public-key.ts";
import { readCertificateChain } from "./certificates.ts";
import { base64url, certifiedEntry, ecCurves, edwardsCurves, type KeyEntry, plainEntry, publishedAlgorithms } from "./jwk.ts";
import { limits } from "../../limits.ts";

/** A document that somebody published, whatever its entries are. */
const foreignDocument = z.looseObject({ keys: z.array(z.unknown()).max(limits.foreignKeys) });

/** The entries of a JWKS as they stand; undefined if the text is no JWKS. */
export function rawEntriesOf(text: string): readonly unknown[] | undefined {
  try {
    return foreignDocument.safeParse(JSON.parse(text)).data?.keys;
  } catch {
    // What is no JSON is no JWKS either.
    return undefined;
  }
}

const text = z.string().max(limits.foreignKeyText);
const foreignMembers = { kid: text.min(1).optional(), alg: text.optional(), use: text.optional(), x5c: z.array(z.string()).optional() };

/** An entry as far as it is needed to go on publishing its key. The key is read anew from these members, or from its certificates. */
const foreignEntry = z.discriminatedUnion("kty", [
  z.looseObject({ kty: z.literal("RSA"), n: base64url, e: base64url, ...foreignMembers }),
  z.looseObject({ kty: z.literal("EC"), crv: z.enum(ecCurves), x: base64url, y: base64url, ...foreignMembers }),
  z.looseObject({ kty: z.literal("OKP"), crv: z.enum(edwardsCurves), x: base64url, ...foreignMembers }),
]);

/** The key of an entry, under its own `kid` and `alg`; undefined for keys that verify no signatures: symmetric ones, those for encryption, and what is no key. */
export function foreignEntryOf(raw: unknown): KeyEntry | undefined {
  const { data } = foreignEntry.safeParse(raw);
  if (!data || (data.use !== undefined && data.use !== "sig")) return undefined;
  const alg = publishedAlgorithms.find((known) => known === data.alg);
  const chain = readCertificateChain(data.x5c ?? []);
  if (chain) return certifiedEntry(chain, { kid: data.kid ?? chain.thumbprint, alg });
  const key = keyOfMembers(data);
  const members = key && keyMembersOf(key);
  return members && plainEntry(members, { kid: data.kid ?? thumbprintOf(members), alg });
}

/** The keys of a document that verify signatures; none if the text is no JWKS. */
export function entriesOf(text: string): readonly KeyEntry[] {
  return (rawEntriesOf(text) ?? []).flatMap((raw) => foreignEntryOf(raw) ?? []);
}

/** What is worth a warning about a key that was taken over; undefined if Keyturn would publish it by itself. */
export function weaknessOf({ jwk }: Pick<KeyEntry, "jwk">): string | undefined {
  const key = keyOfMembers(jwk);
  const use = key && keyUseOf(key);
  if (!use || "unsupported" in use) return use?.unsupported ?? "it cannot be read";
  return jwk.x5c === undefined ? "it has no certificate" : undefined;
}
