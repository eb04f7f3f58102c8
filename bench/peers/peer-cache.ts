// Keeps built peers between runs: a folder per content in the user's cache, filled whole or not at all.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/** What a peer is made from. */
export interface PeerSource {
  readonly name: string;
  readonly folder: string;
  readonly files: readonly string[];
}

/** The folder with what `fill` made of these sources; `fill` is called only when their content has not been seen before. */
export async function cachedPeer(source: PeerSource, fill: (folder: string) => Promise<void>): Promise<string> {
  const digest = createHash("sha256").update(JSON.stringify([process.platform, process.arch, process.version]));
  for (const file of source.files) digest.update(`\0${file}\0`).update(readFileSync(join(source.folder, file)));
  const cache = process.env["XDG_CACHE_HOME"] || join(process.env["HOME"] || homedir(), ".cache");
  const folder = join(cache, "keyturn", "bench", `${source.name}-${digest.digest("hex").slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  mkdirSync(dirname(folder), { recursive: true });
  const draft = mkdtempSync(`${folder}.`);
  try {
    await fill(draft);
    // Another run may have been quicker; its result is the same.
    if (!existsSync(folder)) renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return folder;
}
