// From a Secret with a certificate to the key that it gives: what is kept of the Secret, its checked chain, and the key or why there is none.
import { Buffer } from "node:buffer";
import type { KeyObject, X509Certificate } from "node:crypto";
import { LruMap } from "@keyturn/runtime";
import {
  certificateLimits,
  type CertificatePem,
  limitedText,
  parseCertificatePem,
  readCertificate,
  readPrivateKey,
  validityDatesOf,
} from "../../certificate.ts";
import { algorithmsFor, keyIdOf, keyTypeOf, publicJwkOf, type SignatureAlgorithm } from "./jwk.ts";
import type { SourceKey } from "./key-history.ts";
import type { SourceReason } from "./reasons.ts";
import type { JwksSettings } from "./settings.ts";

// What is kept of a Secret: its certificates, and whether its private key belongs to them. The private key itself never enters a cache.

/** Whether `tls.key` is the private key of the first certificate. `unreadable`: encrypted, damaged or of an unknown kind, so nobody knows. */
type PrivateKeyCheck = "matches" | "differs" | "absent" | "unreadable";

/** A Secret as this controller sees it. */
export type CertificateSecret =
  /** No `tls.crt`, or an empty one. */
  | { readonly type: "empty" }
  | { readonly type: "tooLarge"; readonly bytes: number }
  | { readonly type: "certificates"; readonly pem: CertificatePem; readonly privateKey: PrivateKeyCheck };

/** The part of a Secret that is read. Values are base64, as the API server sends them. */
interface SecretData {
  readonly data?: Readonly<Record<string, string>>;
}

/** One value for the many Secrets of a cluster that have no certificate. */
const empty: CertificateSecret = Object.freeze({ type: "empty" });

/** For `watch(Secret, { keep })`: turns a Secret, as it is read, into what may be kept of it. */
export function keepCertificateSecret(secret: SecretData): CertificateSecret {
  const encoded = secret.data?.["tls.crt"];
  if (!encoded) return empty;
  const text = limitedText(encoded, certificateLimits.certificateBytes);
  if (text === undefined) return { type: "tooLarge", bytes: Buffer.byteLength(encoded, "base64") };
  const pem = parseCertificatePem(text);
  return { type: "certificates", pem, privateKey: checkPrivateKey(pem.certificates[0], secret.data?.["tls.key"]) };
}

function checkPrivateKey(leaf: string | undefined, encodedKey: string | undefined): PrivateKeyCheck {
  if (!encodedKey) return "absent";
  const certificate = leaf && readCertificate(Buffer.from(leaf, "base64"));
  const privateKey = certificate && readPrivateKey(encodedKey);
  if (!privateKey) return "unreadable";
  return certificate.checkPrivateKey(privateKey) ? "matches" : "differs";
}

// A certificate and those that vouch for it, read from their DER.

/** A leaf certificate with its chain, as far as the chain holds. */
export interface CertificateChain {
  /** DER in base64, the leaf first; each further certificate has signed the one before it, as `x5c` requires (RFC 7517, section 4.7). */
  readonly certificates: readonly [string, ...string[]];
  readonly publicKey: KeyObject;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/**
 * Reads a chain from certificates in base64 DER. The first one is the leaf; the chain ends at the first certificate that cannot be read or did not
 * sign the one before, because what follows would break `x5c` for strict readers. Undefined if there is no leaf that can be read.
 */
export function readCertificateChain(base64: readonly string[]): CertificateChain | undefined {
  const id = base64.join(",");
  const known = chainsRead.get(id) ?? { chain: parseChain(base64) };
  chainsRead.set(id, known);
  return known.chain;
}

/** Certificates are read once for as long as they do not change: every run for an object meets the same few, in its Secrets and in its history. */
const chainsRead = new LruMap<string, { readonly chain: CertificateChain | undefined }>(2000);

function parseChain(base64: readonly string[]): CertificateChain | undefined {
  const leaf = readUsable(base64[0]);
  const dates = leaf && validityDatesOf(leaf);
  if (!dates) return undefined;
  const issuers: X509Certificate[] = [];
  for (let last = leaf, next = readUsable(base64[1]); next && signedBy(last, next); next = readUsable(base64[issuers.length + 1])) {
    issuers.push(next);
    last = next;
  }
  return {
    certificates: [derOf(leaf), ...issuers.map(derOf)],
    publicKey: leaf.publicKey,
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
  return !certificate.checkIssued(certificate) && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function derOf(certificate: X509Certificate): string {
  return certificate.raw.toString("base64");
}

// From a Secret to the key that it gives, or the reason why it gives none.

/** What a Secret gives. The message of a refusal names no more than what is public. */
type SourceResult =
  | { readonly type: "key"; readonly key: SourceKey }
  | { readonly type: "refused"; readonly reason: SourceReason; readonly message: string };

/** Which key, and how it is to be published. */
export type SourceSettings = Pick<JwksSettings, "keyId" | "algorithm" | "rsaAlgorithm">;

/**
 * Reads the key of a Secret.
 *
 * A certificate that is not valid yet gives its key: verifiers should know a key before it signs, and clocks differ. One that has expired does not, so
 * that a forgotten Secret is noticed; what it gave before stays published. A private key that is missing or cannot be read is no blocker.
 */
export function readSourceKey(secret: CertificateSecret | undefined, settings: SourceSettings, nowMs: number): SourceResult {
  if (!secret) return refused("SecretNotFound", "the Secret does not exist");
  if (secret.type === "empty") return refused("CertificateMissing", "the Secret has no tls.crt");
  if (secret.type === "tooLarge") {
    return refused("CertificateTooLarge", `tls.crt has ${secret.bytes} bytes; no more than ${certificateLimits.certificateBytes} are read`);
  }
  const chain = readCertificateChain(secret.pem.certificates);
  if (!chain) return refused("CertificateInvalid", `tls.crt cannot be used: ${whyNoChain(secret)}`);
  if (secret.privateKey === "differs") return refused("KeyMismatch", "the certificate in tls.crt is for another key than tls.key");
  if (chain.notAfterMs <= nowMs) return refused("CertificateExpired", `the certificate expired at ${new Date(chain.notAfterMs).toISOString()}`);
  const keyType = keyTypeOf(chain.publicKey);
  if (typeof keyType !== "string") return refused("KeyUnsupported", keyType.unsupported);
  const possible = algorithmsFor(keyType);
  const alg: SignatureAlgorithm = settings.algorithm ?? (keyType === "RSA" ? settings.rsaAlgorithm : possible[0]);
  if (!possible.includes(alg))
    return refused("AlgorithmMismatch", `algorithm ${alg} does not go with a ${keyType} key; ${possible.join(", ")} would`);
  return { type: "key", key: { jwk: publicJwkOf(chain, { kid: keyIdOf(chain, settings.keyId), alg }), notAfterMs: chain.notAfterMs } };
}

function refused(reason: SourceReason, message: string): SourceResult {
  return { type: "refused", reason, message };
}

type WithCertificates = Extract<CertificateSecret, { type: "certificates" }>;

function whyNoChain({ pem }: WithCertificates): string {
  if (pem.certificates.length > 0) return "its first certificate cannot be read";
  return pem.unfinished ? "it breaks off within a certificate" : "there is no PEM certificate in it";
}
