// Certificate to JWK: every kind of key, checked by using the JWK to verify a signature, and against the RFCs' own examples.
import { Buffer } from "node:buffer";
import { createHash, createPublicKey, sign, verify, X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { makeCertificate, type TestKeyType } from "../../../test/certificates.ts";
import { parseCertificatePem } from "../../certificate.ts";
import { type CertificateChain, readCertificateChain, keyUseOf, thumbprintOf } from "../../public-key.ts";
import { foreignEntryOf, rawEntriesOf, weaknessOf } from "./config-map.ts";
import { certifiedEntry, keyIdOf, maxDocumentBytes, problemWithJwks, type PublicJwk, renderJwks } from "./jwk.ts";

function chainOf(pem: string): CertificateChain {
  const chain = readCertificateChain(parseCertificatePem(pem).certificates);
  if (!chain) throw new Error("the test's own certificate cannot be read");
  return chain;
}

const kinds: readonly (readonly [TestKeyType, string, readonly string[]])[] = [
  ["rsa2048", "RSA", ["kty", "n", "e"]],
  ["rsa3072", "RSA", ["kty", "n", "e"]],
  ["p256", "P-256", ["kty", "crv", "x", "y"]],
  ["p384", "P-384", ["kty", "crv", "x", "y"]],
  ["p521", "P-521", ["kty", "crv", "x", "y"]],
  ["ed25519", "Ed25519", ["kty", "crv", "x"]],
];

describe("certifiedEntry", () => {
  test.each(kinds)("publishes a %s key with exactly the documented members", (keyType, expectedType, members) => {
    const { certificate, privateKey } = makeCertificate({ keyType });
    const chain = chainOf(certificate);
    const use = keyUseOf(chain.publicKey);
    expect(use).toMatchObject({ kind: expectedType });
    const { jwk } = certifiedEntry(chain, { kid: "k", alg: "algorithms" in use ? use.algorithms[0] : "RS256" });
    expect(Object.keys(jwk).sort()).toEqual([...members, "use", "alg", "kid", "x5c", "x5t", "x5t#S256"].sort());
    const signature = sign(null, Buffer.from("token"), privateKey);
    expect(verify(null, Buffer.from("token"), createPublicKey({ key: { ...jwk, x5c: [...(jwk.x5c ?? [])] }, format: "jwk" }), signature)).toBe(true);
  });

  test("x5c, x5t and x5t#S256 are of the certificate", () => {
    const root = makeCertificate({ commonName: "root" });
    const leaf = makeCertificate({ issuer: root });
    const { raw } = new X509Certificate(leaf.certificate);
    const { jwk } = certifiedEntry(chainOf(leaf.certificate + root.certificate), { kid: "k", alg: "ES256" });
    expect(jwk.x5c).toEqual([raw.toString("base64"), new X509Certificate(root.certificate).raw.toString("base64")]);
    expect(jwk.x5t).toBe(createHash("sha1").update(raw).digest("base64url"));
    expect(jwk["x5t#S256"]).toBe(createHash("sha256").update(raw).digest("base64url"));
  });
});

describe("keyIdOf", () => {
  test("the thumbprint is RFC 7638's for its example key", () => {
    const n =
      "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";
    expect(thumbprintOf({ kty: "RSA", n, e: "AQAB" })).toBe("NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
  });

  test("the thumbprint is RFC 8037's for its example key", () => {
    const x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    expect(thumbprintOf({ kty: "OKP", crv: "Ed25519", x })).toBe("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
  });

  test("the thumbprint stays when a certificate is renewed for the same key; the certificate's digest does not", () => {
    const first = makeCertificate();
    const renewed = makeCertificate({ privateKey: first.privateKey });
    const [before, after] = [chainOf(first.certificate), chainOf(renewed.certificate)];
    expect(keyIdOf(after, "Thumbprint")).toBe(keyIdOf(before, "Thumbprint"));
    expect(keyIdOf(after, "CertificateSHA1")).not.toBe(keyIdOf(before, "CertificateSHA1"));
  });

  test("the certificate's digest is the start of what openssl calls the SHA-1 fingerprint", () => {
    const { certificate } = makeCertificate();
    const fingerprint = new X509Certificate(certificate).fingerprint.replaceAll(":", "").toLowerCase();
    expect(keyIdOf(chainOf(certificate), "CertificateSHA1")).toBe(fingerprint.slice(0, 16));
  });
});

describe("keyUseOf", () => {
  test.each([
    ["rsa1024", "an RSA key of 1024 bits is too small; 2048 bits are the least"],
    ["secp256k1", "the curve secp256k1 is not one of P-256, P-384 and P-521"],
    ["ed448", "a key of type ed448 cannot be published; use RSA, EC or Ed25519"],
  ] as const)("refuses %s", (keyType, unsupported) => {
    expect(keyUseOf(chainOf(makeCertificate({ keyType }).certificate).publicKey)).toEqual({ unsupported });
  });
});

// The JWKS document: what is written is valid, and what is not valid is found out before it is written.

function key(kid: string): PublicJwk {
  const chain = readCertificateChain(parseCertificatePem(makeCertificate().certificate).certificates);
  if (!chain) throw new Error("the test's own certificate cannot be read");
  return certifiedEntry(chain, { kid, alg: "ES256" }).jwk;
}
const good = key("a");
const withKey = (changed: object): string => JSON.stringify({ keys: [{ ...good, ...changed }] });

describe("the JWKS document", () => {
  test("is JSON with the keys in their order, and passes its own check", () => {
    const text = renderJwks([good, key("b")]);
    expect(JSON.parse(text)).toMatchObject({ keys: [{ kid: "a" }, { kid: "b" }] });
    expect(problemWithJwks(text)).toBeUndefined();
    expect(problemWithJwks(renderJwks([]))).toBeUndefined();
  });

  test.each([
    ["no JSON", "{"],
    ["no JWKS", "[]"],
    ["a private member", withKey({ d: "AAAA" })],
    ["key_ops beside use", withKey({ key_ops: ["verify"] })],
    ["no kid", withKey({ kid: "" })],
    ["no certificate", withKey({ x5c: [] })],
    ["an unknown algorithm", withKey({ alg: "none" })],
    ["the same key twice", renderJwks([good, good])],
    ["a symmetric key", withKey({ kty: "oct", k: "AAAA" })],
    ["members of another kind of key", withKey({ n: "AAAA", e: "AQAB" })],
    ["too many bytes", renderJwks(Array.from({ length: 2000 }, (_, index) => ({ ...good, kid: `${index}` })))],
  ])("is refused with %s, without being quoted", (_name, text) => {
    const problem = problemWithJwks(text);
    expect(problem).toMatch(/^the document is /);
    expect(problem).not.toContain("AAAA");
  });

  test("a document just as large as a ConfigMap allows is fine", () => {
    const text = renderJwks([good]);
    expect(problemWithJwks(text.padEnd(maxDocumentBytes))).toBeUndefined();
    expect(problemWithJwks(text.padEnd(maxDocumentBytes + 1))).toContain("1048576 bytes");
  });
});

describe("a document of others", () => {
  const own = createPublicKey(makeCertificate().privateKey).export({ format: "jwk" });
  const small = createPublicKey(makeCertificate({ keyType: "rsa1024" }).privateKey).export({ format: "jwk" });

  test("gives keys under their own kid and alg, with and without certificates, of any size", () => {
    expect(foreignEntryOf({ ...own, kid: "one", alg: "ES256", key_ops: ["verify"] })).toMatchObject({ jwk: { kid: "one", alg: "ES256", x: own.x } });
    expect(foreignEntryOf({ ...small, kid: "two" })).toMatchObject({ jwk: { kid: "two", n: small.n }, notAfterMs: undefined });
    expect(foreignEntryOf(own)?.jwk.kid).toBe(foreignEntryOf(own)?.thumbprint);
    expect(foreignEntryOf({ ...good, x5c: [...(good.x5c ?? [])] })?.jwk).toEqual(good);
  });

  test("gives nothing that is secret, for something else or no key, and passes on no other member", () => {
    expect(foreignEntryOf({ kty: "oct", k: "AAAA", kid: "s" })).toBeUndefined();
    expect(foreignEntryOf({ ...own, use: "enc" })).toBeUndefined();
    expect(foreignEntryOf({ ...own, x: "AAAA" })).toBeUndefined();
    expect(foreignEntryOf({ ...own, alg: "ECDH-ES+A128KW" })).toBeUndefined();
    expect(foreignEntryOf({ ...own, key_ops: ["deriveBits"] })).toBeUndefined();
    expect(foreignEntryOf(7)).toBeUndefined();
    expect(foreignEntryOf({ ...own, d: "AAAA", alg: "none" })?.jwk).toEqual({ ...own, use: "sig", kid: expect.any(String) });
  });

  test("is what its numbers say: certificates for another key are no part of it", () => {
    expect(foreignEntryOf({ ...own, kid: "one", x5c: good.x5c })?.jwk).toEqual({ ...own, kid: "one", use: "sig" });
  });

  test("what Keyturn would not publish by itself is known", () => {
    const weakness = (raw: object): string | undefined => weaknessOf(foreignEntryOf(raw) ?? { jwk: good });
    expect([weakness(own), weakness(small), weaknessOf({ jwk: good })]).toEqual([
      "it has no certificate",
      "an RSA key of 1024 bits is too small; 2048 bits are the least",
      undefined,
    ]);
  });

  test.each(["", "{", "[]", "null", '{"keys":{}}'])("is none: %j", (text) => {
    expect(rawEntriesOf(text)).toBeUndefined();
  });
});
