// The one PEM and X.509 reader, linear, limited.
import { Buffer } from "node:buffer";
import { createPrivateKey, hash, type KeyObject, X509Certificate } from "node:crypto";
import { limits } from "./limits.ts";

// Certificates and private keys as anybody may write them into a Secret: one reader of PEM, and what is handed to OpenSSL.

/** Something that begins as a PEM block does. */
interface PemBlock {
  /** Such as `CERTIFICATE`. */
  readonly label: string;
  /** Its content without white space; undefined if it does not end as it begins, or holds what is no base64. */
  readonly base64: string | undefined;
}

const [begin, end, dashes] = ["-----BEGIN ", "-----END ", "-----"] as const;

/**
 * The blocks in PEM text (RFC 7468), in its order. Text around them does not count, nor do the headers of RFC 1421 that older tools write.
 *
 * Guarantees linear time, whatever the text: `at` only moves forward, from one run of five dashes to the next, and what lies between two of them
 * is looked at once, by expressions that cannot backtrack.
 */
export function* pemBlocks(text: string): Generator<PemBlock, void> {
  let at = text.indexOf(begin);
  while (at >= 0) {
    const labelAt = at + begin.length;
    at = text.indexOf(dashes, labelAt);
    if (at < 0) return;
    const label = text.slice(labelAt, at);
    // A label that another beginning cuts off is none.
    if (!/[-\n\r]/.test(label) && !text.startsWith(begin, at)) {
      const contentAt = at + dashes.length;
      at = text.indexOf(dashes, contentAt);
      const isWhole = at >= 0 && text.startsWith(end + label + dashes, at);
      yield { label, base64: isWhole ? base64Of(text.slice(contentAt, at)) : undefined };
      if (at < 0) return;
    }
    at = text.indexOf(begin, at);
  }
}

/** A block less headers and white space. Base64 has no colon, so what has one is headers, a line each. */
function base64Of(block: string): string | undefined {
  const content = block.trimStart();
  let bodyAt = 0;
  for (let colon = content.indexOf(":"); colon >= 0; colon = content.indexOf(":", bodyAt)) {
    if (!/^[\w-]+$/.test(content.slice(bodyAt, colon))) return undefined;
    bodyAt = content.indexOf("\n", colon) + 1;
    if (bodyAt === 0) return undefined;
  }
  const body = content.slice(bodyAt).replaceAll(/\s+/g, "");
  return /[^A-Za-z0-9+/=]/.test(body) ? undefined : body;
}

/** The certificates in PEM text. */
export interface CertificatePem {
  /** Each certificate's DER in base64 without white space, in the order of the text. Nothing says yet that they can be read. */
  readonly certificates: readonly string[];
  /** A certificate begins in the text and does not end: the text was cut off or damaged. */
  readonly unfinished: boolean;
}

/** Takes the certificates out of PEM text. Blocks of other kinds (keys, parameters) are passed over and nothing of them is kept. */
export function parseCertificatePem(text: string): CertificatePem {
  const found = Array.from(pemBlocks(text)).filter(({ label }) => label === "CERTIFICATE" || label === "X509 CERTIFICATE");
  const certificates = found.flatMap(({ base64 = [] }) => base64);
  return { certificates, unfinished: found.length > certificates.length };
}

/** The text of a Secret's entry (base64, as the API server sends it), unless it is larger than `maxBytes`. */
export function limitedText(encoded: string, maxBytes: number): string | undefined {
  return Buffer.byteLength(encoded, "base64") > maxBytes ? undefined : Buffer.from(encoded, "base64").toString("latin1");
}

/** The certificate with this DER. */
export function readCertificate(der: Uint8Array): X509Certificate | undefined {
  return der.length > limits.certificateBytes ? undefined : quietly(() => new X509Certificate(der));
}

/** True if a Secret's `ca.crt` (base64, as the API server sends it) holds certificates that can be read, not too many, and no block of anything else. */
export function isReadableAuthority(encoded: string): boolean {
  let count = 0;
  for (const { base64 } of pemBlocks(limitedText(encoded, limits.authorityBytes) ?? "")) {
    if (base64 === undefined) continue;
    if (count === limits.authorityCertificates || !readCertificate(Buffer.from(base64, "base64"))) return false;
    count++;
  }
  return count > 0;
}

