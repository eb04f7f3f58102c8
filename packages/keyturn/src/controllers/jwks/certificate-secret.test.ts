// What enters the cache of a Secret, and above all what does not.
import { Buffer } from "node:buffer";
import { describe, expect, test } from "vitest";
import { makeCertificate, secretData } from "../../../test/certificates.ts";
import { certificateLimits } from "../certificate.ts";
import { keepCertificateSecret } from "./certificate-secret.ts";

const own = makeCertificate();
const other = makeCertificate();
const encoded = (text: string): string => Buffer.from(text).toString("base64");

describe("keepCertificateSecret", () => {
  test.each(["rsa2048", "p256", "p384", "p521", "ed25519"] as const)("sees that a %s key belongs to its certificate", (keyType) => {
    const { certificate, privateKey } = makeCertificate({ keyType });
    expect(keepCertificateSecret({ data: secretData(certificate, privateKey) })).toMatchObject({ type: "certificates", privateKey: "matches" });
  });

  test("sees that a key belongs to another certificate", () => {
    expect(keepCertificateSecret({ data: secretData(own.certificate, other.privateKey) })).toMatchObject({ privateKey: "differs" });
  });

  test("a key that cannot be read is no judgement on the certificate", () => {
    const data = secretData(own.certificate);
    expect(keepCertificateSecret({ data })).toMatchObject({ privateKey: "absent" });
    expect(keepCertificateSecret({ data: { ...data, "tls.key": encoded("garbage") } })).toMatchObject({ privateKey: "unreadable" });
    const encrypted = own.privateKey.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "secret" }).toString();
    expect(keepCertificateSecret({ data: { ...data, "tls.key": encoded(encrypted) } })).toMatchObject({ privateKey: "unreadable" });
  });

  test("never keeps private key material, wherever it stands in the Secret", () => {
    const pem = own.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const data = { ...secretData(pem + own.certificate, own.privateKey), "other.key": encoded(pem) };
    const kept = JSON.stringify(keepCertificateSecret({ data }));
    for (const line of pem.split("\n").slice(1, -2)) {
      expect(kept).not.toContain(line);
      expect(kept).not.toContain(encoded(line).slice(0, 40));
    }
  });

  test("is one and the same small value for all Secrets without a certificate", () => {
    const kept = keepCertificateSecret({ data: { password: "eA==" } });
    expect(kept).toEqual({ type: "empty" });
    expect(keepCertificateSecret({})).toBe(kept);
    expect(keepCertificateSecret({ data: { "tls.crt": "", "tls.key": "" } })).toBe(kept);
  });

  test("reads a file of 100 kB and refuses to hold one beyond all measure", () => {
    expect(keepCertificateSecret({ data: secretData(" ".repeat(100_000) + own.certificate) })).toMatchObject({
      pem: { certificates: [expect.any(String)] },
    });
    const bytes = certificateLimits.certificateBytes + 1;
    expect(keepCertificateSecret({ data: secretData("x".repeat(bytes)) })).toEqual({ type: "tooLarge", bytes });
  });
});
