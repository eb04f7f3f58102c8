// Installs the @kubernetes/client-node contestant into the cache folder, once per content.
import { execFile } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import { cachedPeer } from "./peer-cache.ts";

const folder = join(import.meta.dirname, "client-node");
const packageFile = z.object({ dependencies: z.object({ "@kubernetes/client-node": z.string() }) });

/** The version that package.json pins. */
export const clientNodeVersion = packageFile.parse(JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))).dependencies[
  "@kubernetes/client-node"
];

/** The path of its program, beside its installed packages. */
export async function clientNodePeer(say: (text: string) => void): Promise<string> {
  const files = ["package.json", "package-lock.json", "contestant.mjs"];
  const installed = await cachedPeer({ name: "client-node", folder, files }, async (draft) => {
    say("installing the @kubernetes/client-node peer (once)");
    for (const file of files) copyFileSync(join(folder, file), join(draft, file));
    await promisify(execFile)("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: draft });
  });
  return join(installed, "contestant.mjs");
}