/** When a certificate holds. */
interface ValidityDates {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/**
 * The dates of a certificate; undefined if one of them is none. They are read from OpenSSL's text: `validToDate` does not look whether OpenSSL could
 * read the date, and is whatever lay in memory if it could not (Node 24).
 */
export function validityDatesOf({ validFrom, validTo }: Pick<X509Certificate, "validFrom" | "validTo">): ValidityDates | undefined {
  const notBeforeMs = Date.parse(validFrom);
  const notAfterMs = Date.parse(validTo);
  return Number.isNaN(notBeforeMs) || Number.isNaN(notAfterMs) ? undefined : { notBeforeMs, notAfterMs };
}

/** The first private key in a Secret's `tls.key` (base64, as the API server sends it). Encrypted ones cannot be read. */
export function readPrivateKey(encoded: string): KeyObject | undefined {
  const { der, type } = privateKeyIn(limitedText(encoded, limits.privateKeyBytes) ?? "") ?? {};
  return der && type && quietly(() => createPrivateKey({ key: der, format: "der", type }));
}

function privateKeyIn(text: string): { readonly label: string; readonly der: Buffer; readonly type: PrivateKeyType | undefined } | undefined {
  for (const { label, base64 } of pemBlocks(text)) {
    if (base64 === undefined || !/(?:^| )PRIVATE KEY$/.test(label)) continue;
    const der = Buffer.from(base64, "base64");
    return { label, der, type: privateKeyTypeOf(der) };
  }
  return undefined;
}

/** True if servers that hand the files to OpenSSL find in them what we do: we forgive more in PEM text than it does, and heed no label. */
export function isReadByServers({ certificates, privateKey }: { readonly certificates: string; readonly privateKey: string }): boolean {
  const key = privateKeyIn(privateKey);
  return isPlainPem(certificates) && isPlainPem(privateKey) && key?.type !== undefined && keyLabels[key.type] === key.label;
}

const keyLabels: Readonly<Record<PrivateKeyType, string>> = { pkcs1: "RSA PRIVATE KEY", sec1: "EC PRIVATE KEY", pkcs8: "PRIVATE KEY" };

/** Every dash where it belongs: beginnings and ends of blocks on lines of their own, and nothing but base64 between the two. */
function isPlainPem(text: string): boolean {
  let open: string | undefined;
  for (const line of text.replace(/^\u00ef\u00bb\u00bf/, "").split("\n")) {
    const [, side, label] = /^-----(BEGIN|END) ([^-]+)-----\s*$/.exec(line) ?? [];
    if (side === "BEGIN" ? open !== undefined : side === "END" && label !== open) return false;
    if (side === undefined && (open === undefined ? line.includes(dashes) : !/^[A-Za-z0-9+/=]+\s*$/.test(line))) return false;
    if (side !== undefined) open = side === "BEGIN" ? label : undefined;
  }
  return open === undefined;
}

type PrivateKeyType = "pkcs1" | "sec1" | "pkcs8";

const [integerTag, octetStringTag, objectIdentifierTag, sequenceTag, parametersTag, publicKeyTag] = [0x02, 0x04, 0x06, 0x30, 0xa0, 0xa1] as const;

const { modulusBytes: maxModulusBytes, scalarBytes: maxScalarBytes } = limits;

/** Every kind of key that a certificate of a server or an issuer of tokens can have, and which of its keys OpenSSL reads in no time. */
const keyAlgorithms: Readonly<Record<string, (der: Buffer, key: DerElement, parameters: DerElement | undefined) => boolean>> = {
  // RSA, RSASSA-PSS, EC, Ed25519, Ed448
  "2a864886f70d010101": isUsualRsaKey,
  "2a864886f70d01010a": isUsualRsaKey,
  "2a8648ce3d0201": (der, key, parameters) => parameters?.tag === objectIdentifierTag && isUsualEcKey(der, key),
  "2b6570": () => true,
  "2b6571": () => true,
};

/**
 * The form of a private key, as its content says it: labels are often wrong, and OpenSSL does not heed them either. Undefined for keys that OpenSSL
 * must not see, because reading one computes its public key: of DSA or Diffie-Hellman that takes hours if the numbers in it are large enough, of a curve
 * that the key itself describes it takes seconds.
 */
function privateKeyTypeOf(der: Buffer): PrivateKeyType | undefined {
  const key = elementAt(der, 0, sequenceTag);
  const [version, second, third] = elementsIn(der, key);
  if (!key || version?.tag !== integerTag) return undefined;
  if (second?.tag === integerTag) return isUsualRsaKey(der, key) ? "pkcs1" : undefined;
  if (second?.tag === octetStringTag) return isUsualEcKey(der, key) ? "sec1" : undefined;
  if (second?.tag !== sequenceTag || third?.tag !== octetStringTag) return undefined;
  const [[algorithm, parameters], [wrapped]] = [elementsIn(der, second), elementsIn(der, third)];
  if (algorithm?.tag !== objectIdentifierTag || !wrapped) return undefined;
  const isUsual = keyAlgorithms[der.toString("hex", algorithm.contentAt, algorithm.endAt)];
  return isUsual?.(der, wrapped, parameters) ? "pkcs8" : undefined;
}

/** RFC 8017, A.1.2: the modulus is the second number, and may begin with a zero for its sign. */
function isUsualRsaKey(der: Buffer, key: DerElement): boolean {
  const [, modulus] = elementsIn(der, key);
  return modulus?.tag === integerTag && modulus.endAt - modulus.contentAt <= maxModulusBytes + 1;
}

/** RFC 5915: a number, then perhaps the curve, then perhaps the public key. The curve must be named. */
function isUsualEcKey(der: Buffer, key: DerElement): boolean {
  const [, scalar, next] = elementsIn(der, key);
  if (scalar?.tag !== octetStringTag || scalar.endAt - scalar.contentAt > maxScalarBytes) return false;
  return !next || next.tag === publicKeyTag || (next.tag === parametersTag && der[next.contentAt] === objectIdentifierTag);
}

interface DerElement {
  readonly tag: number;
  readonly contentAt: number;
  readonly endAt: number;
}

/** The element that begins there, with a definite length as DER has it. */
function elementAt(der: Buffer, at: number | undefined, wanted?: number): DerElement | undefined {
  const [tag, short] = at === undefined ? [] : der.subarray(at, at + 2);
  if (at === undefined || tag === undefined || short === undefined || (wanted !== undefined && tag !== wanted)) return undefined;
  const lengthBytes = short < 0x80 ? 0 : short - 0x80;
  const contentAt = at + 2 + lengthBytes;
  if (short === 0x80 || lengthBytes > 3 || contentAt > der.length) return undefined;
  const length = lengthBytes === 0 ? short : der.readUIntBE(at + 2, lengthBytes);
  return contentAt + length > der.length ? undefined : { tag, contentAt, endAt: contentAt + length };
}

/** What an element consists of; nothing if that is not whole elements alone. */
function elementsIn(der: Buffer, { contentAt, endAt }: Pick<DerElement, "contentAt" | "endAt"> = { contentAt: 0, endAt: 0 }): readonly DerElement[] {
  const elements: DerElement[] = [];
  for (let at = contentAt; at < endAt;) {
    const next = elementAt(der, at);
    if (!next || next.endAt > endAt) return [];
    elements.push(next);
    at = next.endAt;
  }
  return elements;
}

/** The elements that DER consists of, or that one of its elements does. */
export function derElementsIn(
  der: Buffer,
  element: Pick<DerElement, "contentAt" | "endAt"> = { contentAt: 0, endAt: der.length },
): readonly DerElement[] {
  return elementsIn(der, element);
}

function quietly<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    // What OpenSSL says about a key or certificate that it cannot read helps nobody and must not get into a log.
    return undefined;
  }
}

