// How `make test` runs the tests: the last line, and what it does about files that fail.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

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
  const { status, lines } = runWith({}, ...cases);
  return { status, lastLine: lines.at(-1) };
}

function runWith(environment: NodeJS.ProcessEnv, ...cases: readonly string[]): { readonly status: number | null; readonly lines: readonly string[] } {
  for (const [index, body] of cases.entries()) {
    writeFileSync(join(folder, `${index}.case.ts`), `import { beforeAll, describe, expect, it } from "vitest";\n${body}`);
  }
  const { RERUN_FAILED_FILES: _, ...env } = process.env;
  const options = { encoding: "utf8", cwd: folder, env: { ...env, ...environment } } as const;
  const { status, stdout } = spawnSync(process.execPath, [join(root, "tools/test.ts")], options);
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

describe("a file that failed", () => {
  // Fails unless the file beside it is there, and makes it.
  const unsteady = `
    import { existsSync, writeFileSync } from "node:fs";
    const been = new URL("been-here", import.meta.url);
    const here = existsSync(been);
    writeFileSync(been, "");
    it("a", () => {});
    it("b", () => expect(here).toBe(true));`;

  it("is not run again unless asked", () => {
    expect(run(unsteady)).toEqual({ status: 1, lastLine: "1 passed, 1 failed" });
  });

  it("is run once more in CI, counted once, and named when it passes then", () => {
    const { status, lines } = runWith({ RERUN_FAILED_FILES: "1" }, unsteady, 'it("c", () => {});');
    expect({ status, lastLine: lines.at(-1) }).toEqual({ status: 0, lastLine: "3 passed, 0 failed" });
    expect(lines).toContain("failed at first and passed the second time, which is a defect too: 0.case.ts");
  });

  it("still fails the run when it fails again", () => {
    const { status, lines } = runWith({ RERUN_FAILED_FILES: "1" }, 'it("a", () => expect(1).toBe(2));', 'it("b", () => {});');
    expect({ status, lastLine: lines.at(-1) }).toEqual({ status: 1, lastLine: "1 passed, 1 failed" });
  });
});
