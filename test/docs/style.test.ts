// What docs/style.md says to avoid stands nowhere in the documentation, nor in what the chart, the program and the page say.
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { transform } from "esbuild";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
const rules = "docs/style.md";

/** The phrases of the table's column *Avoid*, in small letters. */
function avoided(page: string): readonly string[] {
  const [, table = ""] = /^\| Part \| Avoid \| Write \|\n\|[-|]+\n((?:\|.*\n)+)/m.exec(page) ?? [];
  return table
    .trim()
    .split("\n")
    .map((row) => (row.split(" | ")[1] ?? "").toLowerCase());
}

/** Each phrase that is in the text, with its line. Lines may be broken anywhere between words. */
function found(text: string, phrases: readonly string[]): readonly string[] {
  const flat = text.toLowerCase().replaceAll(/\s/g, " ");
  return phrases.flatMap((phrase) => {
    const at = flat.indexOf(phrase);
    return at < 0 ? [] : [`line ${text.slice(0, at).split("\n").length}: ${phrase}`];
  });
}

const phrases = avoided(await readFile(join(root, rules), "utf8"));
const places = [
  "*.md",
  "docs/**/*.{md,svg}",
  "charts/keyturn/*.{md,yaml}",
  "charts/keyturn/{files,templates}/**/*.{txt,tpl,yaml}",
  "config/**/*.yaml",
  "examples/**/*.{md,yaml}",
];
const texts = (await Array.fromAsync(glob(places, { cwd: root }))).filter((path) => path !== rules && path !== "CHANGELOG.md").toSorted();

/** Help texts, conditions, Events, alerts, the page: what stands between quotes. */
const sources = (await Array.fromAsync(glob("packages/{keyturn,dashboard}/src/**/*.{ts,tsx}", { cwd: root })))
  .filter((path) => !/\.(?:test|fixture)\./.test(path))
  .toSorted();

/** The code without its comments. */
async function uncommented(path: string): Promise<string> {
  const { code } = await transform(await readFile(join(root, path), "utf8"), {
    loader: path.endsWith("x") ? "tsx" : "ts",
    jsx: "preserve",
    legalComments: "none",
  });
  return code;
}

it("finds the rules and the texts, and a phrase that is broken over two lines", () => {
  expect(phrases.length).toBeGreaterThan(10);
  expect(phrases.filter((phrase) => phrase.length < 8)).toEqual([]);
  expect(texts).toEqual(expect.arrayContaining(["docs/guides/rotate.md", "charts/keyturn/values.yaml", "charts/keyturn/templates/NOTES.txt"]));
  expect(found("one\nThere is a\npage for you.", phrases)).toEqual(["line 2: there is a page for you"]);
});

it.each(texts)("%s keeps to them", async (path) => {
  expect(found(await readFile(join(root, path), "utf8"), phrases)).toEqual([]);
});

it("the program and the page keep to them", async () => {
  expect(sources).toEqual(expect.arrayContaining(["packages/keyturn/src/operator-flags.ts", "packages/dashboard/src/page/views/overview.tsx"]));
  const wrong = await Promise.all(sources.map(async (path) => found(await uncommented(path), phrases).map((each) => `${path}: ${each}`)));
  expect(wrong.flat()).toEqual([]);
});
