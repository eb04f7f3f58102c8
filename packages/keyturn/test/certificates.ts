// Certificates for tests, of every kind of key and with any dates: Node can read certificates but not make them.
import { Buffer } from "node:buffer";
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { bitString, element, explicit, integer, objectIdentifier, sequence, setOf, utcTime, utf8String } from "../../runtime/src/testing/x509/der.ts";

/** What a test can ask for. */
export type TestKeyType = "rsa1024" | "rsa2048" | "rsa3072" | "p256" | "p384" | "p521" | "secp256k1" | "ed25519" | "ed448";

/** A certificate in PEM with the private key it is for. */
export interface TestCertificate {
  readonly commonName: string;
  readonly certificate: string;
  readonly privateKey: KeyObject;
}

/** All optional: a P-256 key of its own, self-signed, valid from 2020 to 2049. */
export interface CertificateOptions {
  readonly commonName?: string;
  /** A private key to certify; absent for a new one of type `keyType`. */
  readonly privateKey?: KeyObject;
  readonly keyType?: TestKeyType;
  readonly issuer?: TestCertificate;
  readonly notBeforeMs?: number;
  readonly notAfterMs?: number;
}

let serial = 0;

/** Makes a certificate. No two are alike, even for the same key and dates. */
export function makeCertificate(options: CertificateOptions = {}): TestCertificate {
  const { commonName = "test", issuer, notBeforeMs = Date.UTC(2020, 0), notAfterMs = Date.UTC(2049, 0) } = options;
  const privateKey = options.privateKey ?? keyMakers[options.keyType ?? "p256"]();
  const signer = issuer?.privateKey ?? privateKey;
  const algorithm = sequence(...algorithmOf(signer));
  serial += 1;
  const body = sequence(
    explicit(0, integer(bytesOf(2))),
    integer(bytesOf(serial)),
    algorithm,
    nameOf(issuer?.commonName ?? commonName),
    sequence(utcTime(notBeforeMs), utcTime(notAfterMs)),
    nameOf(commonName),
    createPublicKey(privateKey).export({ type: "spki", format: "der" }),
  );
  const signature = sign(signer.asymmetricKeyType === "ed25519" || signer.asymmetricKeyType === "ed448" ? null : "sha256", body, signer);
  const der = sequence(body, algorithm, bitString(signature));
  return { commonName, certificate: pemOf(der), privateKey };
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

/** SHA-256 with RSA, ECDSA with SHA-256, and the EdDSA algorithms, by object identifier. */
function algorithmOf({ asymmetricKeyType }: KeyObject): readonly Buffer[] {
  if (asymmetricKeyType === "rsa") return [objectIdentifier("1.2.840.113549.1.1.11"), element(0x05)];
  if (asymmetricKeyType === "ec") return [objectIdentifier("1.2.840.10045.4.3.2")];
  return [objectIdentifier(asymmetricKeyType === "ed25519" ? "1.3.101.112" : "1.3.101.113")];
}

function nameOf(commonName: string): Buffer {
  return sequence(setOf(sequence(objectIdentifier("2.5.4.3"), utf8String(commonName))));
}

/** In four bytes, big-endian. */
function bytesOf(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function pemOf(der: Buffer): string {
  return `-----BEGIN CERTIFICATE-----\n${der.toString("base64").replaceAll(/.{1,64}/g, "$&\n")}-----END CERTIFICATE-----\n`;
}