// The certificate that a Secret's id is made from: the first PEM block of `tls.crt`.

/** SHA-1 of the leaf's DER in lower-case hex, as `openssl x509 -fingerprint -sha1` prints it without colons; or why there is none. */
type LeafFingerprint =
  | { readonly ok: true; readonly sha1: string }
  | { readonly ok: false; readonly reason: "CertificateMissing" | "CertificateInvalid" | "KeyInvalid" | "KeyMismatch" };

/** The fingerprint of the leaf in a Secret's `tls.crt` (base64, as the API server sends it), provided that `tls.key` is its private key. */
export function leafFingerprintOf(encodedCertificate: string | undefined, encodedKey: string | undefined): LeafFingerprint {
  if (!encodedCertificate) return { ok: false, reason: "CertificateMissing" };
  const certificate = leafOf(encodedCertificate);
  if (!certificate) return { ok: false, reason: "CertificateInvalid" };
  const key = readPrivateKey(encodedKey ?? "");
  if (!key) return { ok: false, reason: "KeyInvalid" };
  if (!certificate.checkPrivateKey(key)) return { ok: false, reason: "KeyMismatch" };
  return { ok: true, sha1: hash("sha1", certificate.raw, "hex") };
}

/** The leaf in a `tls.crt`: the first whole block, if it is a certificate and nothing else. */
export function leafOf(encodedCertificate: string): X509Certificate | undefined {
  for (const { label, base64 } of pemBlocks(limitedText(encodedCertificate, limits.certificateBytes) ?? "")) {
    if (base64 === undefined) continue;
    const der = Buffer.from(base64, "base64");
    const certificate = label === "CERTIFICATE" ? readCertificate(der) : undefined;
    // What follows the certificate in its block would be part of the digest and of nothing else.
    return certificate?.raw.equals(der) ? certificate : undefined;
  }
  return undefined;
}
