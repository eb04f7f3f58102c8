// Puts the built web page into the bundle: the module that reads its files from the checkout is replaced by one that has them in it.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import type { Plugin } from "esbuild";

/** The module that is replaced. It exports `pageFiles`, and so does its replacement. */
const replacedModule = /\/keyturn\/src\/dashboard\/page-files\.ts$/;

/** An esbuild plugin that embeds all files below `folder`, compressed; hidden ones are left out. */
export function embedPage(folder: string): Plugin {
  return {
    name: "embed-page",
    setup(build) {
      build.onLoad({ filter: replacedModule }, async () => ({ contents: await moduleWith(folder), loader: "js" }));
    },
  };
}

async function moduleWith(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith("."));
  const paths = files.map((entry) => join(entry.parentPath, entry.name).slice(folder.length).replace(/^\//, "")).sort();
  const embedded = await Promise.all(paths.map(async (path) => [path, compress(await readFile(join(folder, path)))] as const));
  return [
    'import { brotliDecompressSync } from "node:zlib";',
    `const embedded = ${JSON.stringify(embedded)};`,
    "export const pageFiles = async () =>",
    '  new Map(embedded.map(([path, text]) => [path, new Uint8Array(brotliDecompressSync(Buffer.from(text, "base64")))]));',
  ].join("\n");
}

function compress(content: Uint8Array): string {
  return brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }).toString("base64");
}
