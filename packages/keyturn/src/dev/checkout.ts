// Files of the checkout that `keyturn dev` shows: it is a command for people who have one.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { UsageError } from "../flags/flag.ts";

/** Where the examples are in a checkout. */
export const examplesFolder: string = fileURLToPath(new URL("../../../../examples", import.meta.url));

/** Every manifest below a folder, in the order of their names. */
export async function readManifests(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true }).catch((error: unknown) => {
    throw new UsageError(`there are no examples in ${folder}: run keyturn dev from a checkout, or name a folder with --examples`, { cause: error });
  });
  const manifests = names.filter((name) => name.endsWith(".yaml")).sort();
  return Promise.all(manifests.map((name) => readFile(join(folder, name), "utf8")));
}
