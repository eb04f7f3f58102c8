// From a Secret with a certificate or a public key to the key that it gives: what is kept of the Secret, its checked chain, the key or why there is none, and what the Secret held between two runs.
import { Buffer } from "node:buffer";
import type { KeyObject, X509Certificate } from "node:crypto";
import { type Change, LruMap, nameOf, type ObjectKey } from "@keyturn/runtime";
import { type CertificatePem, limitedText, parseCertificatePem, readCertificate, readPrivateKey, validityDatesOf } from "../../certificate.ts";
import { limits } from "../../limits.ts";
import { type KeyMembers, keyMembersOf, keyUseOf, publicKeyEntryOf, publicKeyPemOf, readPublicKey, thumbprintOf } from "../../public-key.ts";
import { algorithmFor, certifiedEntry, type KeyEntry, keyIdOf, plainEntry } from "./jwk.ts";
import type { SourceReason } from "./reasons.ts";
import type { JwksSettings } from "./settings.ts";

// What is kept of a Secret: its certificates, and whether its private key belongs to them. The private key itself never enters a cache.

/** Whether `tls.key` is the private key of the first certificate. `unreadable`: encrypted, damaged or of an unknown kind, so nobody knows. */
type PrivateKeyCheck = "matches" | "differs" | "absent" | "unreadable";

/** A Secret as this controller sees it. */
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
  return { type: "certificates", entry, pem, privateKey: checkPrivateKey(pem.certificates[0], encodedKey) };
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
  return !certificate.checkIssued(certificate) && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function derOf(certificate: X509Certificate): string {
  return certificate.raw.toString("base64");
}

// From a Secret to the key that it gives, or the reason why it gives none.

/** What a Secret gives. The message of a refusal names no more than what is public. */
export type SourceResult =
  | { readonly type: "key"; readonly key: KeyEntry }
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
  const { entry } = secret;
  if (secret.type === "tooLarge") {
    return refused("CertificateTooLarge", `${entry} has ${secret.bytes} bytes; no more than ${limits.certificateBytes} are read`);
  }
  if (secret.type === "publicKey") return readPlainKey(secret, settings);
  const chain = readCertificateChain(secret.pem.certificates);
  if (!chain) return refused("CertificateInvalid", `${entry} cannot be used: ${whyNoChain(secret)}`);
  if (secret.privateKey === "differs") return refused("KeyMismatch", "the certificate in tls.crt is for another key than tls.key");
  if (chain.notAfterMs <= nowMs) return refused("CertificateExpired", `the certificate expired at ${new Date(chain.notAfterMs).toISOString()}`);
  const alg = algorithmOf(chain.publicKey, settings);
  return typeof alg === "object" ? alg : { type: "key", key: certifiedEntry(chain, { kid: keyIdOf(chain, settings.keyId), alg }) };
}

/** A public key without a certificate: its `kid` is its thumbprint, for there is nothing else to make one of. */
function readPlainKey({ entry, spki }: Extract<CertificateSecret, { type: "publicKey" }>, settings: SourceSettings): SourceResult {
  const publicKey = readPublicKey(spki);
  const members = publicKey && keyMembersOf(publicKey);
  if (!members) return refused("CertificateInvalid", `${entry} cannot be used: its public key cannot be read`);
  const alg = algorithmOf(publicKey, settings);
  return typeof alg === "object" ? alg : { type: "key", key: plainEntry(members, { kid: thumbprintOf(members), alg }) };
}

function algorithmOf(publicKey: KeyObject, settings: SourceSettings): string | Extract<SourceResult, { type: "refused" }> {
  const use = keyUseOf(publicKey);
  if ("unsupported" in use) return refused("KeyUnsupported", use.unsupported);
  const alg = algorithmFor(use, settings);
  if (alg !== undefined) return alg;
  return refused("AlgorithmMismatch", `algorithm ${settings.algorithm} does not go with a ${use.kind} key; ${use.algorithms.join(", ")} would`);
}

function refused(reason: SourceReason, message: string): Extract<SourceResult, { type: "refused" }> {
  return { type: "refused", reason, message };
}

type WithCertificates = Extract<CertificateSecret, { type: "certificates" }>;

function whyNoChain({ pem }: WithCertificates): string {
  if (pem.certificates.length > 0) return "its first certificate cannot be read";
  return pem.unfinished ? "it breaks off within a certificate" : "there is no PEM certificate in it";
}

// What Secrets held between two runs: a key that came and went before it could be published may have signed all the same.

/** So many are remembered of a Secret: more in one go are no keys that anybody signs with. */
const maxPassed = 16;

/**
 * Remembers, for objects that this process works on, what their Secrets held since the last run that ended well.
 * In memory alone: what a run has seen of it is written down in the object's status.
 */
export class PassedSecrets {
  /** By the object, then by the Secret's name. */
  readonly #held = new Map<ObjectKey, Map<string, CertificateSecret[]>>();

  /** A Secret of these objects has changed. */
  changed(change: Change<CertificateSecret>, objects: readonly ObjectKey[]): void {
    if (change.type === "added" || change.previous.type === "empty") return;
    const { name } = nameOf(change.key);
    for (const object of objects) {
      const held = this.#held.get(object);
      held?.set(name, [...(held.get(name) ?? []), change.previous].slice(-maxPassed));
    }
  }

  /** What these Secrets of an object held since the last run. From now on they are looked after. */
  since(object: ObjectKey, names: readonly string[]): ReadonlyMap<string, readonly CertificateSecret[]> {
    const held = this.#held.get(object);
    if (!held) this.#held.set(object, new Map());
    return new Map(names.flatMap((name) => (held?.has(name) ? [[name, [...(held.get(name) ?? [])]] as const] : [])));
  }

  /** A run has ended well: what it had seen is written down. What has come since stays. */
  completed(object: ObjectKey, seen: ReadonlyMap<string, readonly CertificateSecret[]>): void {
    const held = this.#held.get(object);
    for (const [name, secrets] of seen) {
      const left = held?.get(name)?.filter((secret) => !secrets.includes(secret)) ?? [];
      if (left.length > 0) held?.set(name, left);
      else held?.delete(name);
    }
  }

  /** This process no longer works on the object. */
  forget(object: ObjectKey): void {
    this.#held.delete(object);
  }
}
