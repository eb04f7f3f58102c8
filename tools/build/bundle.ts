// Bundles the program into one file. The same input gives the same bytes, wherever the checkout is and whenever it is built.
import { build } from "esbuild";
import { isWorkspace, type LockFile, withDependencies } from "./lock-file.ts";
import { nodeProgram, requireBanner } from "./node-program.ts";
import { embedPage } from "./page-embedding.ts";

/** A built program. */
export interface Bundle {
  readonly content: Uint8Array;
  /** Folders, as in the lock file, of the foreign packages that are in it. */
  readonly folders: readonly string[];
}

/** Where things are. */
export interface BundleInput {
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
    banner: { js: `#!/usr/bin/env -S node --max-semi-space-size=4\n${requireBanner}` },
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
