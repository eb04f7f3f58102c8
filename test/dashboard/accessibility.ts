// Looks at a page with axe-core, which knows what keeps people from using one.
import axe, { type AxeResults } from "axe-core";
import type { Page } from "playwright-core";

/** What is wrong, a line each, with the address in front; colours are as they are, so animations should be over. */
export async function accessibilityProblems(page: Page): Promise<readonly string[]> {
  // Evaluated by the debugger, which the page's content policy does not bind.
  await page.evaluate(axe.source);
  const { hash } = new URL(page.url());
  const results = await page.evaluate<AxeResults>("axe.run(document, { resultTypes: ['violations'] })");
  return results.violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${hash} ${id}: ${html} ${failureSummary ?? ""}`));
}

/** How many pixels the page is wider than the window, so that one would have to scroll sideways; 0 is right. */
export async function surplusWidth(page: Page): Promise<number> {
  return await page.evaluate("Math.max(0, document.documentElement.scrollWidth - innerWidth)");
}
