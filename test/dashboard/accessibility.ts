// Looks at a page with axe-core, which knows what keeps people from using one.
import axe, { type AxeResults } from "axe-core";
import type { Page } from "playwright-core";

/** What is wrong, a line each; colours are as they are, so animations should be over. */
export async function accessibilityProblems(page: Page): Promise<readonly string[]> {
  // Evaluated by the debugger, which the page's content policy does not bind.
  await page.evaluate(axe.source);
  const results = await page.evaluate<AxeResults>("axe.run(document, { resultTypes: ['violations'] })");
  return results.violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ""}`));
}

/** Whether anything is wider than the window, so that one would have to scroll sideways. */
export async function isTooWide(page: Page): Promise<boolean> {
  return await page.evaluate("document.documentElement.scrollWidth > innerWidth");
}
