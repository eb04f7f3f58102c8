// Runs the tests and ends with the ten slowest files, what failed and why, and the line `N passed, N failed`. A run without tests is a failed run, and no test has a second chance.
// Takes vitest's own arguments: folders, --project, --no-isolate.
import { writeSync } from "node:fs";
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { parseCLI, startVitest, type TestModule } from "vitest/node";

const { filter, options } = parseCLI(["vitest", ...process.argv.slice(2)]);
const vitest = await startVitest("test", filter, { ...options, watch: false });
const files = vitest.state.getTestModules();
const passed = files.reduce((total, file) => total + [...file.children.allTests("passed")].length, 0);
// An error that belongs to no file is a failure too.
const failures = [...files.flatMap(failuresIn), ...vitest.state.getUnhandledErrors().map((error) => failureOf("outside the tests", [error]))];
const slowest = files.map((file) => [secondsOf(file), nameOf(file)] as const).toSorted(([one], [two]) => two - one);
await vitest.close();

// The very last lines, after everything that tears down.
process.once("exit", () => {
  process.exitCode = failures.length > 0 || passed === 0 ? 1 : 0;
  const lines = [
    ...(slowest.length > 0 ? ["the slowest files:"] : []),
    ...slowest.slice(0, 10).map(([seconds, name]) => `${seconds.toFixed(1).padStart(7)} s  ${name}`),
    ...(failures.length > 0 ? ["what failed:"] : []),
    ...failures.slice(0, 20),
    `${passed} passed, ${failures.length} failed`,
  ];
  writeSync(1, `${lines.join("\n")}\n`);
});

/** What failed outside a test, such as a hook or an import, counts as one failure each: its tests did not run. */
function failuresIn(file: TestModule): readonly string[] {
  const suites = [...file.children.allSuites()].map((suite) => ({ name: suite.fullName, errors: suite.errors() }));
  const broken = [{ name: "the file itself", errors: file.errors() }, ...suites].filter(({ errors }) => errors.length > 0);
  const tests = [...file.children.allTests("failed")].map((each) => ({ name: each.fullName, errors: each.result().errors ?? [] }));
  return [...broken, ...tests].map(({ name, errors }) => failureOf(`${nameOf(file)}: ${name}`, errors));
}

/** With the first line of the first error; all of it stands further up. */
function failureOf(name: string, [error]: readonly unknown[]): string {
  const message = error instanceof Object && "message" in error ? String(error.message) : String(error);
  const [reason] = stripVTControlCharacters(message).split("\n");
  return `  ${name}\n    ${(reason ?? "").slice(0, 500)}`;
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
