// The bundle: the same bytes from the same input, and a bill of materials and licences that say what is in it.
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL, fileURLToPath } from "node:url";
import { build } from "esbuild";
import { build as buildPage } from "vite";
import { afterAll, beforeAll, expect, it } from "vitest";
import { temporaryFolder } from "@keyturn/runtime/testing/vitest";
import { version } from "../../packages/keyturn/src/cli/command-line.ts";
import { type Bundle, bundleProgram, embedPage } from "../../tools/build/bundle.ts";
import { isWorkspace, readLockFile, withDependencies } from "../../tools/build/lock-file.ts";
import { renderNotices, renderSbom } from "../../tools/build/sbom-and-licenses.ts";

const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const lock = readLockFile(root);
let base: string;
/** Everything that the bundle is made from, at two other places and of another date. */
let first: string;
let second: string;
let pageFolder: string;
let bundle: Bundle;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "keyturn-bundle-"));
  pageFolder = join(base, "page");
  await mkdir(join(pageFolder, "assets"), { recursive: true });
  await writeFile(join(pageFolder, "index.html"), "<!doctype html><title>Keyturn</title>");
  await writeFile(join(pageFolder, "assets/page-1234.js"), "export const answer = 42;\n");
  await writeFile(join(pageFolder, ".source"), "not for readers");
  first = join(base, "first");
  second = join(base, "deeper", "still");
  await copyCheckout(first);
  await cp(first, second, { recursive: true, verbatimSymlinks: true });
  await utimes(join(second, "packages/keyturn/src/main.ts"), 1_000_000_000, 1_000_000_000);
  bundle = await bundleProgram({ root: first, lock, pageFolder });
});
afterAll(() => rm(base, { recursive: true, force: true }));

async function copyCheckout(folder: string): Promise<void> {
  for (const name of ["package-lock.json", "tsconfig.json"]) await cp(join(root, name), join(folder, name));
  for (const name of withDependencies(lock, ["packages/keyturn", "packages/dashboard"])) {
    const skipped = (path: string): boolean => isWorkspace(name) && /\/(node_modules|dist|\.dist-\w+)$|\.test\.tsx?$/.test(path);
    await cp(join(root, name), join(folder, name), { recursive: true, filter: (path) => !skipped(path) });
  }
  await mkdir(join(folder, "node_modules/@keyturn"), { recursive: true });
  for (const name of ["runtime", "dashboard"]) await symlink(`../../packages/${name}`, join(folder, "node_modules/@keyturn", name));
}

const digestOf = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex");

it("is the same, byte by byte, from another folder and with other times on the files", async () => {
  const again = await bundleProgram({ root: second, lock: readLockFile(second), pageFolder });
  expect(again.folders).toEqual(bundle.folders);
  expect(digestOf(again.content)).toBe(digestOf(bundle.content));
  expect(Buffer.from(bundle.content).includes(base)).toBe(false);
});

it("has the same web page in it from another folder, too", async () => {
  const [here, there] = await Promise.all([first, second].map(builtPage));
  expect(there).toEqual(here);
  expect(here?.get("index.html")).toBeDefined();
});

/** The digests of the page's files, built from the sources in a folder. */
async function builtPage(folder: string): Promise<ReadonlyMap<string, string>> {
  const outDir = join(folder, "page");
  const configFile = join(root, "packages/dashboard/vite.config.ts");
  await buildPage({ root: join(folder, "packages/dashboard"), configFile, logLevel: "error", build: { outDir } });
  const files = (await readdir(outDir, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const paths = files.map((entry) => relative(outDir, join(entry.parentPath, entry.name))).sort();
  return new Map(await Promise.all(paths.map(async (path) => [path, digestOf(await readFile(join(outDir, path)))] as const)));
}

it("has a bill of materials with every package in it, and no other", () => {
  const text = renderSbom({ lock, folders: bundle.folders, version, bundle: bundle.content });
  expect(renderSbom({ lock, folders: bundle.folders.toReversed(), version, bundle: bundle.content })).toBe(text);
  const bill = JSON.parse(text) as {
    readonly serialNumber: string;
    readonly components: readonly { readonly purl: string; readonly hashes: readonly { readonly content: string }[] }[];
    readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  };
  const purls = bill.components.map(({ purl }) => purl);
  expect(purls).toHaveLength(bundle.folders.length);
  expect(purls).toEqual(expect.arrayContaining([`pkg:npm/zod@${lock.packages["node_modules/zod"]?.version}`]));
  expect(purls).toEqual(expect.arrayContaining([`pkg:npm/%40marcbachmann/cel-js@${lock.packages["node_modules/@marcbachmann/cel-js"]?.version}`]));
  expect(purls.join()).not.toMatch(/vitest|typescript|esbuild|playwright/);
  expect(bill.components.every(({ hashes }) => hashes.every(({ content }) => /^[0-9a-f]{128}$/.test(content)))).toBe(true);
  expect(bill.serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  // Every reference leads somewhere.
  const refs = new Set(bill.dependencies.map(({ ref }) => ref));
  expect(bill.dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.has(ref))).toEqual([]);
});

it("comes with the licence of every package in it", async () => {
  const notices = await renderNotices(root, lock, bundle.folders);
  for (const folder of bundle.folders)
    expect(notices).toContain(`${folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length)} ${lock.packages[folder]?.version} (`);
  expect(notices.match(/Permission (is hereby granted|to use, copy, modify)/g)?.length).toBeGreaterThan(10);
});

it("has the web page in it, whole and without what is hidden", async () => {
  const folder = await temporaryFolder();
  const source = join(folder, "packages/keyturn/src/dashboard/page-files.ts");
  await mkdir(join(source, ".."), { recursive: true });
  await writeFile(source, "export const pageFiles = async () => new Map();");
  const outfile = join(folder, "page.mjs");
  await build({ entryPoints: [source], outfile, bundle: true, platform: "node", format: "esm", plugins: [embedPage(pageFolder)] });
  const { pageFiles } = (await import(pathToFileURL(outfile).href)) as { readonly pageFiles: () => Promise<ReadonlyMap<string, Uint8Array>> };
  const files = await pageFiles();
  expect([...files.keys()]).toEqual(["assets/page-1234.js", "index.html"]);
  for (const [path, content] of files) expect(Buffer.from(content)).toEqual(await readFile(join(pageFolder, path)));
});
