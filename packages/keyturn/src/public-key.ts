// Public keys that verify signatures: their kinds and algorithms, their JWK members (RFC 7518), their thumbprints (RFC 7638), and where a Secret has one.
import { Buffer } from "node:buffer";
import { createHash, createPublicKey, type KeyObject } from "node:crypto";
import { derElementsIn, pemBlocks } from "./certificate.ts";

/** Every `alg` that can be asked for (RFC 7518, RFC 8037, RFC 9864). */
export const signatureAlgorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"] as const;

export type SignatureAlgorithm = (typeof signatureAlgorithms)[number];

/** True if `text` names an algorithm. */
export function isSignatureAlgorithm(text: unknown): text is SignatureAlgorithm {
  return signatureAlgorithms.some((algorithm) => algorithm === text);
}

/** The members of a JWK that are the key itself. */
export type KeyMembers =
  | { readonly kty: "RSA"; readonly n: string; readonly e: string }
  | { readonly kty: "EC"; readonly crv: string; readonly x: string; readonly y: string }
  | { readonly kty: "OKP"; readonly crv: string; readonly x: string };

/** What a key can be used for: its kind and algorithms, the usual one first, or why it is not published. */
type KeyUse =
  | { readonly kind: string; readonly algorithms: readonly [SignatureAlgorithm, ...SignatureAlgorithm[]] }
  | { readonly unsupported: string };

/** RFC 7518, section 3.3: a key of 2048 bits or larger must be used. */
const minRsaBits = 2048;

/** OpenSSL's names of the curves that JWS knows, and the one algorithm of each. */
const curves: ReadonlyMap<string | undefined, readonly [kind: string, algorithm: SignatureAlgorithm]> = new Map([
  ["prime256v1", ["P-256", "ES256"]],
  ["secp384r1", ["P-384", "ES384"]],
  ["secp521r1", ["P-521", "ES512"]],
]);

/** What a public key can be used for. */
export function keyUseOf(publicKey: KeyObject): KeyUse {
  const { asymmetricKeyType, asymmetricKeyDetails } = publicKey;
  if (asymmetricKeyType === "rsa" || asymmetricKeyType === "rsa-pss") {
    const bits = asymmetricKeyDetails?.modulusLength ?? 0;
    if (bits < minRsaBits) return { unsupported: `an RSA key of ${bits} bits is too small; ${minRsaBits} bits are the least` };
    if (asymmetricKeyType === "rsa-pss") return pssUseOf(asymmetricKeyDetails);
    return { kind: "RSA", algorithms: ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] };
  }
  if (asymmetricKeyType === "ec") {
    const curve = asymmetricKeyDetails?.namedCurve;
    const known = curves.get(curve);
    if (!known) return { unsupported: `the curve ${curve ?? "of the EC key"} is not one of P-256, P-384 and P-521` };
    return { kind: known[0], algorithms: [known[1]] };
  }
  if (asymmetricKeyType === "ed25519") return { kind: "Ed25519", algorithms: ["EdDSA", "Ed25519"] };
  return { unsupported: `a key of type ${asymmetricKeyType ?? "unknown"} cannot be published; use RSA, EC or Ed25519` };
}

/** The algorithm of each digest, with the length of its salt (RFC 7518, section 3.5). */
const pssAlgorithms: Readonly<Record<string, readonly [SignatureAlgorithm, number]>> = {
  sha256: ["PS256", 32],
  sha384: ["PS384", 48],
  sha512: ["PS512", 64],
};

/** A key that names its parameters (RFC 4055) can be used with them alone. */
function pssUseOf({ hashAlgorithm, mgf1HashAlgorithm, saltLength = 0 }: NonNullable<KeyObject["asymmetricKeyDetails"]> = {}): KeyUse {
  if (hashAlgorithm === undefined) return { kind: "RSA-PSS", algorithms: ["PS256", "PS384", "PS512"] };
  const [algorithm, salt] = pssAlgorithms[hashAlgorithm] ?? [];
  if (algorithm === undefined || salt === undefined || mgf1HashAlgorithm !== hashAlgorithm || saltLength > salt) {
    return { unsupported: `the parameters of the RSA-PSS key (${hashAlgorithm}, salt of ${saltLength} bytes) are of none of PS256, PS384 and PS512` };
  }
  return { kind: "RSA-PSS", algorithms: [algorithm] };
}

