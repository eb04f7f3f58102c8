// The certificate that a Secret's id is made from: the first PEM block of `tls.crt`.
import { Buffer } from "node:buffer";
import { createPrivateKey, hash, X509Certificate } from "node:crypto";
import type { LeftOutReason } from "./reasons.ts";

/** SHA-1 of the leaf's DER in lower-case hex, as `openssl x509 -fingerprint -sha1` prints it without colons; or why there is none. */
export type LeafFingerprint = { readonly ok: true; readonly sha1: string } | { readonly ok: false; readonly reason: LeftOutReason };

/** RFC 7468, with the headers of RFC 1421 that older tools write. Text around the blocks does not count. */
const block = /-----BEGIN ([^\n\r-]*)-----\s*(?:[\w-]+:[^\n]*\r?\n)*\s*([A-Za-z0-9+/=\s]*)-----END \1-----/;

/** The fingerprint of the leaf in a Secret's `tls.crt` (base64, as the API server sends it), provided that `tls.key` is its private key. */
export function leafFingerprintOf(encodedCertificate: string | undefined, encodedKey: string | undefined): LeafFingerprint {
  if (!encodedCertificate) return { ok: false, reason: "CertificateMissing" };
  const [, label, base64 = ""] = block.exec(Buffer.from(encodedCertificate, "base64").toString("latin1")) ?? [];
  const der = Buffer.from(base64, "base64");
  const certificate = label === "CERTIFICATE" ? parse(() => new X509Certificate(der)) : undefined;
  // What follows the certificate in its block would be part of the digest and of nothing else.
  if (certificate?.raw.length !== der.length) return { ok: false, reason: "CertificateInvalid" };
  const key = parse(() => createPrivateKey(Buffer.from(encodedKey ?? "", "base64")));
  if (!key) return { ok: false, reason: "KeyInvalid" };
  if (!certificate.checkPrivateKey(key)) return { ok: false, reason: "KeyMismatch" };
  return { ok: true, sha1: hash("sha1", der, "hex") };
}

function parse<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    // What OpenSSL says about a key or certificate that it cannot read helps nobody and must not get into a log.
    return undefined;
  }
}
