// A tar archive (ustar) whose bytes depend on nothing but its files: no owners, no dates.
import { gzipSync } from "node:zlib";

/** A file of an archive. */
export interface ArchivedFile {
  /** At most 100 bytes, without folders that would have to be made. */
  readonly name: string;
  readonly content: Uint8Array;
  readonly executable: boolean;
}

const blockBytes = 512;

/** The archive, compressed. The same files in the same order give the same bytes. */
export function tarArchive(files: readonly ArchivedFile[]): Uint8Array {
  const blocks = files.flatMap((file) => [
    headerOf(file),
    file.content,
    new Uint8Array((blockBytes - (file.content.byteLength % blockBytes)) % blockBytes),
  ]);
  const archive = gzipSync(Buffer.concat([...blocks, new Uint8Array(2 * blockBytes)]), { level: 9 });
  // The header's byte for the operating system that compressed it: unknown.
  archive[9] = 255;
  return archive;
}

function headerOf({ name, content, executable }: ArchivedFile): Uint8Array {
  if (Buffer.byteLength(name) > 100) throw new Error(`cannot archive ${name}: its name is longer than 100 bytes`);
  const header = Buffer.alloc(blockBytes);
  const put = (text: string, offset: number): void => void header.write(text, offset, "latin1");
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, "0")}\0`;
  header.write(name, 0, "utf8");
  put(octal(executable ? 0o755 : 0o644, 7), 100);
  put(octal(0, 7), 108);
  put(octal(0, 7), 116);
  put(octal(content.byteLength, 11), 124);
  put(octal(0, 11), 136);
  // The checksum is made as if it were spaces itself.
  put("        0", 148);
  put("ustar\u000000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}
