// A tar archive (ustar) whose bytes depend on nothing but its entries: no owners, no dates.
import { gzipSync } from "node:zlib";

/** A file, a folder or a symbolic link of an archive. */
export type ArchiveEntry =
  | {
      /** At most 100 bytes. Folders on the way are not made: name them before. */
      readonly name: string;
      readonly content: Uint8Array;
      /** Default false. */
      readonly executable?: boolean;
    }
  | {
      readonly name: string;
      /** The folder's mode. */
      readonly folderMode: number;
    }
  | {
      readonly name: string;
      /** What the link points to; at most 100 bytes. */
      readonly linkTo: string;
    };

const blockBytes = 512;
const nothing = new Uint8Array();

/** The archive. The same entries in the same order give the same bytes. */
export function tarArchive(entries: readonly ArchiveEntry[]): Uint8Array {
  const blocks = entries.flatMap((entry) => {
    const content = "content" in entry ? entry.content : nothing;
    return [headerOf(entry, content.byteLength), content, new Uint8Array((blockBytes - (content.byteLength % blockBytes)) % blockBytes)];
  });
  return Buffer.concat([...blocks, new Uint8Array(2 * blockBytes)]);
}

/** The same, compressed with gzip. */
export function compressedTarArchive(entries: readonly ArchiveEntry[]): Uint8Array {
  const archive = gzipSync(tarArchive(entries), { level: 9 });
  // The header's byte for the operating system that compressed it: unknown.
  archive[9] = 255;
  return archive;
}

function headerOf(entry: ArchiveEntry, bytes: number): Uint8Array {
  const { type, mode, target } = kindOf(entry);
  for (const path of [entry.name, target])
    if (Buffer.byteLength(path) > 100) throw new Error(`cannot archive ${path}: its name is longer than 100 bytes`);
  const header = Buffer.alloc(blockBytes);
  const put = (text: string, offset: number): void => void header.write(text, offset, "latin1");
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, "0")}\0`;
  header.write(entry.name, 0, "utf8");
  put(octal(mode, 7), 100);
  put(octal(0, 7), 108);
  put(octal(0, 7), 116);
  put(octal(bytes, 11), 124);
  put(octal(0, 11), 136);
  // The checksum is made as if it were spaces itself.
  put(`        ${type}`, 148);
  header.write(target, 157, "utf8");
  put("ustar\u000000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

function kindOf(entry: ArchiveEntry): { readonly type: "0" | "2" | "5"; readonly mode: number; readonly target: string } {
  if ("linkTo" in entry) return { type: "2", mode: 0o777, target: entry.linkTo };
  if ("folderMode" in entry) return { type: "5", mode: entry.folderMode, target: "" };
  return { type: "0", mode: entry.executable ? 0o755 : 0o644, target: "" };
}
