// The decision records are complete: every one has its parts and stands in the index, and what cites or is cited by them is there.
import { existsSync } from "node:fs";
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const folder = "docs/decisions";
const names = (await Array.fromAsync(glob("*.md", { cwd: join(root, folder) }))).filter((name) => name !== "README.md").toSorted();
const textOf = (path: string): Promise<string> => readFile(join(root, path), "utf8");
const pages = await Promise.all(names.map(async (name) => ({ name, text: await textOf(`${folder}/${name}`) })));

/** The sections of a page: each is a decision. */
function sectionsOf(text: string): readonly { readonly heading: string; readonly body: string }[] {
  const [, ...sections] = text.split(/^## /m);
  return sections.map((section) => {
    const [heading = "", ...lines] = section.split("\n");
    return { heading, body: lines.join("\n") };
  });
}

/** As GitHub makes it from a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
}

const decisions = pages.flatMap(({ name, text }) =>
  sectionsOf(text).map(({ heading, body }) => ({ heading, body, link: `${name}#${anchorOf(heading)}` })),
);

it("finds them", () => expect(decisions.length).toBeGreaterThan(40));

it.each(decisions)("$link says what was decided and why", ({ body }) => {
  expect(body).toMatch(/^\*\*Decision\.\*\* /m);
  expect(body).toMatch(/^\*\*Why\.\*\*/m);
});

test("the index lists every decision, by its heading and in the order of its page", async () => {
  const [, byArea = ""] = (await textOf(`${folder}/README.md`)).split("## By area");
  const [index = "", overturned = ""] = byArea.split("## Overturned decisions");
  const listed = Array.from(index.matchAll(/^- \[(.+)\]\((.+)\)$/gm), ([, heading, link]) => ({ heading, link }));
  const byPage = Object.groupBy(listed, ({ link = "" }) => link.split("#")[0] ?? "");
  for (const { name } of pages) {
    const own = decisions.filter(({ link }) => link.startsWith(`${name}#`)).map(({ heading, link }) => ({ heading, link }));
    expect(byPage[name]).toEqual(own);
  }
  expect(listed).toHaveLength(decisions.length);
  // What was overturned is said in both places.
  const replaced = Array.from(overturned.matchAll(/\]\((.+)\) \|$/gm), ([, link = ""]) => link);
  const changed = decisions.filter(({ body }) => /^\*Before:\* /m.test(body)).map(({ link }) => link);
  expect(replaced.toSorted()).toEqual(changed.toSorted());
});

it.each(pages)("$name names only files that are there", ({ text }) => {
  const paths = Array.from(text.matchAll(/`((?:packages|test|tools|bench|bin|charts|cluster|config)\/[\w./-]*)`/g), ([, path = ""]) => path);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test("source that cites a decision cites one that is there", async () => {
  const patterns = ["Dockerfile", "Makefile", "bin/*", "{bench,packages,tools,test}/**/*.{ts,tsx,mjs}"];
  const files = await Array.fromAsync(glob(patterns, { cwd: root, exclude: ["**/node_modules/**", "**/dist/**"] }));
  const cited = await Promise.all(
    files.map(async (file) => Array.from((await textOf(file)).matchAll(/docs\/decisions\/([\w-]+\.md(?:#[\w-]+)?)/g), ([, link = ""]) => link)),
  );
  const links = new Set([...names, ...decisions.map(({ link }) => link)]);
  expect(cited.flat().filter((link) => !links.has(link))).toEqual([]);
  expect(cited.flat().length).toBeGreaterThan(0);
});
