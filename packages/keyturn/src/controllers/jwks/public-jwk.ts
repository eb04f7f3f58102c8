// A certificate's public key as a JWK (RFC 7517), built member by member so that nothing private can ever be in it.
import { Buffer } from "node:buffer";
import { createHash, type KeyObject } from "node:crypto";
import type { CertificateChain } from "./certificate-chain.ts";
import type { SignatureAlgorithm } from "./signature-algorithm.ts";

/** The members that are the key itself. */
export type KeyMembers =
  | { readonly kty: "RSA"; readonly n: string; readonly e: string }
  | { readonly kty: "EC"; readonly crv: string; readonly x: string; readonly y: string }
  | { readonly kty: "OKP"; readonly crv: string; readonly x: string };

/** A published key. There is no `key_ops`: it says the same as `use`, and RFC 7517 advises against giving both. */
export type PublicJwk = KeyMembers & {
  readonly use: "sig";
  readonly alg: SignatureAlgorithm;
  readonly kid: string;
  readonly x5c: readonly string[];
  readonly x5t: string;
  readonly "x5t#S256": string;
};

/** How a key gets its `kid`: from the key (RFC 7638), so that it outlives renewals; or from the certificate, as rieset/jwks-operator does it. */
export const keyIdSchemes = ["Thumbprint", "CertificateSHA1"] as const;

export type KeyIdScheme = (typeof keyIdSchemes)[number];

/** The JWK of a chain's leaf. */
export function publicJwkOf(chain: CertificateChain, { kid, alg }: { readonly kid: string; readonly alg: SignatureAlgorithm }): PublicJwk {
  const leaf = Buffer.from(chain.certificates[0], "base64");
  return {
    ...keyMembersOf(chain.publicKey),
    use: "sig",
    alg,
    kid,
    x5c: chain.certificates,
    x5t: createHash("sha1").update(leaf).digest("base64url"),
    "x5t#S256": createHash("sha256").update(leaf).digest("base64url"),
  };
}

/** The `kid` of a chain's leaf. */
export function keyIdOf(chain: CertificateChain, scheme: KeyIdScheme): string {
  if (scheme === "Thumbprint") return thumbprintOf(keyMembersOf(chain.publicKey));
  return createHash("sha1").update(Buffer.from(chain.certificates[0], "base64")).digest("hex").slice(0, 16);
}

/** RFC 7638 with SHA-256: the required members alone, in lexicographic order, without white space. RFC 8037 says which they are for OKP. */
export function thumbprintOf(members: KeyMembers): string {
  return createHash("sha256")
    .update(JSON.stringify(requiredMembers(members)))
    .digest("base64url");
}

function requiredMembers(key: KeyMembers): object {
  if (key.kty === "RSA") return { e: key.e, kty: key.kty, n: key.n };
  if (key.kty === "EC") return { crv: key.crv, kty: key.kty, x: key.x, y: key.y };
  return { crv: key.crv, kty: key.kty, x: key.x };
}

function keyMembersOf(publicKey: KeyObject): KeyMembers {
  const { kty, n, e, crv, x, y } = publicKey.export({ format: "jwk" });
  if (kty === "RSA" && n && e) return { kty, n, e };
  if (kty === "EC" && crv && x && y) return { kty, crv, x, y };
  if (kty === "OKP" && crv && x) return { kty, crv, x };
  throw new Error(`a public key of type ${kty ?? "unknown"} has no JWK form; only RSA, EC and OKP keys should get here`);
}
