// Private keys in every form that people have them in, and those that OpenSSL is not to see.
import { Buffer } from "node:buffer";
import { createPublicKey, X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { element, explicit, integer, objectIdentifier, octetString, sequence } from "@keyturn/runtime/testing";
import { makeCertificate } from "../test/certificates.ts";
import { isReadableAuthority, readCertificate, readPrivateKey, validityDatesOf } from "./certificate.ts";
import { limits } from "./limits.ts";

const encoded = (text: string): string => Buffer.from(text).toString("base64");
const pemOf = (label: string, der: Buffer): string => `-----BEGIN ${label}-----\n${der.toString("base64")}\n-----END ${label}-----\n`;
const rsa = makeCertificate({ keyType: "rsa2048" }).privateKey;
const ec = makeCertificate({ keyType: "p256" }).privateKey;
const sec1 = ec.export({ type: "sec1", format: "pem" }).toString();

test("dates are those of the certificate, and none where OpenSSL cannot read them", () => {
  const { certificate } = makeCertificate();
  const read = new X509Certificate(certificate);
  expect(validityDatesOf(read)).toEqual({ notBeforeMs: read.validFromDate.getTime(), notAfterMs: read.validToDate.getTime() });
  expect(validityDatesOf({ validFrom: read.validFrom, validTo: "Bad time value" })).toBeUndefined();
});

describe("a private key is read", () => {
  test.each(["rsa2048", "p256", "p384", "p521", "secp256k1", "ed25519", "ed448"] as const)("of type %s", (keyType) => {
    const { privateKey } = makeCertificate({ keyType });
    const read = readPrivateKey(encoded(privateKey.export({ type: "pkcs8", format: "pem" }).toString()));
    expect(read?.equals(privateKey)).toBe(true);
  });

  test.each([
    ["RSA in its own form", rsa, rsa.export({ type: "pkcs1", format: "pem" }).toString()],
    ["EC in its own form", ec, sec1],
    ["EC after its parameters, as `openssl ecparam -genkey` writes it", ec, pemOf("EC PARAMETERS", objectIdentifier("1.2.840.10045.3.1.7")) + sec1],
    ["with a label that is not its own", ec, pemOf("RSA PRIVATE KEY", ec.export({ type: "pkcs8", format: "der" }))],
    ["after a certificate", ec, makeCertificate().certificate + sec1],
    ["with line ends of Windows", ec, sec1.replaceAll("\n", "\r\n")],
  ])("%s", (_what, key, pem) => {
    expect(readPrivateKey(encoded(pem))?.equals(key)).toBe(true);
  });
});

/** A number of RSA's of so many bits. OpenSSL reads a key whose numbers do not belong together. */
const rsaKey = (bits: number): Buffer =>
  sequence(integer(Buffer.from([0])), ...Array.from({ length: 8 }, (_, index) => integer(Buffer.alloc(index === 0 ? Math.ceil(bits / 8) : 9, 0xff))));

test("an RSA key of 16,384 bits is read", () => {
  expect(readPrivateKey(encoded(pemOf("RSA PRIVATE KEY", rsaKey(16_384))))?.asymmetricKeyDetails?.modulusLength).toBe(16_384);
});

describe("a private key is not read", () => {
  const one = integer(Buffer.from([1]));
  const p256 = objectIdentifier("1.2.840.10045.3.1.7");
  const padded = (value: number): Buffer => Buffer.concat([Buffer.alloc(81), Buffer.from([value])]);
  // y² = x³ + 3 with the point (1, 2), said to have the order 7. OpenSSL reduces no scalar by so small an order: 23,000 bytes take a second or more.
  const ownCurve = sequence(
    one,
    sequence(objectIdentifier("1.2.840.10045.1.1"), integer(Buffer.alloc(82, 0xff))),
    sequence(octetString(padded(0)), octetString(padded(3))),
    octetString(Buffer.concat([Buffer.from([4]), padded(1), padded(2)])),
    integer(Buffer.from([7])),
  );
  const ecKey = (bytes: number, ...parameters: readonly Buffer[]): Buffer => sequence(one, octetString(Buffer.alloc(bytes, 0x7f)), ...parameters);
  const pkcs8 = (oid: string, parameters: Buffer, key: Buffer): Buffer =>
    sequence(integer(Buffer.from([0])), sequence(objectIdentifier(oid), parameters), octetString(key));
  const [ecId, rsaId] = ["1.2.840.10045.2.1", "1.2.840.113549.1.1.1"] as const;
  test.each([
    ["of a curve of its own", ecKey(23_000, explicit(0, ownCurve))],
    ["of a curve of its own, however short", ecKey(32, explicit(0, ownCurve))],
    ["of a curve of its own in PKCS#8", pkcs8(ecId, ownCurve, ecKey(23_000))],
    ["of a curve of its own within a named one", pkcs8(ecId, p256, ecKey(23_000, explicit(0, ownCurve)))],
    [
      "of a curve of its own behind a tag in its long form",
      ecKey(23_000, Buffer.concat([Buffer.from([0xbf, 0x00]), explicit(0, ownCurve).subarray(1)])),
    ],
    ["of a named curve with too long a number", ecKey(73, explicit(0, p256))],
    ["of a named curve with too long a number in PKCS#8", pkcs8(ecId, p256, ecKey(73))],
    ["of RSA with more than 16,384 bits", rsaKey(16_392)],
    ["of RSA with more than 16,384 bits in PKCS#8", pkcs8(rsaId, element(0x05), rsaKey(16_392))],
    ["whose parts are longer than the whole", sequence(one, Buffer.from([0x04, 0x20, 0x01]))],
  ])("%s", (_what, der) => {
    expect(readPrivateKey(encoded(pemOf("PRIVATE KEY", der)))).toBeUndefined();
  });

  const number = integer(Buffer.alloc(64, 0xff));
  const exponential = (oid: string, ...parameters: readonly Buffer[]): Buffer =>
    sequence(integer(Buffer.from([0])), sequence(objectIdentifier(oid), sequence(...parameters)), octetString(number));
  const dsa = exponential("1.2.840.10040.4.1", number, number, number);
  test.each([
    ["of DSA, whose reading takes time with the cube of its size", pemOf("PRIVATE KEY", dsa)],
    ["of DSA under another label", pemOf("RSA PRIVATE KEY", dsa)],
    ["of Diffie-Hellman", pemOf("PRIVATE KEY", exponential("1.2.840.113549.1.3.1", number, number))],
    ["encrypted", ec.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "secret" }).toString()],
    ["a public key", createPublicKey(ec).export({ type: "spki", format: "pem" }).toString()],
    ["larger than any key is", "# remark\n".repeat(limits.privateKeyBytes / 9) + sec1],
    ["no PEM", "hello"],
    ["nothing", ""],
  ])("%s", (_what, pem) => {
    expect(readPrivateKey(encoded(pem))).toBeUndefined();
  });
});

test("a bundle of authorities is read with as many certificates as there can be, and not with one more", () => {
  const { certificate } = makeCertificate();
  const bundle = certificate.repeat(limits.authorityCertificates);
  expect(isReadableAuthority(encoded(bundle))).toBe(true);
  expect(isReadableAuthority(encoded(bundle + certificate))).toBe(false);
});

test("a certificate is not read if it is larger than any certificate is", () => {
  expect(readCertificate(Buffer.alloc(limits.certificateBytes + 1, 0x30))).toBeUndefined();
});
