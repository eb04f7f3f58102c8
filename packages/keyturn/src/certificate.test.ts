// Private keys in every form that people have them in, and those that OpenSSL is not to see.
import { Buffer } from "node:buffer";
import { createPublicKey } from "node:crypto";
import { describe, expect, test } from "vitest";
import { integer, objectIdentifier, octetString, sequence } from "@keyturn/runtime/testing";
import { makeCertificate } from "../test/certificates.ts";
import { certificateLimits, readCertificate, readPrivateKey } from "./certificate.ts";

const encoded = (text: string): string => Buffer.from(text).toString("base64");
const pemOf = (label: string, der: Buffer): string => `-----BEGIN ${label}-----\n${der.toString("base64")}\n-----END ${label}-----\n`;
const rsa = makeCertificate({ keyType: "rsa2048" }).privateKey;
const ec = makeCertificate({ keyType: "p256" }).privateKey;
const sec1 = ec.export({ type: "sec1", format: "pem" }).toString();

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

describe("a private key is not read", () => {
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
    ["larger than any key is", "# remark\n".repeat(certificateLimits.keyBytes / 9) + sec1],
    ["no PEM", "hello"],
    ["nothing", ""],
  ])("%s", (_what, pem) => {
    expect(readPrivateKey(encoded(pem))).toBeUndefined();
  });
});

test("a certificate is not read if it is larger than any certificate is", () => {
  expect(readCertificate(Buffer.alloc(certificateLimits.certificateBytes + 1, 0x30))).toBeUndefined();
});
