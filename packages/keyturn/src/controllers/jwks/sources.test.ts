// What enters the cache of a Secret, and above all what does not.
import { Buffer } from "node:buffer";
import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { makeCertificate, secretData, type TestCertificate } from "../../../test/certificates.ts";
import { parseCertificatePem } from "../../certificate.ts";
import { limits } from "../../limits.ts";
import { keepCertificateSecret, readCertificateChain } from "../../public-key.ts";
import { PassedStates, readSourceKey, type SourceSettings } from "./sources.ts";

const own = makeCertificate();
const other = makeCertificate();
/** An RSA key like any other, but for the halves of its pair: what checks is as long as what signs usually is. */
function keyWithLongExponent(): KeyObject {
  const jwk = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });
  const numberOf = (text = ""): bigint => BigInt(`0x${Buffer.from(text, "base64url").toString("hex")}`);
  const textOf = (value: bigint): string => {
    const hex = value.toString(16);
    return Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex").toString("base64url");
  };
  const [e, d, p, q] = [jwk.d, jwk.e, jwk.p, jwk.q].map(numberOf);
  if (e === undefined || d === undefined || p === undefined || q === undefined) throw new Error("not an RSA key");
  const key = { ...jwk, e: textOf(e), d: textOf(d), dp: textOf(d % (p - 1n)), dq: textOf(d % (q - 1n)) };
  return createPrivateKey({ key, format: "jwk" });
}

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
    const bytes = limits.certificateBytes + 1;
    expect(keepCertificateSecret({ data: secretData("x".repeat(bytes)) })).toEqual({ type: "tooLarge", entry: "tls.crt", bytes });
  });
});

// PEM text to chain: what is found, what is passed over, and where a chain ends.

const root = makeCertificate({ commonName: "root" });
const issuing = makeCertificate({ commonName: "issuing", issuer: root });
const leaf = makeCertificate({ commonName: "leaf", issuer: issuing });

const der = ({ certificate }: TestCertificate): string => new X509Certificate(certificate).raw.toString("base64");
const read = (pem: string) => readCertificateChain(parseCertificatePem(pem).certificates)?.certificates;

describe("reading tls.crt", () => {
  test("takes the whole chain, the leaf first", () => {
    expect(read(leaf.certificate + issuing.certificate + root.certificate)).toEqual([leaf, issuing, root].map(der));
  });

  test.each([
    ["text before, between and after", `subject=/CN=leaf\n\nBag Attributes\n${leaf.certificate}\n--- next ---\n${issuing.certificate}the end`],
    ["CRLF line ends", (leaf.certificate + issuing.certificate).replaceAll("\n", "\r\n")],
    ["no line ends within", leaf.certificate.replaceAll(/(?<=[\w+/=])\n(?=[\w+/=])/g, "") + issuing.certificate],
    ["the older label", (leaf.certificate + issuing.certificate).replaceAll("CERTIFICATE", "X509 CERTIFICATE")],
    ["a private key in the same file", leaf.privateKey.export({ type: "pkcs8", format: "pem" }).toString() + leaf.certificate + issuing.certificate],
    ["100 kB of remarks", "# remark\n".repeat(11_000) + leaf.certificate + issuing.certificate],
  ])("reads a file with %s", (_name, pem) => {
    expect(read(pem)).toEqual([leaf, issuing].map(der));
  });

  test("a certificate whose date is none cannot be read", () => {
    const bytes = new X509Certificate(leaf.certificate).raw.toString("latin1");
    // The 99th month: OpenSSL reads such a certificate, and has no date for it.
    const dateless = Buffer.from(bytes.replace("490101000000Z", "499901000000Z"), "latin1").toString("base64");
    expect(readCertificateChain([der(leaf)])).toBeDefined();
    expect(readCertificateChain([dateless])).toBeUndefined();
  });

  test("keeps nothing of a private key that stands in the file", () => {
    const pem = leaf.privateKey.export({ type: "pkcs8", format: "pem" }).toString() + leaf.certificate;
    expect(parseCertificatePem(pem).certificates).toEqual([der(leaf)]);
  });

  test("ends the chain at a certificate that did not sign the one before", () => {
    const impostor = makeCertificate({ commonName: "issuing" });
    expect(read(leaf.certificate + root.certificate + issuing.certificate)).toEqual([der(leaf)]);
    expect(read(leaf.certificate + impostor.certificate)).toEqual([der(leaf)]);
    expect(read(leaf.certificate + issuing.certificate + root.certificate + root.certificate)).toEqual([leaf, issuing, root].map(der));
  });

  test("ends the chain at the last certificate of as many as are read", () => {
    let last = makeCertificate({ commonName: "0" });
    const chain = [last];
    for (let level = 1; level < limits.chainCertificates + 3; level++) {
      last = makeCertificate({ commonName: `${level}`, issuer: last });
      chain.unshift(last);
    }
    expect(read(chain.map(({ certificate }) => certificate).join(""))).toEqual(chain.slice(0, limits.chainCertificates).map(der));
  });

  test("ends the chain at an issuer whose signatures take as long to check as to make", () => {
    const slow = makeCertificate({ commonName: "slow", privateKey: keyWithLongExponent() });
    const signed = makeCertificate({ commonName: "signed", issuer: slow });
    const [first, issuer] = [new X509Certificate(signed.certificate), new X509Certificate(slow.certificate)];
    expect(first.verify(issuer.publicKey)).toBe(true);
    expect(read(signed.certificate + slow.certificate)).toEqual([der(signed)]);
  });

  test("ends the chain at a certificate that cannot be read", () => {
    const damaged = issuing.certificate.replace(/\n[\w+/]{8}/, "\nAAAAAAAA");
    expect(read(leaf.certificate + damaged + root.certificate)).toEqual([der(leaf)]);
  });

  test("a bundle of a hundred certificates of others gives the leaf alone", () => {
    const bundle = Array.from({ length: 100 }, () => root.certificate).join("");
    expect(read(leaf.certificate + bundle)).toEqual([der(leaf)]);
  });

  test.each([
    ["nothing", ""],
    ["garbage", Buffer.alloc(1000, 0xff).toString("latin1")],
    ["a block that is no certificate", "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n"],
    ["an empty block", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"],
    ["a damaged leaf before a good certificate", leaf.certificate.replace(/\n[\w+/]{8}/, "\nAAAAAAAA") + issuing.certificate],
  ])("finds no chain in %s", (_name, pem) => {
    expect(read(pem)).toBeUndefined();
  });

  test("distinguishes a file that was cut off from one without certificates", () => {
    expect(parseCertificatePem(leaf.certificate.slice(0, 200))).toEqual({ certificates: [], unfinished: true });
    expect(parseCertificatePem("hello")).toEqual({ certificates: [], unfinished: false });
  });

  test("knows the dates", () => {
    const notBeforeMs = Date.UTC(2026, 1, 3, 4, 5, 6);
    const notAfterMs = Date.UTC(2027, 1, 3, 4, 5, 6);
    const { certificate } = makeCertificate({ notBeforeMs, notAfterMs });
    expect(readCertificateChain(parseCertificatePem(certificate).certificates)).toMatchObject({ notBeforeMs, notAfterMs });
  });
});

// Every documented outcome of reading a Secret.

const nowMs = Date.UTC(2026, 0, 1);
const usual: SourceSettings = { keyId: "Thumbprint", algorithm: undefined, rsaAlgorithm: "RS256" };
const good = makeCertificate();
const readSourceKey_ = (data: Record<string, string>, settings = usual) => readSourceKey(keepCertificateSecret({ data }), settings, nowMs);
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
    expect(readSourceKey_(secretData(certificate, privateKey))).toMatchObject({ type: "key", key: { jwk: { kty, alg, use: "sig" } } });
  });

  test.each(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] as const)("an RSA key can be published for %s", (algorithm) => {
    expect(readSourceKey_(secretData(makeCertificate({ keyType: "rsa2048" }).certificate), { ...usual, algorithm })).toMatchObject({
      key: { jwk: { alg: algorithm } },
    });
  });

  test("a certificate that is not valid yet gives its key: it can be known before it signs", () => {
    const { certificate } = makeCertificate({ notBeforeMs: nowMs + 1000 });
    expect(readSourceKey_(secretData(certificate))).toMatchObject({ type: "key" });
  });

  test("a private key that is missing or unreadable is no blocker", () => {
    expect(readSourceKey_(secretData(good.certificate))).toMatchObject({ type: "key" });
    expect(readSourceKey_({ ...secretData(good.certificate), "tls.key": "AAAA" })).toMatchObject({ type: "key" });
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
    expect(readSourceKey_(secretData(good.certificate), { ...usual, algorithm: "RS256" })).toEqual({
      type: "refused",
      reason: "AlgorithmMismatch",
      message: "algorithm RS256 does not go with a P-256 key; ES256 would",
    });
  });
});

