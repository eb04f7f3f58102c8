// Which keys are revoked: people name an entry, a certificate or a key, and what is withdrawn is the public key, under every name that it has or gets.
import { Buffer } from "node:buffer";
import type { KeyEntry } from "./jwk.ts";

/** A name that was found to mean a key. It is remembered, because the name may be all that is left of it: a renewed certificate has another `kid`. */
export interface RevokedKey {
  readonly name: string;
  readonly thumbprint: string;
}

/** What the names in the annotation come to. */
export interface Revocations {
  /** Of the keys that must not be published. */
  readonly thumbprints: ReadonlySet<string>;
  readonly revoked: readonly RevokedKey[];
  /** Names that no key is known by. */
  readonly unknown: readonly string[];
}

/** So many names are read; more are no revocation but an attack on the memory. */
const maxNames = 1000;

/** The names in the annotation that revokes keys, none twice. */
export function revokedNames(annotation = ""): readonly string[] {
  const names = annotation.split(",", maxNames).map((name) => name.trim());
  return [...new Set(names.filter((name) => name !== ""))];
}

/** Finds out which keys the names mean: among those that are known now, and among what was found out before. */
export function resolveRevocations(
  names: readonly string[],
  { known, remembered }: { readonly known: readonly KeyEntry[]; readonly remembered: readonly RevokedKey[] },
): Revocations {
  const found = names.map((name) => {
    const meant = [
      ...known.filter((key) => isNamed(key, name)).map(({ thumbprint }) => thumbprint),
      ...remembered.filter((each) => each.name === name).map(({ thumbprint }) => thumbprint),
    ];
    return { name, thumbprints: [...new Set(meant)] };
  });
  return {
    thumbprints: new Set(found.flatMap(({ thumbprints }) => thumbprints)),
    revoked: found.flatMap(({ name, thumbprints }) => thumbprints.map((thumbprint) => ({ name, thumbprint }))),
    unknown: found.filter(({ thumbprints }) => thumbprints.length === 0).map(({ name }) => name),
  };
}

/** True if a person can mean this key by the name: its `kid`, its thumbprint, or its certificate's, as JWKs (`x5t`, `x5t#S256`) or OpenSSL print it. */
export function isNamed({ jwk, thumbprint }: Pick<KeyEntry, "jwk" | "thumbprint">, name: string): boolean {
  if (name === jwk.kid || name === thumbprint) return true;
  const certificates = [jwk.x5t, jwk["x5t#S256"]].filter((digest) => digest !== undefined);
  const fingerprint = name.replaceAll(":", "").toLowerCase();
  return certificates.some((digest) => digest === name || Buffer.from(digest, "base64url").toString("hex") === fingerprint);
}
