// Packs the runtime as users install it, in dist/npm/: ES modules and their types, compiled from the sources. The same sources give the same bytes.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type ArchiveEntry, compressedTarArchive } from "@keyturn/runtime/testing";
import { parseSourceManifest, publishedManifest } from "./package/manifest.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const source = join(root, "packages/runtime");

/** Compiles and packs; resolves to the path of the archive. Readers never see half a file. */
export async function packRuntime(): Promise<string> {
  const folder = join(root, "dist/npm");
  await mkdir(folder, { recursive: true });
  const draft = await mkdtemp(join(folder, "draft-"));
  try {
    const compiled = join(draft, "dist");
    await compile(compiled);
    const manifest = parseSourceManifest(await readFile(join(source, "package.json"), "utf8"));
    const texts: readonly (readonly [string, string])[] = [
      ["LICENSE", await readFile(join(root, "LICENSE"), "utf8")],
      ["README.md", absoluteLinks(await readFile(join(source, "README.md"), "utf8"), manifest.homepage)],
      ["package.json", `${JSON.stringify(publishedManifest(manifest), undefined, 2)}\n`],
      ...(await goModules()),
      ...(await filesBelow(compiled)),
    ];
    const archive = join(folder, `${manifest.name.replace("@", "").replace("/", "-")}-${manifest.version}.tgz`);
    await writeFile(join(draft, "archive"), compressedTarArchive(texts.map(entryOf)));
    await rename(join(draft, "archive"), archive);
    return archive;
  } finally {
    await rm(draft, { recursive: true });
  }
}

async function compile(outDir: string): Promise<void> {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const words = [compiler, "-p", join(source, "tsconfig.package.json"), "--outDir", outDir];
  await promisify(execFile)(process.execPath, words).catch(({ stdout }: { readonly stdout: string }) => {
    throw new Error(`compiling packages/runtime:\n${stdout}`);
  });
}

/** What `startCluster` builds from where it finds no programs. */
async function goModules(): Promise<readonly (readonly [string, string])[]> {
  const names = ["containerd", "go", "oldest"].flatMap((name) => [`cluster/${name}.mod`, `cluster/${name}.sum`]);
  return Promise.all(names.map(async (name) => [name, await readFile(join(root, name), "utf8")] as const));
}

async function filesBelow(folder: string): Promise<readonly (readonly [string, string])[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const read = paths.sort().map(async (path) => [join("dist", relative(folder, path)), portable(path, await readFile(path, "utf8"))] as const);
  return Promise.all(read);
}

/** As it is right in any folder: a map has its source in it, and types name modules by what is installed. */
function portable(path: string, text: string): string {
  if (path.endsWith(".map")) return JSON.stringify({ ...(JSON.parse(text) as object), sources: [basename(path, ".js.map") + ".ts"] });
  return path.endsWith(".d.ts") ? text.replaceAll(/(["']\.\.?\/[^"']+)\.ts(["'])/g, "$1.js$2") : text;
}

function entryOf([name, text]: readonly [string, string]): ArchiveEntry {
  return { name: `package/${name}`, content: Buffer.from(text) };
}

/** On npm's page a link into the repository needs the whole address. */
function absoluteLinks(markdown: string, homepage: string): string {
  const base = `${homepage.replace(/#.*$/, "").replace("/tree/", "/blob/")}/`;
  return markdown.replaceAll(/\]\((?!https?:|#)([^)\s]+)\)/g, (_, path: string) => `](${new URL(path, base).href})`);
}

if (import.meta.main) console.log(relative(root, await packRuntime()));