describe("what a source held between two runs", () => {
  const [site, signer] = ["shop/site", "shop/signer"];
  const mostBytes = 10_000;
  const remembering = (): PassedStates<string> => {
    const passed = new PassedStates<string>({ isNothing: (state) => state === "", mostBytes });
    passed.since(site, ["signer"]);
    return passed;
  };
  const seenBy = (passed: PassedStates<string>): { states: readonly string[]; missed: number } => {
    const { states = [], missed = 0 } = passed.since(site, ["signer"]).get("signer") ?? {};
    return { states, missed };
  };

  test("is remembered until a run that saw it has ended well, and what came since stays, also if it is the same", () => {
    const passed = remembering();
    for (const state of [undefined, "a", "", "b"]) passed.changed(signer, state, [site]);
    const seen = passed.since(site, ["signer"]);
    expect(seenBy(passed)).toEqual({ states: ["a", "b"], missed: 0 });
    passed.changed(signer, "c", [site]);
    passed.changed(signer, "a", [site]);
    passed.completed(site, seen);
    expect(seenBy(passed)).toEqual({ states: ["c", "a"], missed: 0 });
    passed.completed(site, passed.since(site, ["signer"]));
    expect(passed.since(site, ["signer"]).size).toBe(0);
  });

  test("is remembered once, however often the source goes to and fro", () => {
    const passed = remembering();
    for (let change = 0; change < 5 * limits.passedStates; change++) passed.changed(signer, `${change % 3}`, [site]);
    expect(seenBy(passed)).toEqual({ states: ["1", "2", "0"], missed: 0 });
  });

  test.each([
    ["many", limits.passedStates, 5, (state: number) => `${state}`],
    ["large", 9, 5, (state: number) => `${state} ${"x".repeat(1000)}`],
  ])("is counted where it is too much: %s", (_what, most, more, stateOf) => {
    const passed = remembering();
    for (let state = 0; state < most + more; state++) passed.changed(signer, stateOf(state), [site]);
    const { states, missed } = seenBy(passed);
    expect([states.length, missed, states.at(-1)]).toEqual([most, more, stateOf(most + more - 1)]);
    passed.completed(site, passed.since(site, ["signer"]));
    expect(passed.since(site, ["signer"]).size).toBe(0);
  });
});
