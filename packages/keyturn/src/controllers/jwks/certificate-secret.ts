// What is kept of a Secret: its certificates, and whether its private key belongs to them. The private key itself never enters a cache.
import { Buffer } from "node:buffer";
import { certificateLimits, type CertificatePem, limitedText, parseCertificatePem, readCertificate, readPrivateKey } from "../certificate.ts";

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
