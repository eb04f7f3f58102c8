// A vitest reporter whose line `N passed, N failed` is the very last of the run. A run without tests is a failed run.
import { writeSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";

type UnhandledErrors = Parameters<NonNullable<Reporter["onTestRunEnd"]>>[1];

/** Prints the line when the process exits, after everything that tears down. */
export default class SummaryReporter implements Reporter {
  #passed = 0;
  #failed = 0;

  onInit(): void {
    process.once("exit", () => {
      if (this.#failed > 0 || this.#passed === 0) process.exitCode ||= 1;
      writeSync(1, `${this.#passed} passed, ${this.#failed} failed\n`);
    });
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: UnhandledErrors): void {
    const counts = modules.map(countsOf);
    this.#passed = counts.reduce((sum, { passed }) => sum + passed, 0);
    this.#failed = counts.reduce((sum, { failed }) => sum + failed, unhandledErrors.length);
  }
}

/** What failed outside a test, such as a hook or an import, counts as one failure each: its tests did not run. */
function countsOf(module: TestModule): { readonly passed: number; readonly failed: number } {
  const brokenSuites = [module, ...module.children.allSuites()].filter((suite) => suite.errors().length > 0).length;
  return {
    passed: [...module.children.allTests("passed")].length,
    failed: [...module.children.allTests("failed")].length + brokenSuites,
  };
}
