// Installs a contestant that is written on an npm package into the cache folder, once per content.
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { runBuild } from "./build-progress.ts";
import { cachedPeer } from "./peer-cache.ts";

/** A contestant in a folder of its own beside this file, on one npm package. */
export interface NpmPeer {
  readonly folder: string;
  readonly packageName: string;
}

const packageFile = z.object({ dependencies: z.record(z.string(), z.string()) });
const own = ["package.json", "package-lock.json", "main.mjs"];
/** What all of them share, beside their folders. */
const shared = ["contestant.mjs", "key-queue.mjs"];

/** The version that its package.json pins. */
export function npmPeerVersion({ folder, packageName }: NpmPeer): string {
  const { dependencies } = packageFile.parse(JSON.parse(readFileSync(join(import.meta.dirname, folder, "package.json"), "utf8")));
  return dependencies[packageName] ?? "unknown";
}

/** The path of its program, beside its installed packages. */
export async function installNpmPeer({ folder, packageName }: NpmPeer, say: (text: string) => void): Promise<string> {
  const files = [...shared, ...own.map((file) => join(folder, file))];
  const installed = await cachedPeer({ name: folder, folder: import.meta.dirname, files }, async (draft) => {
    say(`installing the ${packageName} peer (once)`);
    mkdirSync(join(draft, folder));
    for (const file of files) copyFileSync(join(import.meta.dirname, file), join(draft, file));
    await runBuild({ file: "npm", args: ["ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd: join(draft, folder), say });
  });
  return join(installed, folder, "main.mjs");
}
