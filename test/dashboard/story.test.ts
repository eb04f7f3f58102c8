// The page as `keyturn dev` shows it: a real control plane, the examples, all five controllers at work, and a browser that looks on.
// PICTURES=1 also makes the pictures of docs/images, after the story has gone on for some minutes.
import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { buildDashboard } from "../../tools/build-dashboard.ts";
import { type KeyturnProcess, startKeyturn } from "../support/keyturn-process.ts";
import { accessibilityProblems, goTo, openInBrowser, phone, surplusWidth, useBrowser, whenAt, whenLive } from "./support/chromium.ts";

const withPictures = process.env["PICTURES"] === "1";
/** So many rotations are awaited; pictures should have something to show. */
const rotations = withPictures ? 5 : 1;
if (withPictures) vi.setConfig({ testTimeout: 2_400_000 });
/** Side by side, because each test waits for the story to go on; pictures are taken at its end. */
const test = withPictures ? it : it.concurrent;
const browser = useBrowser();
const laptop = { width: 1280, height: 720 };
const images = fileURLToPath(new URL("../../docs/images", import.meta.url));

let keyturn: KeyturnProcess;
let url: string;
beforeAll(async () => {
  await buildDashboard();
  keyturn = startKeyturn(["dev"], { HOME: homedir() });
  url = await vi.waitFor(
    () => {
      const found = /http:\/\/127\.0\.0\.1:\d+\/#secret=\S+/.exec(keyturn.output.out)?.[0];
      if (found === undefined) throw new Error(`no address yet: ${keyturn.output.out}${keyturn.output.err}`);
      return found;
    },
    { timeout: 300_000, interval: 100 },
  );
});
afterAll(async () => {
  keyturn.kill("SIGINT");
  expect(await keyturn.exit).toBe(0);
});

const patience = { timeout: 300_000 };

/** What the overview shows once the controllers have done their work. */
const allFive = [/1\s*runtime/, /1\s*rotation set/, /3\s*key sets/, /2\s*checksums/, /3\s*workloads/];

/** What each view shows of the examples then, and the name of its picture. */
const views: readonly { readonly view: string; readonly picture: string; readonly shows: readonly RegExp[] }[] = [
  { view: "overview", picture: "overview", shows: allFive },
  { view: "issue", picture: "issued", shows: [/0b5e3c2a-7a2f-4d6e-9b1c-3f8d2e4a6c10/, /kyma-system\/eventing-webhook-auth/] },
  { view: "rotate", picture: "rotation", shows: [/signing-key/, /live/, /fallback/] },
  { view: "publish", picture: "keys", shows: [/rotated-tokens/, /legacy-tokens/, /served by nginx/] },
  { view: "verify", picture: "consistency", shows: [/keyturn-examples-verify/, /agrees/, /VersionMissing/] },
  { view: "roll-out", picture: "roll-out", shows: [/web/, /store/, /by-hand/, /OptedOut/] },
];
const objectView = { view: "object/rotationtargets.rotator.k8s.telekom.com/keyturn-examples/signing-key-live", picture: "object" };

async function whenShown(page: Page, texts: readonly RegExp[]): Promise<void> {
  for (const text of texts) await page.locator("main", { hasText: text }).waitFor(patience);
}

test("every view shows the examples, and can be used by everybody", async () => {
  await using watched = await openInBrowser(browser(), url, { reducedMotion: "reduce" });
  const { page, problems } = watched;
  await whenLive(page);
  expect(page.url()).not.toContain("secret");
  for (const { view, shows } of views) {
    await goTo(page, `#/${view}`);
    await whenShown(page, shows);
    expect(await accessibilityProblems(page)).toEqual([]);
  }
  expect(problems).toEqual([]);
});

test("a rotation is seen as it happens, and the object's page tells about it", async () => {
  await using watched = await openInBrowser(browser(), url);
  const { page, problems } = watched;
  await whenLive(page);
  await goTo(page, "#/rotate");
  const live = page.locator('.bar.live[data-bar*="/signing-key-live/"]');
  await live.waitFor(patience);
  const before = versionOf(await live.textContent());
  // Somebody renews the key again and again, and it becomes live 15 s later. Before that, it is seen ahead of the now-line.
  await page.locator('.bar.planned[data-bar*="/signing-key-live/"]').waitFor(patience);
  const enough = before + rotations;
  await vi.waitFor(async () => expect(versionOf(await live.textContent())).toBeGreaterThanOrEqual(enough), {
    timeout: rotations * 300_000,
    interval: 500,
  });

  await live.click();
  await page.getByRole("link", { name: "Open signing-key-live" }).click();
  await page.getByRole("heading", { name: "signing-key-live", level: 1 }).waitFor();
  await whenShown(page, [/UpToDate|Rotating/, /VersionRotated/, /has taken the place of version/, /kubectl get rotationtargets/, /keyturn history/]);
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(problems).toEqual([]);
});

function versionOf(text: string | null): number {
  return Number(/^v(\d+)/.exec(text ?? "")?.[1]);
}

test.each([
  { suffix: "", options: { viewport: laptop, colorScheme: "light" } },
  { suffix: "-dark", options: { viewport: laptop, colorScheme: "dark" } },
  { suffix: "-phone", options: { viewport: phone, colorScheme: "light" } },
] as const)("every view fits into its window $suffix", async ({ suffix, options }) => {
  await using watched = await openInBrowser(browser(), url, { ...options, reducedMotion: "reduce" });
  const { page, problems } = watched;
  await whenLive(page);
  await whenShown(page, allFive);
  for (const { view, picture } of [...views, objectView]) {
    await goTo(page, `#/${view}${view === "overview" ? "" : "?span=480000"}`);
    await whenAt(page, view);
    expect({ view, surplusWidth: await surplusWidth(page) }).toEqual({ view, surplusWidth: 0 });
    await takePicture(page, picture, suffix);
  }
  expect(problems).toEqual([]);
});

/** The pictures of docs/images are for people, and made on request only. */
async function takePicture(page: Page, picture: string, suffix: string): Promise<void> {
  if (!withPictures) return;
  if (picture === "rotation") {
    // With something planned, and the details of that.
    await page.locator(".bar.planned[data-bar]").first().hover(patience);
  }
  await page.locator(".loading").waitFor({ state: "detached" });
  await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
  await mkdir(images, { recursive: true });
  await page.screenshot({ path: `${images}/dashboard-${picture}${suffix}.png` });
  await page.mouse.move(0, 0);
}
