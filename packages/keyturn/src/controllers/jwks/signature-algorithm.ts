// Which signature algorithms (RFC 7518, RFC 8037) go with which kind of key, and which keys are strong enough to be published.
import type { KeyObject } from "node:crypto";

/** Every value that a published `alg` can have. */
export const signatureAlgorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"] as const;

export type SignatureAlgorithm = (typeof signatureAlgorithms)[number];

/** The kinds of keys that can be published. */
export type KeyType = "RSA" | "P-256" | "P-384" | "P-521" | "Ed25519";

/** RFC 7518, section 3.3: a key of 2048 bits or larger must be used. */
const smallestRsaBits = 2048;

/** OpenSSL's names of the curves that JWS knows. */
const curves: ReadonlyMap<string | undefined, KeyType> = new Map([
  ["prime256v1", "P-256"],
  ["secp384r1", "P-384"],
  ["secp521r1", "P-521"],
]);

/** For each kind of key the algorithms it can be used with, the usual one first. */
const algorithms: Readonly<Record<KeyType, readonly [SignatureAlgorithm, ...SignatureAlgorithm[]]>> = {
  RSA: ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  "P-256": ["ES256"],
  "P-384": ["ES384"],
  "P-521": ["ES512"],
  Ed25519: ["EdDSA"],
};

/** The kind of a public key, or what is wrong with it. */
export function keyTypeOf(publicKey: KeyObject): KeyType | { readonly unsupported: string } {
  const { asymmetricKeyType, asymmetricKeyDetails } = publicKey;
  if (asymmetricKeyType === "rsa") {
    const bits = asymmetricKeyDetails?.modulusLength ?? 0;
    return bits >= smallestRsaBits ? "RSA" : { unsupported: `an RSA key of ${bits} bits is too small; ${smallestRsaBits} bits are the least` };
  }
  if (asymmetricKeyType === "ec") {
    const curve = asymmetricKeyDetails?.namedCurve;
    return curves.get(curve) ?? { unsupported: `the curve ${curve ?? "of the EC key"} is not one of P-256, P-384 and P-521` };
  }
  if (asymmetricKeyType === "ed25519") return "Ed25519";
  return { unsupported: `a key of type ${asymmetricKeyType ?? "unknown"} cannot be published; use RSA, EC or Ed25519` };
}

/** The algorithms that a kind of key can be used with; the first is the default. */
export function algorithmsFor(keyType: KeyType): readonly [SignatureAlgorithm, ...SignatureAlgorithm[]] {
  return algorithms[keyType];
}

/** True if `text` names an algorithm. */
export function isSignatureAlgorithm(text: unknown): text is SignatureAlgorithm {
  return signatureAlgorithms.some((algorithm) => algorithm === text);
}
