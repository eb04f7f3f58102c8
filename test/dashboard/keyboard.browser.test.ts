// Everything on the page can be reached and used without a mouse.
import { afterAll, beforeAll, expect, it } from "vitest";
import { soon } from "@keyturn/runtime/testing/vitest";
import { buildDashboard } from "../../tools/build-dashboard.ts";
import { openInBrowser, useBrowser, whenLive } from "./support/chromium.ts";
import { type ContractServer, startContractServer } from "./support/contract-server.ts";
import { syntheticRecords } from "./support/synthetic-records.ts";

const browser = useBrowser();
/** The text of what has the focus. */
const focused = "document.activeElement.textContent";

let server: ContractServer;
beforeAll(async () => {
  const records = syntheticRecords({ issued: 400, rotationSet: 40, keySet: 3, workload: 20 }, Date.now());
  server = await startContractServer({ folder: await buildDashboard(), records });
});
afterAll(() => server[Symbol.asyncDispose]());

it("Tab leads from the skip link through the steps to the content, and what has the focus is seen", async () => {
  await using watched = await openInBrowser(browser(), server.url);
  const { page, problems } = watched;
  await whenLive(page);
  const passed: string[] = [];
  for (let count = 0; count < 12; count++) {
    await page.keyboard.press("Tab");
    passed.push(await page.evaluate<string>("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"));
    expect(await page.evaluate<boolean>("document.activeElement.matches(':focus-visible')")).toBe(true);
  }
  expect(passed.slice(0, 2)).toEqual(["Skip to the content", "Keyturn"]);
  expect(passed.slice(2, 8).map((text) => /Issue|Rotate|Publish|Verify|Roll out|Use/.exec(text)?.[0])).toEqual([
    "Issue",
    "Rotate",
    "Publish",
    "Verify",
    "Roll out",
    "Use",
  ]);
  expect(passed.slice(8)).toEqual(["Times in full", "Colours: as the system", "Help", "Search everything"]);

  await page.reload();
  await whenLive(page);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  expect(await page.evaluate<string>("document.activeElement.id")).toBe("main");
  expect(problems).toEqual([]);
});

it("a key counts in the very moment in which what it leads to is drawn, and who then goes on keeps the focus", async () => {
  await using watched = await openInBrowser(browser(), server.url);
  const { page, problems } = watched;
  // Called after each change of the page, before anything else can happen in it.
  await page.addInitScript(`
    const once = (selector, act) => new MutationObserver((_, observer) => {
      const element = document.querySelector(selector);
      if (element === null) return;
      observer.disconnect();
      act(element);
    }).observe(document, { childList: true, subtree: true });
    once(".flow a", (element) => element.dispatchEvent(new KeyboardEvent("keydown", { key: "1", bubbles: true, cancelable: true })));
    once(".table-row a", (element) => element.focus());
  `);
  await page.reload();
  await page.getByRole("heading", { name: "Issue", level: 1 }).waitFor();
  await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 100)))");
  await page.keyboard.press("ArrowDown");
  await soon(async () => expect(await page.evaluate<string>(focused)).toBe("runtime-00040"));
  expect(problems).toEqual([]);
});

it("a list is searched with /, gone through with arrows, and left into an object with Enter", async () => {
  await using watched = await openInBrowser(browser(), server.url);
  const { page, problems } = watched;
  await whenLive(page);
  await page.keyboard.press("1");
  await page.getByRole("heading", { name: "Issue", level: 1 }).waitFor();
  const first = page.getByRole("table").getByRole("link").first();
  await first.waitFor();
  await first.focus();
  await page.keyboard.press("ArrowDown");
  await soon(async () => expect(await page.evaluate<string>(focused)).toBe("runtime-00040"));
  await page.keyboard.press("End");
  await soon(async () => expect(await page.evaluate<string>(focused)).toBe("runtime-00399"));
  await page.keyboard.press("Home");
  await soon(async () => expect(await page.evaluate<string>(focused)).toBe("runtime-00000"));

  await page.keyboard.press("/");
  await page.keyboard.type("runtime-00123");
  await page.getByText("1 of 400 runtimes").waitFor();
  expect(await page.getByRole("table").getByRole("link").allTextContents()).toEqual(["runtime-00123"]);
  await page.getByRole("table").getByRole("link").focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "runtime-00123", level: 1 }).waitFor();
  await page.goBack();
  await page.getByText("1 of 400 runtimes").waitFor();
  expect(problems).toEqual([]);
});

it("a timeline has one tab stop, arrows lead through its bars, + and - zoom, and Enter keeps the details open", async () => {
  await using watched = await openInBrowser(browser(), `${server.url}#/rotate`);
  const { page, problems } = watched;
  await whenLive(page);
  await page.locator(".bar").first().waitFor();
  expect(await page.locator('.bar[tabindex="0"]').count()).toBe(1);
  await page.locator('.bar[tabindex="0"]').focus();
  const bar = (): Promise<string | undefined> => page.evaluate<string | undefined>("document.activeElement.dataset.bar");
  const start = await bar();
  expect(start).toMatch(/^rotation\/team-00\/signing-key-00000\/source\//);
  await page.locator(".bar-card").waitFor();
  await page.keyboard.press("ArrowLeft");
  await soon(async () => expect([undefined, start]).not.toContain(await bar()));
  await page.keyboard.press("ArrowDown");
  await soon(async () => expect(await bar()).toMatch(/signing-key-00000-next/));
  await page.keyboard.press("ArrowDown");
  await soon(async () => expect(await bar()).toMatch(/signing-key-00000-live/));
  await page.keyboard.press("Enter");
  await page.getByText("Open signing-key-00000-live").waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("Open signing-key-00000-live").waitFor({ state: "detached" });

  const pressed = page.locator(".zoom-bar [aria-pressed=true]").first();
  expect(await pressed.textContent()).toBe("1h");
  await page.keyboard.press("-");
  await page.waitForURL(/span=7200000/);
  await page.keyboard.press("+");
  await page.waitForURL(/span=3600000/);
  await page.keyboard.press("Shift+ArrowLeft");
  await page.waitForURL(/from=\d+/);
  await page.keyboard.press("0");
  await page.waitForURL((url) => !url.hash.includes("from="));
  expect(problems).toEqual([]);
});

it("? explains the keys, and Escape closes that, again and again and however soon", async () => {
  await using watched = await openInBrowser(browser(), server.url);
  const { page } = watched;
  await whenLive(page);
  for (let times = 0; times < 20; times++) {
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys and marks" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
  }
});
