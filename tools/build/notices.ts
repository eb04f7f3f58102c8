// The licence texts of the packages that are in the bundle, which their licences ask to be passed on with it.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type LockFile, packageName } from "./lock-file.ts";

/** The notices as text, a part per package. Rejects if a package comes without the text of its licence. */
export async function renderNotices(root: string, lock: LockFile, folders: readonly string[]): Promise<string> {
  const parts = await Promise.all([...folders].sort().map((folder) => noticeOf(root, lock, folder)));
  const rule = "-".repeat(80);
  return ["Keyturn contains the following packages, each under its own licence.\n", ...parts].join(`\n${rule}\n\n`);
}

async function noticeOf(root: string, lock: LockFile, folder: string): Promise<string> {
  const entry = lock.packages[folder];
  const files = (await readdir(join(root, folder))).filter((name) => /^(licen[cs]e|notice|copying)(\.(md|txt))?$/i.test(name)).sort();
  if (files.length === 0) throw new Error(`collecting licences: ${folder} has no licence file; look for its licence, or do without the package`);
  const texts = await Promise.all(files.map((name) => readFile(join(root, folder, name), "utf8")));
  const heading = `${packageName(folder)} ${entry?.version} (${entry?.license})`;
  return `${heading}\n\n${texts.map((text) => text.replaceAll("\r\n", "\n").trim()).join("\n\n")}\n`;
}
