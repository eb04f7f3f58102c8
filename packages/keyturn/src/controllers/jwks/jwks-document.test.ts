// The document: what is written is valid, and what is not valid is found out before it is written.
import { describe, expect, test } from "vitest";
import { makeCertificate } from "../../../test/certificates.ts";
import { readCertificateChain } from "./certificate-chain.ts";
import { parseCertificatePem } from "../certificate.ts";
import { entriesOfJwks, largestDocumentBytes, problemWithJwks, renderJwks } from "./jwks-document.ts";
import { type PublicJwk, publicJwkOf } from "./public-jwk.ts";

function key(kid: string): PublicJwk {
  const chain = readCertificateChain(parseCertificatePem(makeCertificate().certificate).certificates);
  if (!chain) throw new Error("the test's own certificate cannot be read");
  return publicJwkOf(chain, { kid, alg: "ES256" });
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
    ["the same kid twice", renderJwks([good, key("a")])],
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
    expect(problemWithJwks(text.padEnd(largestDocumentBytes))).toBeUndefined();
    expect(problemWithJwks(text.padEnd(largestDocumentBytes + 1))).toContain("1048576 bytes");
  });
});

describe("entriesOfJwks", () => {
  test("reads what others published as far as it can be used", () => {
    const original = { kid: "3c11eb5522c3f8b1", kty: "RSA", alg: "RS512", key_ops: ["verify"], x5c: ["AAAA"] };
    expect(entriesOfJwks(JSON.stringify({ keys: [original, { kid: "no certificate" }, 7] }))).toEqual([original]);
  });

  test.each(["", "{", "[]", "null", '{"keys":{}}'])("finds nothing in %j", (text) => {
    expect(entriesOfJwks(text)).toEqual([]);
  });
});
