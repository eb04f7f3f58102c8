// Secrets that hold a key for signatures: what is kept of one, never its private key, and the checked certificate chain in it. For whoever publishes keys, and whoever waits for that.
import { Buffer } from "node:buffer";
import { createHash, hash, type KeyObject, type X509Certificate } from "node:crypto";
import { LruMap } from "@keyturn/runtime";
import {
  type CertificatePem,
  isReadByServers,
  limitedText,
  parseCertificatePem,
  readCertificate,
  readPrivateKey,
  validityDatesOf,
} from "./certificate.ts";
import { limits } from "./limits.ts";
import { type KeyMembers, keyMembersOf, publicKeyEntryOf, publicKeyPemOf, thumbprintOf } from "./public-key.ts";

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
