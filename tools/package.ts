// Packs what is for npm, in dist/npm/: the runtime as ES modules and their types, compiled from the sources, and what `npm create` runs. The same sources give the same bytes.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type ArchiveEntry, compressedTarArchive } from "@keyturn/runtime/testing";
import * as z from "zod";
import { parseSourceManifest, publishedManifest } from "./package/manifest.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const source = join(root, "packages/runtime");

/** Compiles and packs the runtime; resolves to the path of the archive. */
export function packRuntime(): Promise<string> {
  return pack(async (draft) => {
    const compiled = join(draft, "dist");
    await compile(compiled);
    const manifest = parseSourceManifest(await readFile(join(source, "package.json"), "utf8"));
    const texts: readonly (readonly [string, string])[] = [
      ["LICENSE", await readFile(join(root, "LICENSE"), "utf8")],
      ["README.md", absoluteLinks(await readFile(join(source, "README.md"), "utf8"), manifest.homepage)],
      ["package.json", `${JSON.stringify(publishedManifest(manifest), undefined, 2)}\n`],
      ...(await goModules()),
      ...(await guide(manifest.homepage)),
      ...(await filesBelow(compiled, "dist")),
    ];
    return { name: manifest.name, version: manifest.version, texts };
  });
}

/** Packs what `npm create @keyturn/operator` runs; resolves to the path of the archive. */
export function packCreator(): Promise<string> {
  return pack(async () => {
    const folder = join(source, "create-operator");
    const { name, version, homepage } = creatorSchema.parse(JSON.parse(await readFile(join(folder, "package.json"), "utf8")));
    const texts = await filesBelow(folder, "");
    const readable = texts.map(([path, text]) => [path, path === "README.md" ? absoluteLinks(text, homepage) : text] as const);
    return { name, version, texts: [["LICENSE", await readFile(join(root, "LICENSE"), "utf8")], ...readable] };
  });
}

const creatorSchema = z.object({ name: z.string(), version: z.string(), homepage: z.string() });

interface Contents {
  readonly name: string;
  readonly version: string;
  readonly texts: readonly (readonly [path: string, text: string])[];
}

/** Readers never see half a file. */
async function pack(contentsIn: (draft: string) => Promise<Contents>): Promise<string> {
  const folder = join(root, "dist/npm");
  await mkdir(folder, { recursive: true });
  const draft = await mkdtemp(join(folder, "draft-"));
  try {
    const { name, version, texts } = await contentsIn(draft);
    const archive = join(folder, `${name.replace("@", "").replace("/", "-")}-${version}.tgz`);
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

/** The guide, of the same version as the code. */
async function guide(homepage: string): Promise<readonly (readonly [string, string])[]> {
  const base = `${homepage.replace(/#.*$/, "")}/docs`;
  return (await filesBelow(join(source, "docs"), "docs")).map(([path, text]) => [path, absoluteLinks(text, base)] as const);
}

async function filesBelow(folder: string, prefix: string): Promise<readonly (readonly [string, string])[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const read = paths.sort().map(async (path) => [join(prefix, relative(folder, path)), portable(path, await readFile(path, "utf8"))] as const);
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

if (import.meta.main) for (const archive of [await packRuntime(), await packCreator()]) console.log(relative(root, archive));
