// One copy of each short string that comes again and again: namespaces, label keys, types.

const slots = 4096;
const longest = 64;

/**
 * Reads short strings from bytes and gives the same string object for the same bytes. Bounded: a slot taken by another string is taken over,
 * which costs a second copy and nothing else.
 */
export class InternedStrings {
  readonly #table: (string | undefined)[] = Array.from({ length: slots });

  read(bytes: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length === 0) return "";
    if (length > longest) return bytes.toString("utf8", start, end);
    let hash = length;
    for (let at = start; at < end; at++) hash = (Math.imul(hash, 31) + (bytes[at] ?? 0)) | 0;
    const slot = (hash ^ (hash >>> 15)) & (slots - 1);
    const known = this.#table[slot];
    if (known !== undefined && equalsAscii(known, bytes, { start, end })) return known;
    const fresh = bytes.toString("utf8", start, end);
    this.#table[slot] = fresh;
    return fresh;
  }
}

/** False for any text beyond ASCII, whose UTF-8 bytes are not its char codes; such strings are just not shared. */
function equalsAscii(text: string, bytes: Buffer, { start, end }: { readonly start: number; readonly end: number }): boolean {
  if (text.length !== end - start) return false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code !== bytes[start + i] || code > 127) return false;
  }
  return true;
}
