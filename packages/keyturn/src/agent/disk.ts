// The few things that the agent does to a disk, so that tests can make each of them fail.
import { link, mkdir, open, readdir, readFile, readlink, rename, rm, symlink } from "node:fs/promises";

/** A disk. Every method rejects with Node's own error (`ENOSPC`, `EROFS`, …) when the disk does. */
export interface Disk {
  /** Makes a folder that only its owner may enter, and those above it; no error if it is there. */
  makeFolder(path: string): Promise<void>;
  /** Writes a file that does not exist yet. Resolves when its content is on the disk and not merely on its way there. */
  writeNew(path: string, content: string | Uint8Array, mode: number): Promise<void>;
  /** Gives a file a second name. */
  link(existing: string, path: string): Promise<void>;
  symlink(target: string, path: string): Promise<void>;
  /** Moves a file or link over another, in one step. */
  rename(from: string, to: string): Promise<void>;
  /** Resolves when the names in a folder are on the disk. */
  flushFolder(path: string): Promise<void>;
  read(path: string): Promise<Buffer>;
  /** The names in a folder; none if there is no such folder. */
  list(path: string): Promise<readonly string[]>;
  /** What a symbolic link points to; undefined if there is none. */
  readLink(path: string): Promise<string | undefined>;
  /** Removes a file, link or folder with everything in it; no error if there is none. */
  remove(path: string): Promise<void>;
}

/** The machine's own disk. */
export const systemDisk: Disk = {
  async makeFolder(path) {
    await mkdir(path, { recursive: true, mode: 0o700 });
  },
  async writeNew(path, content, mode) {
    const file = await open(path, "wx", mode);
    try {
      // The mode given to open is subject to the process's umask.
      await file.chmod(mode);
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
  },
  link,
  async symlink(target, path) {
    await symlink(target, path);
  },
  rename,
  async flushFolder(path) {
    const folder = await open(path, "r");
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  },
  read: (path) => readFile(path),
  async list(path) {
    return (await orAbsent(readdir(path), "ENOENT")) ?? [];
  },
  // EINVAL: there is something, and it is no link.
  readLink: (path) => orAbsent(readlink(path), "ENOENT", "EINVAL"),
  async remove(path) {
    await rm(path, { recursive: true, force: true });
  },
};

/** Replaces a file as a whole: whoever reads it sees the old content or the new one, also after a crash. */
export async function replaceFile(disk: Disk, path: string, { content, mode }: { readonly content: string; readonly mode: number }): Promise<void> {
  const temporary = `${path}.new`;
  // What a crash has left behind.
  await disk.remove(temporary);
  await disk.writeNew(temporary, content, mode);
  await disk.rename(temporary, path);
}

/** Node's code of an error, such as `ENOSPC`; undefined if it has none. */
export function errorCodeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  return typeof code === "string" ? code : undefined;
}

async function orAbsent<T>(work: Promise<T>, ...codes: readonly string[]): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (codes.includes(errorCodeOf(error) ?? "")) return undefined;
    throw error;
  }
}
