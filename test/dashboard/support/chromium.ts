// The system's Chromium, driven by playwright: what a person with a browser would see.
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import axe, { type AxeResults } from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";

/** Call in a file: gives a browser until its last test is done. */
export function useBrowser(): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    // Tests may run as root, where Chromium's sandbox does not start; it sees only pages of this machine.
    browser = await chromium.launch({ executablePath: findChromium(), args: ["--no-sandbox", "--disable-dev-shm-usage"], timeout: 300_000 });
  });
  afterAll(async () => {
    await browser?.close();
  });
  return () => {
    if (browser === undefined) throw new Error("using the browser before it is there: use it in tests and hooks");
    return browser;
  };
}

/** A page, and what was wrong with it. */
export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  /** Errors of scripts, refusals of the content policy, requests that left the page's own origin. */
  readonly problems: readonly string[];
}

/** Sizes that are looked at. */
export const wide = { width: 1360, height: 860 };
export const phone = { width: 360, height: 740 };

/** Opens an address in a browser that has never seen it. */
export async function openInBrowser(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: wide, ...options });
  // Only a hang takes so long.
  context.setDefaultTimeout(300_000);
  const page = await context.newPage();
  const problems: string[] = [];
  const { origin } = new URL(url);
  page.on("pageerror", (error) => problems.push(`script: ${error.message}`));
  page.on("console", (message) => {
    // That a server does not answer, or refuses, is what some tests are about; Chromium calls that an error, too.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) problems.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(origin)) problems.push(`left the origin: ${request.url()}`);
  });
  await page.goto(url);
  return { page, problems, [Symbol.asyncDispose]: () => context.close() };
}

/** Waits until what is shown is live and complete. */
export async function whenLive(page: Page): Promise<void> {
  await page.locator('[data-state="live"]').waitFor();
  await page.locator(".progress").waitFor({ state: "detached" });
}

/** Goes to a view by its address, as a link would. */
export async function goTo(page: Page, fragment: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(fragment)}`);
}

/** Waits until the view of an address is drawn. */
export async function whenAt(page: Page, fragment: string): Promise<void> {
  await page.locator(`main[data-view="${fragment.split(/[/?]/)[0]}"] h1`).waitFor();
}

// What keeps people from using a page.

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

function findChromium(): string {
  const names = ["chromium", "chromium-browser", "google-chrome"];
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const found = folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable);
  if (found === undefined) throw new Error(`looking for a browser: none of ${names.join(", ")} is in PATH; tools/install-system-parts installs one`);
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
