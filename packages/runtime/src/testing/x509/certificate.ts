// X.509 certificates for tests: an authority of one's own, and server and client certificates that it signs. Node can read certificates but not make them.
import { Buffer } from "node:buffer";
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { isIPv4 } from "node:net";
import { systemClock } from "../../clock.ts";
import type { Clock } from "../../clock.ts";
import { bitString, explicit, implicit, integer, objectIdentifier, octetString, sequence, setOf, trueValue, utcTime, utf8String } from "./der.ts";

/** A certificate and its private key, both in PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly privateKey: string;
}

/** A key pair that may sign other certificates. */
export interface Authority extends KeyPair {
  readonly commonName: string;
}

/** From when to when a certificate holds, relative to now. */
export interface Validity {
  /** Default one hour ago, so that clocks may differ. */
  readonly notBeforeInMs?: number;
  /** Default in ten years. */
  readonly notAfterInMs?: number;
  /** Default the system's clock. */
  readonly clock?: Clock;
}

/** What a certificate is for. */
export type CertificateRequest = Validity &
  (
    | { readonly usage: "server"; readonly commonName: string; /** DNS names and IPv4 addresses. */ readonly hosts: readonly string[] }
    /** For Kubernetes the common name is the user and the organizations are its groups. */
    | { readonly usage: "client"; readonly commonName: string; readonly organizations?: readonly string[] }
  );

const oids = {
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyIdentifier: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
};

const hourMs = 3_600_000;
const signatureAlgorithm = sequence(objectIdentifier(oids.ecdsaWithSha256));

/** Makes a self-signed authority with a new key. */
export function createAuthority(commonName: string, validity: Validity = {}): Authority {
  const keys = newKeys();
  const certificate = signed(keys.privateKey, {
    issuer: nameOf(commonName),
    subject: nameOf(commonName),
    publicKey: keys.publicKey,
    validity,
    // keyCertSign and cRLSign are bits 5 and 6.
    extensions: [
      extension(oids.basicConstraints, sequence(trueValue), true),
      extension(oids.keyUsage, bitString(Buffer.from([0b0000_0110]), 1), true),
    ],
  });
  return { commonName, certificate, privateKey: keys.privateKey };
}

/** Makes a new key and a certificate for it, signed by `authority`. */
export function issueCertificate(authority: Authority, request: CertificateRequest): KeyPair {
  const keys = newKeys();
  const usage = request.usage === "server" ? oids.serverAuth : oids.clientAuth;
  const certificate = signed(authority.privateKey, {
    issuer: nameOf(authority.commonName),
    subject: nameOf(request.commonName, request.usage === "client" ? request.organizations : []),
    publicKey: keys.publicKey,
    validity: request,
    extensions: [
      // digitalSignature is bit 0.
      extension(oids.keyUsage, bitString(Buffer.from([0b1000_0000]), 7), true),
      extension(oids.extendedKeyUsage, sequence(objectIdentifier(usage))),
      ...(request.usage === "server" ? [extension(oids.subjectAltName, sequence(...request.hosts.map(alternativeName)))] : []),
    ],
  });
  return { certificate, privateKey: keys.privateKey };
}

interface Unsigned {
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly publicKey: Buffer;
  readonly validity: Validity;
  readonly extensions: readonly Buffer[];
}

function signed(signerKey: string, { issuer, subject, publicKey, validity, extensions }: Unsigned): string {
  const now = (validity.clock ?? systemClock).now();
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))), // version 3
    integer(randomBytes(16)),
    signatureAlgorithm,
    issuer,
    sequence(utcTime(now + (validity.notBeforeInMs ?? -hourMs)), utcTime(now + (validity.notAfterInMs ?? 10 * 365 * 24 * hourMs))),
    subject,
    publicKey,
    explicit(3, sequence(...extensions, ...keyIdentifiers(publicKey, signerKey))),
  );
  const signature = sign("sha256", body, createPrivateKey(signerKey));
  const lines = sequence(body, signatureAlgorithm, bitString(signature))
    .toString("base64")
    .replaceAll(/.{1,64}/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`;
}

/** Strict verifiers insist on these, and they keep authorities of the same name apart. */
function keyIdentifiers(publicKey: Buffer, signerKey: string): readonly Buffer[] {
  const digest = (key: Buffer): Buffer => createHash("sha1").update(key).digest();
  const signerPublicKey = createPublicKey(signerKey).export({ type: "spki", format: "der" });
  return [
    extension(oids.subjectKeyIdentifier, octetString(digest(publicKey))),
    extension(oids.authorityKeyIdentifier, sequence(implicit(0, digest(signerPublicKey)))),
  ];
}

function newKeys(): { readonly publicKey: Buffer; readonly privateKey: string } {
  return generateKeyPairSync("ec", {
    namedCurve: "P-256",
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
}

function nameOf(commonName: string, organizations: readonly string[] = []): Buffer {
  const attribute = (oid: string, value: string): Buffer => setOf(sequence(objectIdentifier(oid), utf8String(value)));
  return sequence(...organizations.map((organization) => attribute(oids.organization, organization)), attribute(oids.commonName, commonName));
}

function extension(oid: string, value: Buffer, critical = false): Buffer {
  return sequence(objectIdentifier(oid), ...(critical ? [trueValue] : []), octetString(value));
}

function alternativeName(host: string): Buffer {
  return isIPv4(host) ? implicit(7, Buffer.from(host.split(".").map(Number))) : implicit(2, Buffer.from(host, "ascii"));
}
