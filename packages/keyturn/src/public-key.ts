// Public keys that verify signatures: their kinds and algorithms, their JWK members (RFC 7518), their thumbprints (RFC 7638), where a Secret has one, and the chain that vouches for it.
import { Buffer } from "node:buffer";
import { createHash, createPublicKey, type KeyObject, hash, type X509Certificate } from "node:crypto";
import {
  derElementsIn,
  pemBlocks,
  type CertificatePem,
  isReadByServers,
  limitedText,
  parseCertificatePem,
  readCertificate,
  readPrivateKey,
  validityDatesOf,
} from "./certificate.ts";
import { LruMap } from "@keyturn/runtime";
import { limits } from "./limits.ts";

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
function publicKeyEntryOf(data: Readonly<Record<string, string>> | undefined): readonly [name: string, encoded: string] | undefined {
  const name = publicKeyEntries.find((entry) => data && Object.hasOwn(data, entry));
  return name === undefined ? undefined : [name, data?.[name] ?? ""];
}

/** The first public key in PEM text that is no certificate: base64 of its SubjectPublicKeyInfo. */
function publicKeyPemOf(text: string): string | undefined {
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

// What is kept of a Secret: its certificates, and whether its private key belongs to them. The private key itself never enters a cache.

/**
 * Whether `tls.key` is the private key of the first certificate. `unreadable`: encrypted, damaged or of an unknown kind, so nobody knows. `matchesOnlyHere`:
 * it is, but servers do not read the two files as they are written.
 */
type PrivateKeyCheck = "matches" | "matchesOnlyHere" | "differs" | "absent" | "unreadable";

/** A Secret as far as its public key goes. */
export type CertificateSecret =
  /** No entry that can hold a public key, or an empty one. */
  | { readonly type: "empty" }
  | { readonly type: "tooLarge"; readonly entry: string; readonly bytes: number }
  | { readonly type: "certificates"; readonly entry: string; readonly pem: CertificatePem; readonly privateKey: PrivateKeyCheck }
  /** A public key alone, as SubjectPublicKeyInfo in base64. */
  | { readonly type: "publicKey"; readonly entry: string; readonly spki: string };

/** The part of a Secret that is read. Values are base64, as the API server sends them. */
interface SecretData {
  readonly data?: Readonly<Record<string, string>>;
}

/** One value for the many Secrets of a cluster that have no certificate. */
const empty: CertificateSecret = Object.freeze({ type: "empty" });

/** For `watch(Secret, { keep })`: turns a Secret, as it is read, into what may be kept of it. */
export function keepCertificateSecret({ data }: SecretData): CertificateSecret {
  const [entry, encoded] = publicKeyEntryOf(data) ?? [];
  if (entry === undefined || !encoded) return empty;
  const text = limitedText(encoded, limits.certificateBytes);
  if (text === undefined) return { type: "tooLarge", entry, bytes: Buffer.byteLength(encoded, "base64") };
  const pem = parseCertificatePem(text);
  const spki = pem.certificates.length === 0 ? publicKeyPemOf(text) : undefined;
  if (spki !== undefined && entry !== "tls.crt") return { type: "publicKey", entry, spki };
  // A private key belongs to the Secret's own certificate, and not to that of its issuer.
  const encodedKey = entry === "tls.crt" ? data?.["tls.key"] : undefined;
  return { type: "certificates", entry, pem, privateKey: checkPrivateKey({ text, pem }, encodedKey) };
}

function checkPrivateKey({ text, pem }: { readonly text: string; readonly pem: CertificatePem }, encodedKey: string | undefined): PrivateKeyCheck {
  if (!encodedKey) return "absent";
  const [leaf] = pem.certificates;
  const certificate = leaf && readCertificate(Buffer.from(leaf, "base64"));
  const privateKey = certificate && readPrivateKey(encodedKey);
  if (!privateKey) return "unreadable";
  if (!certificate.checkPrivateKey(privateKey)) return "differs";
  return isReadByServers({ certificates: text, privateKey: Buffer.from(encodedKey, "base64").toString("latin1") }) ? "matches" : "matchesOnlyHere";
}

// A certificate and those that vouch for it, read from their DER.

/** A leaf certificate with its chain, as far as the chain holds. */
export interface CertificateChain {
  /** DER in base64, the leaf first; each further certificate has signed the one before it, as `x5c` requires (RFC 7517, section 4.7). */
  readonly certificates: readonly [string, ...string[]];
  readonly publicKey: KeyObject;
  /** As a JWK has them; a key of a kind that has none, such as DSA, makes no chain. */
  readonly members: KeyMembers;
  /** RFC 7638. */
  readonly thumbprint: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/**
 * Reads a chain from certificates in base64 DER. The first one is the leaf; the chain ends at the first certificate that cannot be read or did not
 * sign the one before, because what follows would break `x5c` for strict readers. Undefined if there is no leaf that can be read and used with JWS.
 * It also ends at the last of `limits.chainCertificates`: what is published of it is a shorter chain then.
 */
export function readCertificateChain(base64: readonly string[]): CertificateChain | undefined {
  const chain = base64.slice(0, limits.chainCertificates);
  const id = hash("sha256", chain.join(","));
  const known = chainsRead.get(id) ?? { chain: parseChain(chain) };
  chainsRead.set(id, known);
  return known.chain;
}

/** Certificates are read once for as long as they do not change: every run for an object meets the same few, in its Secrets and in its history. */
const chainsRead = new LruMap<string, { readonly chain: CertificateChain | undefined }>(2000);

/** The `kid` that rieset/jwks-operator makes of a certificate: the first 16 hex digits of its SHA-1. */
export function certificateKeyId({ certificates: [leaf] }: CertificateChain): string {
  return createHash("sha1").update(Buffer.from(leaf, "base64")).digest("hex").slice(0, 16);
}

function parseChain(base64: readonly string[]): CertificateChain | undefined {
  const leaf = readUsable(base64[0]);
  const dates = leaf && validityDatesOf(leaf);
  const members = leaf && keyMembersOf(leaf.publicKey);
  if (!dates || !members) return undefined;
  const issuers: X509Certificate[] = [];
  for (let last = leaf, next = readUsable(base64[1]); next && signedBy(last, next); next = readUsable(base64[issuers.length + 1])) {
    issuers.push(next);
    last = next;
  }
  return {
    certificates: [derOf(leaf), ...issuers.map(derOf)],
    publicKey: leaf.publicKey,
    members,
    thumbprint: thumbprintOf(members),
    ...dates,
  };
}

function readUsable(base64: string | undefined): X509Certificate | undefined {
  const certificate = base64 ? readCertificate(Buffer.from(base64, "base64")) : undefined;
  try {
    // OpenSSL reads the key and the dates only when asked to, and a certificate without either is of no use here.
    return certificate && validityDatesOf(certificate) && certificate.publicKey ? certificate : undefined;
  } catch {
    // Node has no other way to ask whether a key can be read, and its messages may quote the input.
    return undefined;
  }
}

/** A self-signed certificate ends every chain; without that, a root given twice would be published twice. */
function signedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  const { publicExponent = 0n } = issuer.publicKey.asymmetricKeyDetails ?? {};
  if (publicExponent > limits.publicExponent) return false;
  return !certificate.checkIssued(certificate) && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function derOf(certificate: X509Certificate): string {
  return certificate.raw.toString("base64");
}
