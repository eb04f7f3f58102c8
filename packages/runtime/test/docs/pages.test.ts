// The guide is true: each TypeScript block of docs/ compiles, strict, and runs; what a page quotes of the template stands there.
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const runtime = fileURLToPath(new URL("../..", import.meta.url));
const modules = join(runtime, "../../node_modules");
const docs = join(runtime, "docs");
const pages = (await readdir(docs)).filter((page) => page !== "README.md").sort();

/** A block of a page: what its first line calls it, or what it is called here. */
interface Block {
  readonly page: string;
  readonly name: string;
  readonly code: string;
}

function blocksOf(page: string, text: string): readonly Block[] {
  return Array.from(text.matchAll(/^```ts\n([^]*?)^```$/gm), ([, code = ""], index) => {
    const own = /^\/\/ (\S+\.ts)\n/.exec(code)?.[1];
    return { page, name: own ?? page.replace(/\.md$/, `-${index + 1}.ts`), code };
  });
}

const blocks = (await Promise.all(pages.map(async (page) => blocksOf(page, await readFile(join(docs, page), "utf8"))))).flat();
const quotations = blocks.filter(({ name }) => name.includes("/"));
const modulesOfPages = blocks.filter(({ name }) => !name.includes("/"));

it("has a page for each topic, and code on each", async () => {
  expect(pages).toHaveLength(16);
  expect(pages.filter((page) => !blocks.some((block) => block.page === page))).toEqual([]);
  const index = await readFile(join(docs, "README.md"), "utf8");
  expect(pages.filter((page) => !index.includes(`](${page})`))).toEqual([]);
});

it.each(quotations)("$page quotes $name as it is", async ({ name, code }) => {
  const text = await readFile(join(runtime, "create-operator/template", name), "utf8");
  expect(text).toContain(code.slice(code.indexOf("\n") + 1));
});

describe("the blocks", () => {
  let folder: string;
  const node = (...words: readonly string[]): Promise<{ readonly stdout: string }> =>
    promisify(execFile)(process.execPath, words, { cwd: folder }).catch(({ message, stdout }: Error & { readonly stdout: string }) => {
      throw new Error(`${message}\n${stdout}`);
    });
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "keyturn-docs-"));
    await symlink(modules, join(folder, "node_modules"));
    await copyFile(join(runtime, "examples/echo.ts"), join(folder, "echo.ts"));
    await writeFile(join(folder, "package.json"), '{ "type": "module" }\n');
    for (const { name, code } of modulesOfPages) await writeFile(join(folder, name), code);
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("compile", async () => {
    const template = JSON.parse(await readFile(join(runtime, "create-operator/template/tsconfig.json"), "utf8")) as object;
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ ...template, include: ["*.ts"] }));
    await node(join(modules, "typescript/bin/tsc"));
  });

  it("run", async () => {
    const files = modulesOfPages.map(({ name }) => `./${name}`);
    const lines = files.map(
      (file) => `await import(${JSON.stringify(file)}).catch((cause) => { throw new Error(${JSON.stringify(file)}, { cause }); });`,
    );
    await writeFile(join(folder, "all.mjs"), `${lines.join("\n")}\nconsole.log("all have run");\nprocess.exit();\n`);
    expect((await node("all.mjs")).stdout).toMatch(/all have run\n$/);
  });
});
