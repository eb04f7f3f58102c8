// Every documented outcome of reading a Secret.
import { Buffer } from "node:buffer";
import { describe, expect, test } from "vitest";
import { makeCertificate, secretData } from "../../../test/certificates.ts";
import { keepCertificateSecret } from "./certificate-secret.ts";
import { readSourceKey, type SourceSettings } from "./source-key.ts";

const nowMs = Date.UTC(2026, 0, 1);
const usual: SourceSettings = { keyId: "Thumbprint", algorithm: undefined, rsaAlgorithm: "RS256" };
const good = makeCertificate();
const read = (data: Record<string, string>, settings = usual) => readSourceKey(keepCertificateSecret({ data }), settings, nowMs);
const file = (text: string): Record<string, string> => ({ "tls.crt": Buffer.from(text).toString("base64") });

describe("a Secret that gives a key", () => {
  test.each([
    ["rsa2048", "RSA", "RS256"],
    ["p256", "EC", "ES256"],
    ["p384", "EC", "ES384"],
    ["p521", "EC", "ES512"],
    ["ed25519", "OKP", "EdDSA"],
  ] as const)("%s is published as %s with alg %s", (keyType, kty, alg) => {
    const { certificate, privateKey } = makeCertificate({ keyType });
    expect(read(secretData(certificate, privateKey))).toMatchObject({ type: "key", key: { jwk: { kty, alg, use: "sig" } } });
  });

  test.each(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] as const)("an RSA key can be published for %s", (algorithm) => {
    expect(read(secretData(makeCertificate({ keyType: "rsa2048" }).certificate), { ...usual, algorithm })).toMatchObject({
      key: { jwk: { alg: algorithm } },
    });
  });

  test("a certificate that is not valid yet gives its key: it can be known before it signs", () => {
    const { certificate } = makeCertificate({ notBeforeMs: nowMs + 1000 });
    expect(read(secretData(certificate))).toMatchObject({ type: "key" });
  });

  test("a private key that is missing or unreadable is no hindrance", () => {
    expect(read(secretData(good.certificate))).toMatchObject({ type: "key" });
    expect(read({ ...secretData(good.certificate), "tls.key": "AAAA" })).toMatchObject({ type: "key" });
  });

  test("the same Secret is read only once", () => {
    const secret = keepCertificateSecret({ data: secretData(good.certificate) });
    const [first, second] = [readSourceKey(secret, usual, nowMs), readSourceKey(secret, usual, nowMs)];
    expect(second).toEqual(first);
  });
});

describe("a Secret that gives none", () => {
  test.each([
    ["SecretNotFound", undefined, "the Secret does not exist"],
    ["CertificateMissing", {}, "the Secret has no tls.crt"],
    ["CertificateInvalid", file("garbage"), "tls.crt cannot be used: there is no PEM certificate in it"],
    ["CertificateInvalid", file(good.certificate.slice(0, 300)), "tls.crt cannot be used: it breaks off within a certificate"],
    [
      "CertificateInvalid",
      file(good.certificate.replace(/\n[\w+/]{9}/, "\nAAAAAAAAA")),
      "tls.crt cannot be used: its first certificate cannot be read",
    ],
    ["CertificateTooLarge", file("x".repeat(200_000)), "tls.crt has 200000 bytes; no more than 131072 are read"],
    ["KeyMismatch", secretData(good.certificate, makeCertificate().privateKey), "the certificate in tls.crt is for another key than tls.key"],
    ["CertificateExpired", secretData(makeCertificate({ notAfterMs: nowMs }).certificate), "the certificate expired at 2026-01-01T00:00:00.000Z"],
    [
      "KeyUnsupported",
      secretData(makeCertificate({ keyType: "rsa1024" }).certificate),
      "an RSA key of 1024 bits is too small; 2048 bits are the least",
    ],
  ])("%s: %#", (reason, data, message) => {
    const secret = data && keepCertificateSecret({ data });
    expect(readSourceKey(secret, usual, nowMs)).toEqual({ type: "refused", reason, message });
  });

  test("an algorithm that does not go with the key is refused with those that would", () => {
    expect(read(secretData(good.certificate), { ...usual, algorithm: "RS256" })).toEqual({
      type: "refused",
      reason: "AlgorithmMismatch",
      message: "algorithm RS256 does not go with a P-256 key; ES256 would",
    });
  });
});
