// The last line of a test run.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");
let folder: string;

beforeEach(() => {
  // In the checkout, so that the files of the run find vitest; node_modules is looked at by nobody else.
  folder = mkdtempSync(join(root, "node_modules/.keyturn-reporter-test-"));
  const options = { include: ["*.case.ts"], exclude: [], reporters: ["default", join(root, "tools/summary-reporter.ts")], teardownTimeout: 1000 };
  writeFileSync(join(folder, "vitest.config.mjs"), `export default { test: ${JSON.stringify(options)} };`);
});
afterEach(() => rmSync(folder, { recursive: true }));

function run(...cases: readonly string[]): { readonly status: number | null; readonly lastLine: string | undefined } {
  for (const [index, body] of cases.entries()) {
    writeFileSync(join(folder, `${index}.case.ts`), `import { beforeAll, describe, expect, it } from "vitest";\n${body}`);
  }
  const { status, stdout } = spawnSync(process.execPath, [join(root, "node_modules/vitest/vitest.mjs"), "run", "--root", folder], {
    encoding: "utf8",
  });
  expect(stdout.endsWith("\n")).toBe(true);
  return { status, lastLine: stdout.slice(0, -1).split("\n").at(-1) };
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