/** The members of a key's JWK; undefined for kinds of keys that have none. */
export function keyMembersOf(publicKey: KeyObject): KeyMembers | undefined {
  try {
    const { kty, n, e, crv, x, y } = plainKeyOf(publicKey).export({ format: "jwk" });
    if (kty === "RSA" && n && e) return { kty, n, e };
    if (kty === "EC" && crv && x && y) return { kty, crv, x, y };
    if (kty === "OKP" && crv && x && crv.startsWith("Ed")) return { kty, crv, x };
  } catch {
    // Node has no other way to say that a key has no JWK form.
  }
  return undefined;
}

/** Node writes no JWK of an RSA-PSS key, although that is the JWK of the same numbers: they are taken out of its SubjectPublicKeyInfo. */
function plainKeyOf(publicKey: KeyObject): KeyObject {
  if (publicKey.asymmetricKeyType !== "rsa-pss") return publicKey;
  const der = publicKey.export({ type: "spki", format: "der" });
  const [, bits] = derElementsIn(der, derElementsIn(der)[0]);
  // A BIT STRING begins with the number of bits that do not count, here none.
  return createPublicKey({ key: bits ? der.subarray(bits.contentAt + 1, bits.endAt) : der, format: "der", type: "pkcs1" });
}

/** The key with these members; undefined if they are none. */
export function keyOfMembers(members: KeyMembers): KeyObject | undefined {
  try {
    return createPublicKey({ key: members, format: "jwk" });
  } catch {
    // What OpenSSL says of a key that it cannot read helps nobody.
    return undefined;
  }
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

/** The entries of a Secret that can hold a public key: the first that is there counts, also if it is empty. */
const publicKeyEntries = ["tls.crt", "tls.pub", "public.pem", "ca.crt"] as const;

/** The first of them that a Secret has, with its value. */
export function publicKeyEntryOf(data: Readonly<Record<string, string>> | undefined): readonly [name: string, encoded: string] | undefined {
  const name = publicKeyEntries.find((entry) => data && Object.hasOwn(data, entry));
  return name === undefined ? undefined : [name, data?.[name] ?? ""];
}

/** The first public key in PEM text that is no certificate: base64 of its SubjectPublicKeyInfo. */
export function publicKeyPemOf(text: string): string | undefined {
  for (const { label, base64 } of pemBlocks(text)) if (label === "PUBLIC KEY") return base64;
  return undefined;
}

/** RSA, RSASSA-PSS, EC, Ed25519 and Ed448: nothing else gets to OpenSSL, which would compute with the numbers of other kinds for as long as they are large. */
const keyAlgorithms = new Set(["2a864886f70d010101", "2a864886f70d01010a", "2a8648ce3d0201", "2b6570", "2b6571"]);
const [ecAlgorithm, objectIdentifierTag] = ["2a8648ce3d0201", 0x06] as const;

/** The public key with this SubjectPublicKeyInfo in base64. A curve must be named: one that the key describes itself could take seconds. */
export function readPublicKey(base64: string): KeyObject | undefined {
  const key = Buffer.from(base64, "base64");
  const [identifier] = derElementsIn(key, derElementsIn(key)[0]);
  const [oid, curve] = identifier ? derElementsIn(key, identifier) : [];
  const algorithm = oid ? key.toString("hex", oid.contentAt, oid.endAt) : "";
  if (!keyAlgorithms.has(algorithm) || (algorithm === ecAlgorithm && curve?.tag !== objectIdentifierTag)) return undefined;
  try {
    return createPublicKey({ key, format: "der", type: "spki" });
  } catch {
    // As above.
    return undefined;
  }
}
