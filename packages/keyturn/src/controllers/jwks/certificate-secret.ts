// What is kept of a Secret: its certificates, and whether its private key belongs to them. The private key itself never enters a cache.
import { Buffer } from "node:buffer";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { parseCertificatePem, type CertificatePem } from "./certificate-pem.ts";

/** Whether `tls.key` is the private key of the first certificate. `unreadable`: encrypted, damaged or of an unknown kind, so nobody can tell. */
export type PrivateKeyCheck = "matches" | "differs" | "absent" | "unreadable";

/** A Secret as this controller sees it. */
export type CertificateSecret =
  /** No `tls.crt`, or an empty one. */
  | { readonly type: "empty" }
  | { readonly type: "tooLarge"; readonly bytes: number }
  | { readonly type: "certificates"; readonly pem: CertificatePem; readonly privateKey: PrivateKeyCheck };

/** The part of a Secret that is read. Values are base64, as the API server sends them. */
export interface SecretData {
  readonly data?: Readonly<Record<string, string>>;
}

/** The largest `tls.crt` that is read, in bytes: far above any chain (a certificate is 1–2 kB), far below what would strain the cache. */
export const largestCertificateBytes = 128 * 1024;

/** One value for the many Secrets of a cluster that have no certificate. */
const empty: CertificateSecret = Object.freeze({ type: "empty" });

/** For `watch(Secret, { keep })`: turns a Secret, as it is read, into what may be kept of it. */
export function keepCertificateSecret(secret: SecretData): CertificateSecret {
  const encoded = secret.data?.["tls.crt"];
  if (!encoded) return empty;
  const bytes = Buffer.byteLength(encoded, "base64");
  if (bytes > largestCertificateBytes) return { type: "tooLarge", bytes };
  const pem = parseCertificatePem(Buffer.from(encoded, "base64").toString("latin1"));
  return { type: "certificates", pem, privateKey: checkPrivateKey(pem.certificates[0], secret.data?.["tls.key"]) };
}

function checkPrivateKey(leaf: string | undefined, encodedKey: string | undefined): PrivateKeyCheck {
  if (!encodedKey) return "absent";
  if (!leaf) return "unreadable";
  try {
    const privateKey = createPrivateKey(Buffer.from(encodedKey, "base64"));
    return new X509Certificate(Buffer.from(leaf, "base64")).checkPrivateKey(privateKey) ? "matches" : "differs";
  } catch {
    // What OpenSSL says about a key that it cannot read helps nobody and must not get into a log.
    return "unreadable";
  }
}
