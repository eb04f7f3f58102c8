// Where the page's built files come from: a checkout's build folder. The bundle has another module in this place, with the files in it.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const builtFolder = fileURLToPath(new URL("../../../dashboard/dist", import.meta.url));

/** The files by their path, such as `index.html` and `assets/page-1a2b.js`; none if the page has not been built. */
export async function pageFiles(): Promise<ReadonlyMap<string, Uint8Array>> {
  const entries = await readdir(builtFolder, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  });
  const paths = entries.filter((entry) => entry.isFile() && !entry.name.startsWith(".")).map(({ parentPath, name }) => join(parentPath, name));
  return new Map(
    await Promise.all(paths.map(async (path) => [path.slice(builtFolder.length + 1).replaceAll("\\", "/"), await readFile(path)] as const)),
  );
}
