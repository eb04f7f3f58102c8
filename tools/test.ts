// Runs the tests and ends with the ten slowest files and the line `N passed, N failed`. A run without tests is a failed run, and no test has a second chance.
// Takes vitest's own arguments: folders, --project, --no-isolate.
import { writeSync } from "node:fs";
import { relative } from "node:path";
import { parseCLI, startVitest, type TestModule } from "vitest/node";

const { filter, options } = parseCLI(["vitest", ...process.argv.slice(2)]);
const vitest = await startVitest("test", filter, { ...options, watch: false });
const files = vitest.state.getTestModules();
const passed = sum(files.map((file) => [...file.children.allTests("passed")].length));
// An error that belongs to no file is a failure too.
const failed = sum(files.map(failuresIn)) + vitest.state.getUnhandledErrors().length;
const slowest = files.map((file) => [secondsOf(file), nameOf(file)] as const).toSorted(([one], [two]) => two - one);
await vitest.close();

// The very last lines, after everything that tears down.
process.once("exit", () => {
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
  const lines = slowest.slice(0, 10).map(([seconds, name]) => `${seconds.toFixed(1).padStart(7)} s  ${name}`);
  writeSync(1, [...(lines.length > 0 ? ["the slowest files:", ...lines] : []), `${passed} passed, ${failed} failed`, ""].join("\n"));
});

/** What failed outside a test, such as a hook or an import, counts as one failure each: its tests did not run. */
function failuresIn(file: TestModule): number {
  const brokenSuites = [file, ...file.children.allSuites()].filter((suite) => suite.errors().length > 0).length;
  return [...file.children.allTests("failed")].length + brokenSuites;
}

/** With what it imports, and its hooks. */
function secondsOf(file: TestModule): number {
  const { collectDuration, duration } = file.diagnostic();
  return (collectDuration + duration) / 1000;
}

/** Some files run in two projects. */
function nameOf(file: TestModule): string {
  return `${relative(process.cwd(), file.moduleId)}${file.project.name === "bundle" ? " (bundle)" : ""}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
