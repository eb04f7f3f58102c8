// X.509 certificates: an authority of one's own, and certificates that it signs. Node can read certificates but not make them.
import { Buffer } from "node:buffer";
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIPv4 } from "node:net";
import { type Clock, systemClock } from "./clock.ts";

// A writer of DER (ITU-T X.690): just what a certificate is made of.

const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  sequence: 0x30,
  set: 0x31,
} as const;

/** One element: tag, length, content. */
export function element(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
}

/** An ordered collection. */
export const sequence = (...items: readonly Uint8Array[]): Buffer => element(tags.sequence, ...items);

/** A collection of one item; DER would have to sort more. */
const setOf = (item: Uint8Array): Buffer => element(tags.set, item);

/** True; false is the default everywhere we write one, and DER leaves defaults out. */
const trueValue: Buffer = element(tags.boolean, Buffer.from([0xff]));

/** A non-negative integer, given in big-endian bytes. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first < 0 ? Buffer.from([0]) : Buffer.from(bytes.subarray(first));
  const padded = (digits[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : digits;
  return element(tags.integer, padded);
}

/** Whole bytes as a bit string, or flags of which the last `unusedBits` do not count. */
const bitString = (bytes: Uint8Array, unusedBits = 0): Buffer => element(tags.bitString, Buffer.from([unusedBits]), bytes);

/** Bytes, as an element of DER. */
export const octetString = (bytes: Uint8Array): Buffer => element(tags.octetString, bytes);

const utf8String = (text: string): Buffer => element(tags.utf8String, Buffer.from(text, "utf8"));

/** A time to the second, between 1950 and 2049. */
function utcTime(timeMs: number): Buffer {
  const digits = new Date(timeMs).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return element(tags.utcTime, Buffer.from(digits.slice(2), "ascii"));
}

/** An object identifier in dotted form. */
export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return element(tags.objectIdentifier, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** Context-specific tag `number` around whole elements. */
export const explicit = (number: number, content: Uint8Array): Buffer => element(0xa0 | number, content);

/** Context-specific tag `number` in place of the element's own. */
const implicit = (number: number, content: Uint8Array): Buffer => element(0x80 | number, content);

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function base128(value: number): number[] {
  const digits = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) digits.unshift((rest % 128) | 0x80);
  return digits;
}

// An authority, and server and client certificates that it signs.

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
interface Validity {
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
  sha256WithRsa: "1.2.840.113549.1.1.11",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  ed25519: "1.3.101.112",
  ed448: "1.3.101.113",
};

const hourMs = 3_600_000;

/** Makes a self-signed authority with a new key. */
export function createAuthority(commonName: string, validity: Validity = {}): Authority {
  const keys = newKeys();
  const signer = createPrivateKey(keys.privateKey);
  const certificate = signCertificate(signer, {
    issuer: commonName,
    subject: commonName,
    publicKey: keys.publicKey,
    ...timesOf(validity),
    // keyCertSign and cRLSign are bits 5 and 6.
    extensions: [
      extension(oids.basicConstraints, sequence(trueValue), true),
      extension(oids.keyUsage, bitString(Buffer.from([0b0000_0110]), 1), true),
      ...keyIdentifiers(keys.publicKey, signer),
    ],
  });
  return { commonName, certificate, privateKey: keys.privateKey };
}

/** Makes a new key and a certificate for it, signed by `authority`. */
export function issueCertificate(authority: Authority, request: CertificateRequest): KeyPair {
  const keys = newKeys();
  const signer = createPrivateKey(authority.privateKey);
  const usage = request.usage === "server" ? oids.serverAuth : oids.clientAuth;
  const certificate = signCertificate(signer, {
    issuer: authority.commonName,
    subject: request.commonName,
    organizations: request.usage === "client" ? request.organizations : [],
    publicKey: keys.publicKey,
    ...timesOf(request),
    extensions: [
      // digitalSignature is bit 0.
      extension(oids.keyUsage, bitString(Buffer.from([0b1000_0000]), 7), true),
      extension(oids.extendedKeyUsage, sequence(objectIdentifier(usage))),
      ...(request.usage === "server" ? [extension(oids.subjectAltName, sequence(...request.hosts.map(alternativeName)))] : []),
      ...keyIdentifiers(keys.publicKey, signer),
    ],
  });
  return { certificate, privateKey: keys.privateKey };
}

/** What a certificate says. */
export interface CertificateContent {
  /** The issuer's common name. */
  readonly issuer: string;
  /** The subject's common name. */
  readonly subject: string;
  readonly organizations?: readonly string[] | undefined;
  /** SubjectPublicKeyInfo in DER. */
  readonly publicKey: Uint8Array;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** In DER. Default none. */
  readonly extensions?: readonly Uint8Array[];
}

/** The certificate in PEM, signed with a key of any kind. No two are alike. */
export function signCertificate(signer: KeyObject, content: CertificateContent): string {
  const { issuer, subject, organizations, publicKey, notBeforeMs, notAfterMs, extensions = [] } = content;
  const { algorithm, digest } = signatureOf(signer);
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))), // version 3
    integer(randomBytes(16)),
    algorithm,
    nameOf(issuer),
    sequence(utcTime(notBeforeMs), utcTime(notAfterMs)),
    nameOf(subject, organizations),
    publicKey,
    ...(extensions.length > 0 ? [explicit(3, sequence(...extensions))] : []),
  );
  const lines = sequence(body, algorithm, bitString(sign(digest, body, signer)))
    .toString("base64")
    .replaceAll(/.{1,64}/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`;
}

function signatureOf({ asymmetricKeyType }: KeyObject): { readonly algorithm: Buffer; readonly digest: "sha256" | null } {
  // RSA's parameters are an explicit NULL.
  if (asymmetricKeyType === "rsa") return { algorithm: sequence(objectIdentifier(oids.sha256WithRsa), element(0x05)), digest: "sha256" };
  if (asymmetricKeyType === "ec") return { algorithm: sequence(objectIdentifier(oids.ecdsaWithSha256)), digest: "sha256" };
  return { algorithm: sequence(objectIdentifier(asymmetricKeyType === "ed25519" ? oids.ed25519 : oids.ed448)), digest: null };
}

function timesOf({ clock = systemClock, notBeforeInMs = -hourMs, notAfterInMs = 10 * 365 * 24 * hourMs }: Validity): {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
} {
  const nowMs = clock.now();
  return { notBeforeMs: nowMs + notBeforeInMs, notAfterMs: nowMs + notAfterInMs };
}

/** Strict verifiers insist on these, and they keep authorities of the same name apart. */
function keyIdentifiers(publicKey: Buffer, signer: KeyObject): readonly Buffer[] {
  const digest = (key: Buffer): Buffer => createHash("sha1").update(key).digest();
  const signerPublicKey = createPublicKey(signer).export({ type: "spki", format: "der" });
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
