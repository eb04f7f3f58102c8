// Bundles the program into one file. The same input gives the same bytes, wherever the checkout is and whenever it is built.
import { readdir, readFile } from "node:fs/promises";
import http from "node:http";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { build, type BuildOptions, type Plugin } from "esbuild";
import { isWorkspace, type LockFile, withDependencies } from "./lock-file.ts";

/** A built program. */
export interface Bundle {
  readonly content: Uint8Array;
  /** Folders, as in the lock file, of the foreign packages that are in it. */
  readonly folders: readonly string[];
}

/** Where things are. */
interface BundleInput {
  /** The checkout. */
  readonly root: string;
  readonly lock: LockFile;
  /** The built web page. */
  readonly pageFolder: string;
}

/** Bundles the program of the checkout in `root`; writes nothing. */
export async function bundleProgram({ root, lock, pageFolder }: BundleInput): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: ["packages/keyturn/src/main.ts"],
    outfile: "dist/keyturn.mjs",
    write: false,
    metafile: true,
    ...nodeProgram,
    // They are in the notices, whole.
    legalComments: "none",
    plugins: [...nodeProgram.plugins, embedPage(pageFolder)],
    banner: { js: `#!/usr/bin/env -S node --max-semi-space-size=4 --disable-sigusr1\n${requireBanner}` },
  });
  const [output] = Object.values(metafile.outputs);
  const [file] = outputFiles;
  if (!output || !file) throw new Error("bundling packages/keyturn/src/main.ts: esbuild made no file");
  const imported = Object.keys(output.inputs).flatMap(packageFolder);
  // What the page is made of was bundled before, by another tool: all that it may use counts.
  const ofThePage = [...withDependencies(lock, ["packages/dashboard"])].filter((folder) => !isWorkspace(folder));
  return { content: file.contents, folders: [...new Set([...imported, ...ofThePage])].sort() };
}

/** The folder of the package that a file belongs to; none for our own. */
function packageFolder(path: string): readonly string[] {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path) ?? [];
}

/** CommonJS dependencies ask for Node's built-in modules through `require`, which ES modules lack. */
export const requireBanner = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

/**
 * An `import` of node:http looks at each of its exports, and three of them are getters that load Node's fetch with all that belongs to it:
 * 8 MB and some 30 ms for every process (measured with Node 24). Asked for in another way, the same module comes without.
 */
const leanHttp: Plugin = {
  name: "lean-http",
  setup(build) {
    build.onResolve({ filter: /^(?:node:)?http$/ }, ({ kind }) => (kind === "import-statement" ? { path: "http", namespace: "lean" } : undefined));
    build.onLoad({ filter: /^http$/, namespace: "lean" }, () => {
      const plain = Object.entries(Object.getOwnPropertyDescriptors(http)).flatMap(([name, property]) => ("value" in property ? [name] : []));
      return {
        contents: `const http = process.getBuiltinModule("node:http");\nexport default http;\nexport const { ${plain.join(", ")} } = http;\n`,
      };
    });
  },
};

/** How any program of ours is bundled for Node: the image's, and the benchmark's contestants, which must be built alike. */
export const nodeProgram = {
  bundle: true,
  platform: "node",
  target: "node24",
  format: "esm",
  minifySyntax: true,
  plugins: [leanHttp],
} as const satisfies BuildOptions;

/** The module that reads the page's files from the checkout, and is replaced by one that has them in it. It exports `pageFiles`, and so does its replacement. */
const replacedModule = /\/keyturn\/src\/dashboard\/page-files\.ts$/;

/** An esbuild plugin that puts the built web page into the bundle: all files below `folder`, compressed; hidden ones are left out. */
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
