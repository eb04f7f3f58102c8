// The values that guides print are taken by the chart, and each of them is for the operator.
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { type ChartValues, renderChart, type RenderedObject } from "../../tools/chart-rendering.ts";
import { podTemplateOf } from "./pod-template.ts";

const root = join(import.meta.dirname, "../..");

/** Those blocks of the documentation that begin as a file of values. */
const blocks = (
  await Promise.all(
    (await Array.fromAsync(glob("docs/**/*.md", { cwd: root }))).toSorted().map(async (path) => {
      const text = await readFile(join(root, path), "utf8");
      return Array.from(text.matchAll(/^```yaml\n(# values\.yaml\n[^`]*)```$/gm), ([, block = ""], index) => ({
        name: `${path}, ${index + 1}`,
        block,
      }));
    }),
  )
).flat();

const operatorOf = (objects: readonly RenderedObject[]): unknown => objects.filter(({ kind }) => kind === "Deployment").map(podTemplateOf);

test("there are such blocks", () => {
  expect(blocks.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["docs/guides/rotate.md, 1", "docs/guides/issue.md, 1", "docs/guides/roll-out.md, 1"]),
  );
});

test.each(blocks)("$name", async ({ block }) => {
  const values = parse(block) as ChartValues;
  expect(operatorOf(await renderChart(values))).not.toEqual(operatorOf(await renderChart()));
});
