// Every link of the documentation leads somewhere: to a file of the repository, and to a heading that it has.
import { globSync } from "node:fs";
import { glob, readFile, stat } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const pages = await Array.fromAsync(glob("**/*.md", { cwd: root, exclude: ["**/node_modules/**", "dist/**", "coverage/**"] }));
const texts = new Map(await Promise.all(pages.map(async (page) => [page, await readFile(join(root, page), "utf8")] as const)));

/** A page without what is shown as code. */
function prose(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```/gm, "").replaceAll(/`[^`\n]*`/g, "code");
}

/** The anchors of a page, as GitHub makes them from its headings. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = text.replaceAll(/^```[\s\S]*?^```/gm, "").matchAll(/^#{1,6} (.+)$/gm);
  const anchors = Array.from(headings, ([, heading = ""]) => {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    return plain
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(/\s/g, "-");
  });
  return new Set(anchors);
}

async function deadLinksOf(page: string, text: string): Promise<readonly string[]> {
  const links = Array.from(prose(text).matchAll(/\]\(([^)\s]+)\)/g), ([, link = ""]) => link);
  const dead = links.map(async (link) => {
    if (/^[a-z]+:/.test(link)) return [];
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? page : normalize(join(dirname(page), path));
    const isThere = await stat(join(root, target)).then(
      () => true,
      () => false,
    );
    if (!isThere) return [link];
    const known = texts.get(target);
    return anchor !== undefined && known !== undefined && !anchorsOf(known).has(anchor) ? [link] : [];
  });
  return (await Promise.all(dead)).flat();
}

it("finds the documentation", () => expect(pages).toContain("README.md"));

it.each(pages)("%s has no dead link", async (page) => {
  expect(await deadLinksOf(page, texts.get(page) ?? "")).toEqual([]);
});

it("knows of no file in the index of behaviours that is not there", () => {
  const [, index = ""] = /^## Where a behaviour is\n(.*?)^## /ms.exec(texts.get("ARCHITECTURE.md") ?? "") ?? [];
  const named = Array.from(index.matchAll(/`([\w./-]+\.tsx?)`/g), ([, path = ""]) => path);
  expect(named.length).toBeGreaterThan(50);
  const places = (path: string): readonly string[] => [path, `packages/keyturn/src/${path}`, `packages/${path.replace("runtime/", "runtime/src/")}`];
  // One without a folder stands beside the one before it, or in the folder of each controller.
  const isThere = (path: string): boolean =>
    (path.includes("/") ? places(path) : [`packages/*/src/**/${path}`]).some((each) => globSync(each, { cwd: root }).length > 0);
  expect(named.filter((path) => !isThere(path))).toEqual([]);
});
