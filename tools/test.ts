// Runs the tests and ends with the line `N passed, N failed`. A run without tests is a failed run.
// With RERUN_FAILED_FILES=1, as CI has it, each file that failed is run once more, by itself, and is named if it passes then.
import { writeSync } from "node:fs";
import { relative } from "node:path";
import { startVitest, type TestModule } from "vitest/node";

/** What came of a file. */
interface FileOutcome {
  readonly path: string;
  readonly passed: number;
  readonly failed: number;
  readonly ok: boolean;
  readonly ms: number;
}

/** How many of the slowest files are named. */
const slowestNamed = 10;

/** What came of each file, by its project and path: some files run in two projects. */
type Outcome = ReadonlyMap<string, FileOutcome>;

const first = await runTests(process.argv.slice(2));
const second = process.env["RERUN_FAILED_FILES"] === "1" ? await rerun(failedFiles(first)) : new Map();
const last = [...new Map([...first, ...second]).values()];
const passed = sum(last.map((file) => file.passed));
const failed = sum(last.map((file) => file.failed));
console.log(slowestOf([...first.values()]));
// The very last line, after everything that tears down.
process.once("exit", () => {
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
  writeSync(1, `${passed} passed, ${failed} failed\n`);
});

async function rerun(files: readonly string[]): Promise<Outcome> {
  if (files.length === 0) return new Map();
  console.log(`\nonce more, one after another: ${files.join(", ")}\n`);
  const again = await runTests(files, { maxWorkers: 1 });
  const unsteady = files.filter((file) => [...again.values()].every(({ path, ok }) => path !== file || ok));
  if (unsteady.length > 0) console.log(`\nfailed at first and passed the second time, which is a defect too: ${unsteady.join(", ")}\n`);
  return again;
}

async function runTests(files: readonly string[], options: { readonly maxWorkers?: number } = {}): Promise<Outcome> {
  const vitest = await startVitest("test", [...files], { watch: false, ...options });
  const strays = vitest.state.getUnhandledErrors().length;
  const outcome = vitest.state.getTestModules().map((module) => [`${module.project.name} ${module.moduleId}`, outcomeOf(module)] as const);
  await vitest.close();
  // Errors that belong to no file cannot be mended by running a file again.
  return new Map([...outcome, ...(strays > 0 ? ([["", { path: "", passed: 0, failed: strays, ok: false, ms: 0 }]] as const) : [])]);
}

/** What failed outside a test, such as a hook or an import, counts as one failure each: its tests did not run. */
function outcomeOf(module: TestModule): FileOutcome {
  const brokenSuites = [module, ...module.children.allSuites()].filter((suite) => suite.errors().length > 0).length;
  return {
    path: relative(process.cwd(), module.moduleId),
    passed: [...module.children.allTests("passed")].length,
    failed: [...module.children.allTests("failed")].length + brokenSuites,
    ok: module.ok(),
    ms: module.diagnostic().duration,
  };
}

/** Where the time goes, for those who want it back. */
function slowestOf(files: readonly FileOutcome[]): string {
  const slowest = files.toSorted((a, b) => b.ms - a.ms).slice(0, slowestNamed);
  return ["\nslowest files:", ...slowest.map(({ path, ms }) => `${(ms / 1000).toFixed(1).padStart(8)} s  ${path}`)].join("\n");
}

function failedFiles(outcome: Outcome): readonly string[] {
  const failed = [...outcome.values()].filter(({ path, ok }) => path !== "" && !ok);
  return [...new Set(failed.map(({ path }) => path))];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
