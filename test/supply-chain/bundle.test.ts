// The bundle: the same bytes from the same input, and a bill of materials and licences that say what is in it.
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL, fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";
import { version } from "../../packages/keyturn/src/cli/version.ts";
import { type Bundle, bundleProgram } from "../../tools/build/bundle.ts";
import { isWorkspace, readLockFile, withDependencies } from "../../tools/build/lock-file.ts";
import { renderNotices } from "../../tools/build/notices.ts";
import { embedPage } from "../../tools/build/page-embedding.ts";
import { renderSbom } from "../../tools/build/sbom.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const lock = readLockFile(root);
let bundle: Bundle;
let pageFolder: string;

beforeAll(async () => {
  pageFolder = await mkdtemp(join(tmpdir(), "keyturn-page-"));
  await mkdir(join(pageFolder, "assets"));
  await writeFile(join(pageFolder, "index.html"), "<!doctype html><title>Keyturn</title>");
  await writeFile(join(pageFolder, "assets/page-1234.js"), "export const answer = 42;\n");
  await writeFile(join(pageFolder, ".source"), "not for readers");
  bundle = await bundleProgram({ root, lock, pageFolder });
});
afterAll(() => rm(pageFolder, { recursive: true }));

/** Everything that the bundle is made from, at another place and of another date. */
async function copyOfCheckout(): Promise<string> {
  const folder = await temporaryFolder();
  const needed = [...withDependencies(lock, ["packages/keyturn", "packages/dashboard"])];
  await cp(join(root, "package-lock.json"), join(folder, "package-lock.json"));
  await cp(join(root, "tsconfig.json"), join(folder, "tsconfig.json"));
  for (const name of needed) {
    const skipped = (path: string): boolean => isWorkspace(name) && /\/(node_modules|dist)$|\.test\.tsx?$/.test(path);
    await cp(join(root, name), join(folder, name), { recursive: true, filter: (path) => !skipped(path) });
  }
  await mkdir(join(folder, "node_modules/@keyturn"), { recursive: true });
  for (const name of ["runtime", "dashboard"]) await symlink(`../../packages/${name}`, join(folder, "node_modules/@keyturn", name));
  await utimes(join(folder, "packages/keyturn/src/main.ts"), 1_000_000_000, 1_000_000_000);
  return folder;
}

it("is the same, byte by byte, from another folder and with other times on the files", async () => {
  const folder = await copyOfCheckout();
  const again = await bundleProgram({ root: folder, lock: readLockFile(folder), pageFolder });
  expect(again.folders).toEqual(bundle.folders);
  expect(createHash("sha256").update(again.content).digest("hex")).toBe(createHash("sha256").update(bundle.content).digest("hex"));
  expect(Buffer.from(bundle.content).includes(root)).toBe(false);
});

it("has a bill of materials with every package in it, and no other", () => {
  const text = renderSbom({ lock, folders: bundle.folders, version, bundle: bundle.content });
  expect(renderSbom({ lock, folders: [...bundle.folders].reverse(), version, bundle: bundle.content })).toBe(text);
  const bill = JSON.parse(text) as {
    readonly serialNumber: string;
    readonly components: readonly { readonly purl: string; readonly hashes: readonly { readonly content: string }[] }[];
    readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  };
  const purls = bill.components.map(({ purl }) => purl);
  expect(purls).toHaveLength(bundle.folders.length);
  expect(purls).toEqual(expect.arrayContaining([`pkg:npm/zod@${lock.packages["node_modules/zod"]?.version}`]));
  expect(purls).toEqual(expect.arrayContaining([`pkg:npm/%40opentelemetry/api@${lock.packages["node_modules/@opentelemetry/api"]?.version}`]));
  expect(purls.join()).not.toMatch(/vitest|typescript|esbuild|playwright/);
  expect(bill.components.every(({ hashes }) => hashes.every(({ content }) => /^[0-9a-f]{128}$/.test(content)))).toBe(true);
  expect(bill.serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  // Every reference leads somewhere.
  const refs = new Set(bill.dependencies.map(({ ref }) => ref));
  expect(bill.dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.has(ref))).toEqual([]);
});

it("comes with the licence of every package in it", async () => {
  const notices = await renderNotices(root, lock, bundle.folders);
  for (const folder of bundle.folders) expect(notices).toContain(`${folder.replace("node_modules/", "")} ${lock.packages[folder]?.version} (`);
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
