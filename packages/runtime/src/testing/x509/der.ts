// A writer of DER (ITU-T X.690): just what a certificate is made of.
import { Buffer } from "node:buffer";

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
export const setOf = (item: Uint8Array): Buffer => element(tags.set, item);

/** True; false is the default everywhere we write one, and DER leaves defaults out. */
export const trueValue: Buffer = element(tags.boolean, Buffer.from([0xff]));

/** A non-negative integer, given in big-endian bytes. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first < 0 ? Buffer.from([0]) : Buffer.from(bytes.subarray(first));
  const padded = (digits[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : digits;
  return element(tags.integer, padded);
}

/** Whole bytes as a bit string, or flags of which the last `unusedBits` do not count. */
export const bitString = (bytes: Uint8Array, unusedBits = 0): Buffer => element(tags.bitString, Buffer.from([unusedBits]), bytes);

export const octetString = (bytes: Uint8Array): Buffer => element(tags.octetString, bytes);

export const utf8String = (text: string): Buffer => element(tags.utf8String, Buffer.from(text, "utf8"));

/** A time to the second, between 1950 and 2049. */
export function utcTime(timeMs: number): Buffer {
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
export const implicit = (number: number, content: Uint8Array): Buffer => element(0x80 | number, content);

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
