// One Secret's files in a generation: written, copied, shared and verified.
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { contentDigestOf, servedEntries } from "../controllers/checksum/secret-id.ts";
import type { Disk } from "./disk.ts";

/** A Secret's files by name, such as `tls.crt`: what checksums cover, and nothing else. */
export type SecretFiles = Readonly<Record<string, Uint8Array>>;

/** The files that a Secret's `data` (base64) makes. */
export function filesOf(data: Readonly<Record<string, string>>): SecretFiles {
  return Object.fromEntries(servedEntries.flatMap((name) => (data[name] === undefined ? [] : [[name, Buffer.from(data[name], "base64")]])));
}

/** The digest of files, by the same rule as that of the Secret they came from. */
export function digestOfFiles(files: SecretFiles): string {
  return contentDigestOf(Object.fromEntries(Object.entries(files).map(([name, content]) => [name, Buffer.from(content).toString("base64")])));
}

/** The files in a folder if they are what the digest says; undefined if any is missing, torn, edited, unreadable or too many. */
export async function readSecretFolder(disk: Disk, path: string, digest: string): Promise<SecretFiles | undefined> {
  try {
    const names = await disk.list(path);
    if (names.some((name) => !servedEntries.some((served) => served === name))) return undefined;
    const files: Record<string, Uint8Array> = {};
    for (const name of names) files[name] = await disk.read(join(path, name));
    return digestOfFiles(files) === digest ? files : undefined;
  } catch {
    // Whatever hinders reading: these files are of no use, and there may be others that are.
    return undefined;
  }
}

/** Writes files into a new folder. Only the owner can read the private key. */
export async function writeSecretFolder(disk: Disk, path: string, files: SecretFiles): Promise<void> {
  await disk.makeFolder(path);
  for (const [name, content] of Object.entries(files)) await disk.writeNew(join(path, name), content, name === "tls.key" ? 0o600 : 0o644);
  await disk.flushFolder(path);
}

/** Makes a new folder that shares the files of another. They are on the disk already; should the new names be lost in a crash, the manifest tells. */
export async function shareSecretFolder(disk: Disk, from: string, to: string): Promise<void> {
  await disk.makeFolder(to);
  for (const name of await disk.list(from)) await disk.link(join(from, name), join(to, name));
}
