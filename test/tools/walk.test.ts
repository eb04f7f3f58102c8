// Whoever follows a change from the user's write to ours reads at most fifty files. Above that, something that belongs together stands apart.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const maxFiles = 50;

test.each(["certificate", "promotion"])("the walk of a %s is at most fifty files", (walk) => {
  const files = execFileSync(process.execPath, [join(import.meta.dirname, "walk.ts"), walk], { encoding: "utf8" })
    .trim()
    .split("\n");
  expect(files).toContain("runtime/src/controller/reconcile.ts");
  expect(files.slice(maxFiles), `of ${files.length} files, those beyond the fiftieth:\n${files.join("\n")}`).toEqual([]);
});
