// Certificates for tests, of every kind of key and with any dates.
import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { signCertificate } from "@keyturn/runtime/testing";
import pool from "./certificate-pool.json" with { type: "json" };

/** What a test can ask for. */
export type TestKeyType = "rsa1024" | "rsa2048" | "rsa3072" | "p256" | "p384" | "p521" | "secp256k1" | "ed25519" | "ed448";

/** A certificate in PEM with the private key it is for. */
export interface TestCertificate {
  readonly commonName: string;
  readonly certificate: string;
  readonly privateKey: KeyObject;
}

/** All optional: a P-256 key of its own, self-signed, valid from 2020 to 2049. */
interface CertificateOptions {
  readonly commonName?: string;
  /** A private key to certify; absent for a new one of type `keyType`. */
  readonly privateKey?: KeyObject;
  readonly keyType?: TestKeyType;
  readonly issuer?: TestCertificate;
  readonly notBeforeMs?: number;
  readonly notAfterMs?: number;
}

/** Makes a certificate. No two are alike, even for the same key and dates. */
export function makeCertificate(options: CertificateOptions = {}): TestCertificate {
  const { commonName = "test", issuer, notBeforeMs = Date.UTC(2020, 0), notAfterMs = Date.UTC(2049, 0) } = options;
  const privateKey = options.privateKey ?? keyMakers[options.keyType ?? "p256"]();
  const certificate = signCertificate(issuer?.privateKey ?? privateKey, {
    issuer: issuer?.commonName ?? commonName,
    subject: commonName,
    publicKey: createPublicKey(privateKey).export({ type: "spki", format: "der" }),
    notBeforeMs,
    notAfterMs,
  });
  return { commonName, certificate, privateKey };
}

/** The same key every time, with two certificates: a story that is told again must not depend on the keys of the day, or on their length. */
export function fixedCertificates(keyType: keyof typeof pool, index: number): readonly [TestCertificate, TestCertificate] {
  const { certificates, privateKey } = pool[keyType][index] ?? {};
  const [first, second] = certificates ?? [];
  if (first === undefined || second === undefined || privateKey === undefined) throw new Error(`certificate-pool.json has no ${keyType} ${index}`);
  const of = (certificate: string): TestCertificate => ({ commonName: "test", certificate, privateKey: createPrivateKey(privateKey) });
  return [of(first), of(second)];
}

/** A Secret's `data` as cert-manager would fill it. */
export function secretData(certificate: string, privateKey?: KeyObject): Record<string, string> {
  const key = privateKey?.export({ type: "pkcs8", format: "pem" }).toString();
  return { "tls.crt": Buffer.from(certificate).toString("base64"), ...(key ? { "tls.key": Buffer.from(key).toString("base64") } : {}) };
}

const keyMakers: Readonly<Record<TestKeyType, () => KeyObject>> = {
  rsa1024: () => generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey,
  rsa2048: () => generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey,
  rsa3072: () => generateKeyPairSync("rsa", { modulusLength: 3072 }).privateKey,
  p256: () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
  p384: () => generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey,
  p521: () => generateKeyPairSync("ec", { namedCurve: "P-521" }).privateKey,
  secp256k1: () => generateKeyPairSync("ec", { namedCurve: "secp256k1" }).privateKey,
  ed25519: () => generateKeyPairSync("ed25519").privateKey,
  ed448: () => generateKeyPairSync("ed448").privateKey,
};
