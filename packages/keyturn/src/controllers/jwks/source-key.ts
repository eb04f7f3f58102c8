// From a Secret to the key that it gives, or the reason why it gives none.
import { certificateLimits } from "../certificate.ts";
import { readCertificateChain } from "./certificate-chain.ts";
import type { CertificateSecret } from "./certificate-secret.ts";
import type { SourceKey } from "./key-history.ts";
import { keyIdOf, publicJwkOf } from "./public-jwk.ts";
import type { SourceReason } from "./reasons.ts";
import type { JwksSettings } from "./settings.ts";
import { algorithmsFor, keyTypeOf, type SignatureAlgorithm } from "./signature-algorithm.ts";

/** What a Secret gives. The message of a refusal names no more than what is public. */
export type SourceResult =
  | { readonly type: "key"; readonly key: SourceKey }
  | { readonly type: "refused"; readonly reason: SourceReason; readonly message: string };

/** Which key, and how it is to be published. */
export type SourceSettings = Pick<JwksSettings, "keyId" | "algorithm" | "rsaAlgorithm">;

/**
 * Reads the key of a Secret.
 *
 * A certificate that is not valid yet gives its key: verifiers should know a key before it signs, and clocks differ. One that has expired does not, so
 * that a forgotten Secret is noticed; what it gave before stays published. A private key that is missing or cannot be read is no hindrance.
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
