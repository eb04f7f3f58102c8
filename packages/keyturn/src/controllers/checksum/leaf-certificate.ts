// The certificate that a Secret's id is made from: the first PEM block of `tls.crt`.
import { Buffer } from "node:buffer";
import { hash, type X509Certificate } from "node:crypto";
import { certificateLimits, limitedText, pemBlocks, readCertificate, readPrivateKey } from "../certificate.ts";
import type { LeftOutReason } from "./reasons.ts";

/** SHA-1 of the leaf's DER in lower-case hex, as `openssl x509 -fingerprint -sha1` prints it without colons; or why there is none. */
export type LeafFingerprint = { readonly ok: true; readonly sha1: string } | { readonly ok: false; readonly reason: LeftOutReason };

/** The fingerprint of the leaf in a Secret's `tls.crt` (base64, as the API server sends it), provided that `tls.key` is its private key. */
export function leafFingerprintOf(encodedCertificate: string | undefined, encodedKey: string | undefined): LeafFingerprint {
  if (!encodedCertificate) return { ok: false, reason: "CertificateMissing" };
  const certificate = leafOf(encodedCertificate);
  if (!certificate) return { ok: false, reason: "CertificateInvalid" };
  const key = readPrivateKey(encodedKey ?? "");
  if (!key) return { ok: false, reason: "KeyInvalid" };
  if (!certificate.checkPrivateKey(key)) return { ok: false, reason: "KeyMismatch" };
  return { ok: true, sha1: hash("sha1", certificate.raw, "hex") };
}

/** The leaf in a `tls.crt`: the first whole block, if it is a certificate and nothing else. */
export function leafOf(encodedCertificate: string): X509Certificate | undefined {
  for (const { label, base64 } of pemBlocks(limitedText(encodedCertificate, certificateLimits.certificateBytes) ?? "")) {
    if (base64 === undefined) continue;
    const der = Buffer.from(base64, "base64");
    const certificate = label === "CERTIFICATE" ? readCertificate(der) : undefined;
    // What follows the certificate in its block would be part of the digest and of nothing else.
    return certificate?.raw.equals(der) ? certificate : undefined;
  }
  return undefined;
}
