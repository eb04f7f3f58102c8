// A certificate and those that vouch for it, read from their DER.
import { Buffer } from "node:buffer";
import type { KeyObject, X509Certificate } from "node:crypto";
import { LruMap } from "@keyturn/runtime";
import { readCertificate } from "../certificate.ts";

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

/** The document asks for certificates to be read once for as long as they do not change. Every pass over an object meets the same few, in its Secrets and in its history. */
const chainsRead = new LruMap<string, { readonly chain: CertificateChain | undefined }>(2000);

function parseChain(base64: readonly string[]): CertificateChain | undefined {
  const leaf = readUsable(base64[0]);
  if (!leaf) return undefined;
  const issuers: X509Certificate[] = [];
  for (let last = leaf, next = readUsable(base64[1]); next && signedBy(last, next); next = readUsable(base64[issuers.length + 1])) {
    issuers.push(next);
    last = next;
  }
  return {
    certificates: [derOf(leaf), ...issuers.map(derOf)],
    publicKey: leaf.publicKey,
    notBeforeMs: leaf.validFromDate.getTime(),
    notAfterMs: leaf.validToDate.getTime(),
  };
}

function readUsable(base64: string | undefined): X509Certificate | undefined {
  const certificate = base64 ? readCertificate(Buffer.from(base64, "base64")) : undefined;
  try {
    // OpenSSL reads the key and the dates only when asked to, and a certificate without either is of no use here.
    const hasDates = [certificate?.validFromDate, certificate?.validToDate].every((date) => date && !Number.isNaN(date.getTime()));
    return hasDates && certificate?.publicKey ? certificate : undefined;
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
