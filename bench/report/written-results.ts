// Puts a run's page and drawings where readers find them.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { judge } from "../measure/verdict.ts";
import type { BenchRun } from "./bench-run.ts";
import { imagesFolder, resultsPage } from "./results-page.ts";
import { plotsOf, ratiosPlot } from "./scenario-plots.ts";

/** Writes RESULTS.md and its images into the folder; images of an earlier run go. */
export function writeResults(run: BenchRun, folder: string): void {
  const images = join(folder, imagesFolder);
  rmSync(images, { recursive: true, force: true });
  mkdirSync(images, { recursive: true });
  const ratios = ratiosPlot(run.results.flatMap(judge));
  for (const { name, svg } of [...(ratios ? [ratios] : []), ...run.results.flatMap(plotsOf)]) writeFileSync(join(images, name), svg);
  writeFileSync(join(folder, "RESULTS.md"), resultsPage(run));
}
