// The few things that the agent does to a disk, so that tests can make each of them fail.
import type { Buffer } from "node:buffer";
import { constants, type Stats } from "node:fs";
import { dirname } from "node:path";
import { chmod, link, lstat, mkdir, open, readdir, readlink, rename, rm, symlink } from "node:fs/promises";
import { limits } from "../limits.ts";

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
  /** Resolves when the names in a folder, or the content of a file, are on the disk. */
  flush(path: string): Promise<void>;
  /** The content of a file. Rejects with `ELOOP` for a link, and with `EPERM` for what is no file, is huge, or belongs to somebody else than this user or root. */
  read(path: string): Promise<Buffer>;
  /** What there is, without following a link; undefined if there is nothing. */
  inspect(path: string): Promise<Inspected | undefined>;
  setMode(path: string, mode: number): Promise<void>;
  /** The names in a folder; none if there is no such folder. */
  list(path: string): Promise<readonly string[]>;
  /** What a symbolic link points to; undefined if there is none. */
  readLink(path: string): Promise<string | undefined>;
  /** Removes a file, link or folder with everything in it; no error if there is none. */
  remove(path: string): Promise<void>;
}

/** What is known of a path. */
interface Inspected {
  readonly type: "file" | "folder" | "link" | "other";
  /** Whether it belongs to this user or root. */
  readonly isOurs: boolean;
  /** The bits that say who may do what. */
  readonly mode: number;
}

/** The manifest of 100,000 Secrets has 30 MB; nothing that the agent reads is larger. */
const { agentFileBytes: maxFileBytes } = limits;

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
  async flush(path) {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  },
  async read(path) {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const found = await file.stat();
      if (!found.isFile() || !isOurs(found) || found.size > maxFileBytes)
        throw Object.assign(new Error(`EPERM: ${path} is no file of this user, or is huge`), { code: "EPERM" });
      return await file.readFile();
    } finally {
      await file.close();
    }
  },
  async inspect(path) {
    const found = await orAbsent(lstat(path), "ENOENT", "ENOTDIR");
    return found && { type: typeOf(found), isOurs: isOurs(found), mode: found.mode & 0o7777 };
  },
  setMode: chmod,
  async list(path) {
    return (await orAbsent(readdir(path), "ENOENT")) ?? [];
  },
  // EINVAL: there is something, and it is no link.
  readLink: (path) => orAbsent(readlink(path), "ENOENT", "EINVAL"),
  async remove(path) {
    await rm(path, { recursive: true, force: true });
  },
};

function typeOf(found: Stats): Inspected["type"] {
  if (found.isSymbolicLink()) return "link";
  return found.isDirectory() ? "folder" : found.isFile() ? "file" : "other";
}

function isOurs({ uid }: Stats): boolean {
  return uid === 0 || uid === process.geteuid?.();
}

/** Replaces a file as a whole: whoever reads it sees the old content or the new one, also after a crash. */
export async function replaceFile(disk: Disk, path: string, { content, mode }: { readonly content: string; readonly mode: number }): Promise<void> {
  const temporary = `${path}.new`;
  // What a crash has left behind.
  await disk.remove(temporary);
  await disk.writeNew(temporary, content, mode);
  await disk.rename(temporary, path);
  await disk.flush(dirname(path));
}

/** Node's code of an error, such as `ENOSPC`; undefined if it has none. */
export function errorCodeOf(error: unknown): string | undefined {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  return typeof code === "string" ? code : undefined;
}

/** Whether it failed for want of space, which goes once something is removed. */
export function isDiskFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes(errorCodeOf(error) ?? "");
}

async function orAbsent<T>(work: Promise<T>, ...codes: readonly string[]): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (codes.includes(errorCodeOf(error) ?? "")) return undefined;
    throw error;
  }
}
