// Finds the certificates in PEM text, whatever stands around them.

/** What PEM text holds. */
export interface CertificatePem {
  /** Each certificate's DER in base64 without white space, in the order of the text. Nothing says yet that they can be read. */
  readonly certificates: readonly string[];
  /** A certificate begins in the text and does not end: the text was cut off or damaged. */
  readonly unfinished: boolean;
}

/** RFC 7468: base64 between two marks; text before, between and after the blocks is explanatory and does not count. */
const block = /-----BEGIN (X509 )?CERTIFICATE-----([A-Za-z0-9+/=\s]*)-----END \1?CERTIFICATE-----/g;
const beginning = /-----BEGIN (?:X509 )?CERTIFICATE-----/g;

/** Takes the certificates out of PEM text. Blocks of other kinds (keys, parameters) are passed over and nothing of them is kept. */
export function parseCertificatePem(text: string): CertificatePem {
  const certificates = Array.from(text.matchAll(block), ([, , base64 = ""]) => base64.replaceAll(/\s+/g, ""));
  return { certificates, unfinished: (text.match(beginning)?.length ?? 0) > certificates.length };
}
