// One Secret's files in a snapshot: written, copied, shared, verified, found.
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { contentDigestOf, servedEntries } from "../controllers/checksum/ids.ts";
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

/** The files in a folder if they are what the digest says; undefined if any is missing, torn, edited or unreadable, or if the folder is a link or somebody else's. */
export async function readSecretFolder(disk: Disk, path: string, digest: string): Promise<SecretFiles | undefined> {
  const files = await readAnySecretFolder(disk, path);
  return files && digestOfFiles(files) === digest ? files : undefined;
}

/** The same of whatever is there; undefined if there is nothing that a gateway could serve. */
export async function readAnySecretFolder(disk: Disk, path: string): Promise<SecretFiles | undefined> {
  try {
    const folder = await disk.inspect(path);
    if (folder?.type !== "folder" || !folder.isOurs) return undefined;
    const names = servedNames(await disk.list(path));
    const files: Record<string, Uint8Array> = {};
    for (const name of names) files[name] = await disk.read(join(path, name));
    return names.length > 0 ? files : undefined;
  } catch {
    // Whatever hinders reading: these files are of no use, and there may be others that are.
    return undefined;
  }
}

/** Writes files into a new folder. Only the owner can read the private key. */
export async function writeSecretFolder(disk: Disk, path: string, files: SecretFiles): Promise<void> {
  // What an attempt before has left.
  await disk.remove(path);
  await disk.makeFolder(path);
  for (const [name, content] of Object.entries(files)) await disk.writeNew(join(path, name), content, name === privateKey ? 0o600 : 0o644);
  await disk.flush(path);
}

/** Makes a new folder that shares the files of another. Its names are not flushed yet. */
export async function shareSecretFolder(disk: Disk, from: string, to: string): Promise<void> {
  await disk.makeFolder(to);
  for (const name of servedNames(await disk.list(from))) await disk.link(join(from, name), join(to, name));
}

/** Sees to it that what an attempt before has written is on the disk. */
export async function flushSecretFolder(disk: Disk, path: string): Promise<void> {
  for (const name of servedNames(await disk.list(path))) await disk.flush(join(path, name));
  await disk.flush(path);
}

/** Puts right what can be put right in place: who may read the key, and files that do not belong there. Says what it was, in words. */
export async function tidySecretFolder(disk: Disk, path: string, secret: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of await disk.list(path)) {
    if (servedEntries.some((served) => served === name)) continue;
    await disk.remove(join(path, name));
    found.push(`${secret}/${name} did not belong there and was removed`);
  }
  const key = await disk.inspect(join(path, privateKey));
  if (key?.type === "file" && (key.mode & 0o077) !== 0) {
    await disk.setMode(join(path, privateKey), 0o600);
    found.push(`${secret}/${privateKey} had mode ${key.mode.toString(8)}, so that others could read it; it has 600 again`);
  }
  return found;
}

const privateKey = "tls.key";

function servedNames(names: readonly string[]): readonly string[] {
  return names.filter((name) => servedEntries.some((served) => served === name));
}
