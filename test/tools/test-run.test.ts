// How `make test` runs the tests: the last lines, and that a file which fails is not run again.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";

const root = join(import.meta.dirname, "../..");
let folder: string;

beforeEach(() => {
  // In the checkout, so that the files of the run find vitest; node_modules is looked at by nobody else.
  folder = mkdtempSync(join(root, "node_modules/.keyturn-test-run-"));
  const options = { include: ["*.case.ts"], exclude: [], teardownTimeout: 1000 };
  writeFileSync(join(folder, "vitest.config.mjs"), `export default { test: ${JSON.stringify(options)} };`);
});
afterEach(() => rmSync(folder, { recursive: true }));

interface Run {
  readonly status: number | null;
  readonly lastLine: string | undefined;
}

function run(...cases: readonly string[]): Run {
  const { status, lines } = linesOf(...cases);
  return { status, lastLine: lines.at(-1) };
}

function linesOf(...cases: readonly string[]): { readonly status: number | null; readonly lines: readonly string[] } {
  for (const [index, body] of cases.entries()) {
    writeFileSync(join(folder, `${index}.case.ts`), `import { beforeAll, describe, expect, it } from "vitest";\n${body}`);
  }
  const { status, stdout } = spawnSync(process.execPath, [join(root, "tools/test.ts")], { encoding: "utf8", cwd: folder });
  expect(stdout.endsWith("\n")).toBe(true);
  return { status, lines: stdout.slice(0, -1).split("\n") };
}

describe("the summary", () => {
  it("counts what passed over all files", () => {
    const result = run('it("a", () => {}); it("b", () => {});', 'it("c", () => {});');
    expect(result).toEqual({ status: 0, lastLine: "3 passed, 0 failed" });
  });

  it("counts tests that failed, hooks that failed and files that could not be loaded", () => {
    const result = run(
      'it("a", () => {}); it("b", () => expect(1).toBe(2));',
      'describe("x", () => { beforeAll(() => { throw new Error("hook"); }); it("never", () => {}); });',
      'throw new Error("on load");',
    );
    expect(result).toEqual({ status: 1, lastLine: "1 passed, 3 failed" });
  });

  it("counts an error that no test is to blame for", () => {
    const result = run(
      'it("a", () => { setTimeout(() => { throw new Error("late"); }); return new Promise((resolve) => setTimeout(resolve, 50)); });',
    );
    expect(result).toEqual({ status: 1, lastLine: "1 passed, 1 failed" });
  });

  it("fails a run without tests", () => {
    expect(run()).toEqual({ status: 1, lastLine: "0 passed, 0 failed" });
  });
});

test("the ten slowest files stand before the last line, the slowest first, with their seconds", () => {
  const quick = Array.from({ length: 10 }, () => 'it("a", () => {});');
  const { lines } = linesOf(...quick, 'it("slow", () => new Promise((resolve) => setTimeout(resolve, 3000)));');
  const [heading, ...slowest] = lines.slice(-12, -1);
  expect(heading).toBe("the slowest files:");
  const listed = slowest.map((line) => /^ +(?<seconds>\d+\.\d) s {2}(?<file>\d+\.case\.ts)$/.exec(line)?.groups);
  const seconds = listed.map((groups) => Number(groups?.["seconds"]));
  expect(seconds).toEqual(seconds.toSorted((one, two) => two - one));
  expect(new Set(listed.map((groups) => groups?.["file"])).size).toBe(10);
  expect(Number(listed.find((groups) => groups?.["file"] === "10.case.ts")?.["seconds"])).toBeGreaterThanOrEqual(2.9);
});

test("what failed is named with its reason before the last line, because that is what a record of CI keeps", () => {
  const { lines } = linesOf('describe("x", () => { it("passes", () => {}); it("fails", () => expect(1, "one").toBe(2)); });');
  expect(lines.slice(-4)).toEqual([
    "what failed:",
    "  0.case.ts: x > fails",
    "    one: expected 1 to be 2 // Object.is equality",
    "1 passed, 1 failed",
  ]);
});

test("a file that failed is not run again", () => {
  // Fails unless the file beside it is there, and makes it.
  const unsteady = `
    import { existsSync, writeFileSync } from "node:fs";
    const been = new URL("been-here", import.meta.url);
    const here = existsSync(been);
    writeFileSync(been, "");
    it("a", () => {});
    it("b", () => expect(here).toBe(true));`;
  expect(run(unsteady)).toEqual({ status: 1, lastLine: "1 passed, 1 failed" });
});
