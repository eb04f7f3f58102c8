// The certificate with which nginx serves HTTPS: whether nginx starts with the Secret as it is, because one that it refuses must not be rolled out.
import { Buffer } from "node:buffer";
import { hash, type X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { LruMap } from "@keyturn/runtime";
import { readCertificate } from "../../certificate.ts";
import type { CertificateSecret } from "../../public-key.ts";
import { limits } from "../../limits.ts";

/** What nginx would have against the server's certificate in a Secret; undefined if it takes it. Names no more than what is public. */
export function problemWithServer(secret: CertificateSecret | undefined): string | undefined {
  if (!secret) return "it does not exist";
  if (secret.type === "tooLarge") return `its ${secret.entry} has ${secret.bytes} bytes; no more than ${limits.certificateBytes} are read`;
  if (secret.type !== "certificates" || secret.entry !== "tls.crt") return "it has no certificate in tls.crt";
  const { pem, privateKey } = secret;
  if (pem.certificates.length === 0) return "there is no PEM certificate in its tls.crt";
  if (pem.unfinished) return "its tls.crt breaks off within a certificate";
  return problemWithKey[privateKey] ?? problemWithChain(pem.certificates);
}

const problemWithKey: Readonly<Record<Extract<CertificateSecret, { type: "certificates" }>["privateKey"], string | undefined>> = {
  matches: undefined,
  matchesOnlyHere:
    "its tls.crt or tls.key is not written as servers read PEM: a line for each beginning and end, base64 alone between them, and a label that says what is in it",
  differs: "its tls.crt is for another key than its tls.key",
  absent: "it has no tls.key",
  unreadable: "its tls.key cannot be read, or is encrypted",
};

/** Every run meets the same few chains. */
const chainsChecked = new LruMap<string, { readonly problem: string | undefined }>(200);

function problemWithChain(base64: readonly string[]): string | undefined {
  const id = hash("sha256", base64.join(","));
  const known = chainsChecked.get(id) ?? { problem: checkedChain(base64) };
  chainsChecked.set(id, known);
  return known.problem;
}

function checkedChain(base64: readonly string[]): string | undefined {
  const chain = base64.map((each) => readCertificate(Buffer.from(each, "base64")));
  for (const [index, certificate] of chain.entries()) {
    if (!certificate) return `certificate ${index + 1} of its tls.crt cannot be read`;
    if (isWeaklySigned(certificate))
      return `certificate ${index + 1} of its tls.crt is signed with ${certificate.signatureAlgorithm}, which is too weak`;
  }
  try {
    // OpenSSL's own rules, as it applies them in nginx: sizes and kinds of keys.
    createSecureContext({ cert: chain.map(String).join("") });
    return undefined;
  } catch (error) {
    const words = error instanceof Error ? error.message.split(":").at(-1) || undefined : undefined;
    return `its tls.crt cannot be used: ${words ?? "OpenSSL does not take it"}`;
  }
}

/** MD5 and SHA-1, but for one's own signature: nobody checks that. */
function isWeaklySigned(certificate: X509Certificate): boolean {
  return /md[245]|sha1(?!\d)/i.test(certificate.signatureAlgorithm ?? "") && !certificate.checkIssued(certificate);
}
