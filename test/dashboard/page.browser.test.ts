// Every view of the page in a real browser, on records of all sorts: readable in any size and colour, within its policy, and small.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import type { ObjectDetail, ObjectRecord, StageLayout, StageRecord } from "@keyturn/dashboard/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildDashboard } from "../../tools/build-dashboard.ts";
import { accessibilityProblems, goTo, openInBrowser, phone, surplusWidth, useBrowser, whenAt, whenLive, wide } from "./support/chromium.ts";
import { type ContractServer, startContractServer } from "./support/contract-server.ts";
import { syntheticChecksum, syntheticRecords } from "./support/synthetic-records.ts";

const browser = useBrowser();
const nowMs = Date.now();
const target = "object/rotationtargets.rotator.k8s.telekom.com/team-03/signing-key-00003-live";
const differing = syntheticChecksum(28, nowMs);

const detail: ObjectDetail = {
  ref: differing.ref,
  events: [
    {
      type: "Normal",
      reason: "VersionRotated",
      note: "version 5 has taken the place of version 4",
      action: "Rotate",
      firstMs: nowMs,
      lastMs: nowMs,
      count: 2,
      controller: "rotation",
    },
    {
      type: "Warning",
      reason: "DriftRepaired",
      note: "somebody had edited it",
      action: "Repair",
      firstMs: nowMs - 9e5,
      lastMs: nowMs - 9e5,
      count: 1,
      controller: "rotation",
    },
  ],
  history: [{ atMs: nowMs - 30_000, what: "got version 5" }],
  commands: [{ what: "see it", command: "kubectl get secret signing-key-00003-live -n team-03 -o yaml" }],
  differences: [
    { direction: "missing", name: "shop-cert-3", message: "the checksum counts version 4, and there is no such Secret" },
    { direction: "changed", name: "shop-cert-1", message: "the checksum counts version 4, and the Secret has version 3" },
  ],
};

let folder: string;
let server: ContractServer;
beforeAll(async () => {
  folder = await buildDashboard();
  server = await startContractServer({
    folder,
    records: syntheticRecords({ issued: 30, rotationSet: 30, keySet: 8, checksum: 40, agent: 14, workload: 30 }, nowMs),
    detail,
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const views: readonly { readonly view: string; readonly shows: string }[] = [
  { view: "overview", shows: "Needs attention" },
  { view: "issue", shows: "runtime-00000" },
  { view: "rotate", shows: "settled versions" },
  { view: "rotate?as=table", shows: "filled in" },
  { view: "publish", shows: "2 active, 1 retiring" },
  { view: "verify", shows: "the checksum counts version 4, and there is no such Secret" },
  { view: "roll-out", shows: "RolloutLimit" },
  { view: "use", shows: "No workload is behind" },
  { view: target, shows: "version 5 has taken the place of version 4" },
];

describe.each([
  { size: "wide and light", options: { viewport: wide, colorScheme: "light" } },
  { size: "wide and dark", options: { viewport: wide, colorScheme: "dark" } },
  { size: "360 pixels wide", options: { viewport: phone, colorScheme: "light", hasTouch: true } },
] as const)("$size", ({ size, options }) => {
  it("every view shows what it should, can be used by everybody, fits, and stays within its policy and origin", async () => {
    await using watched = await openInBrowser(browser(), server.url, { ...options, reducedMotion: "reduce" });
    const { page, problems } = watched;
    await whenLive(page);
    for (const { view, shows } of views) {
      await goTo(page, `#/${view}`);
      await whenAt(page, view);
      await page.locator(".loading").waitFor({ state: "detached" });
      // On a phone some columns are left out, so there it is enough that the view is there.
      if (size !== "360 pixels wide") await page.locator("main", { hasText: shows }).waitFor();
      expect(await accessibilityProblems(page)).toEqual([]);
      expect({ view, surplusWidth: await surplusWidth(page) }).toEqual({ view, surplusWidth: 0 });
    }
    expect(problems).toEqual([]);
  });
});

it("the help and the details of a bar can be used by everybody, too", async () => {
  await using watched = await openInBrowser(browser(), `${server.url}#/rotate`, { reducedMotion: "reduce" });
  const { page, problems } = watched;
  await whenLive(page);
  await page.locator(".bar.live").nth(1).click();
  await page.getByText("Open signing-key-00000-next").waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByRole("button", { name: "Help" }).click();
  await page.getByRole("dialog").waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(problems).toEqual([]);
});

it("colours follow the system until somebody chooses, and the choice is remembered", async () => {
  await using watched = await openInBrowser(browser(), server.url, { colorScheme: "dark" });
  const { page } = watched;
  await whenLive(page);
  const scheme = (): Promise<string> =>
    page.evaluate<string>("getComputedStyle(document.body).backgroundColor + getComputedStyle(document.documentElement).backgroundColor");
  const dark = await scheme();
  await page.getByRole("button", { name: "Colours: as the system" }).click();
  await page.getByRole("button", { name: "Colours: light" }).waitFor();
  const light = await scheme();
  expect(light).not.toBe(dark);
  await page.reload();
  await page.getByRole("button", { name: "Colours: light" }).waitFor();
  expect(await scheme()).toBe(light);
});

it("a link brings back the view with its search, zoom and what is chosen", async () => {
  await using first = await openInBrowser(browser(), `${server.url}#/rotate`);
  await whenLive(first.page);
  await first.page.getByRole("searchbox").fill("team-03");
  await first.page.getByRole("button", { name: "6 hours" }).click();
  await first.page.getByRole("button", { name: "Earlier", exact: true }).click();
  await first.page.getByRole("button", { name: "Now", exact: true }).click();
  await first.page.locator(".bar.live").nth(1).click();
  await first.page.getByText("Open signing-key-00003-next").waitFor();
  await first.page.waitForURL(/search=team-03.*selected=.*span=21600000/);

  await using second = await openInBrowser(browser(), first.page.url());
  await second.page.getByText("Open signing-key-00003-next").waitFor();
  expect(await second.page.getByRole("searchbox").inputValue()).toBe("team-03");
  expect(await second.page.getByRole("button", { name: "6 hours" }).getAttribute("aria-pressed")).toBe("true");
  expect(await second.page.locator(".lane.group").count()).toBe(1);
});

it("the script that the first paint needs is below 100 kB compressed, and nothing is inline", async () => {
  const html = await readFile(join(folder, "index.html"), "utf8");
  expect(html).not.toMatch(/<script>|<style|style=| on[a-z]+=/);
  const scripts = (await readdir(join(folder, "assets"))).filter((name) => name.endsWith(".js"));
  const bytes = await Promise.all(scripts.map((name) => readFile(join(folder, "assets", name))));
  const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);
  const gzipped = sum(bytes.map((script) => gzipSync(script).length));
  process.stdout.write(
    `the page's script: ${gzipped} bytes with gzip, ${sum(bytes.map((script) => brotliCompressSync(script).length))} with brotli\n`,
  );
  expect(gzipped).toBeLessThan(100_000);
});

it("a stage that the page has never heard of is shown as its feature lays it out", async () => {
  const ref = { apiVersion: "toys.example/v1", kind: "Toy", resource: "toys.toys.example", namespace: "nursery", name: "bear" };
  const stage: StageRecord = { type: "step", id: "step/toys", step: "toys", summary: "", state: "on", resources: [], hidden: [], troubles: [] };
  const bear: ObjectRecord = {
    type: "object",
    id: "toys/nursery/bear",
    step: "toys",
    table: "toys",
    ref,
    health: "degraded",
    reason: "Torn",
    message: "its ear is torn",
    detail: "",
    about: ["bear"],
    conditions: [],
    facts: [{ name: "stuffing", text: "wool" }],
    cells: {
      toy: { main: "bear", sub: "nursery", look: "link" },
      state: { main: "torn", look: "health" },
      made: { main: { atMs: nowMs - 3 * 86_400_000 } },
    },
    texts: ["brown"],
  };
  const columns = [
    { id: "toy", title: "Toy", width: "1fr" },
    { id: "state", title: "State", width: "1fr" },
    { id: "made", title: "Made", width: "1fr" },
  ];
  const layout: StageLayout = {
    step: "toys",
    verb: "Play",
    title: "Toys",
    about: "Toys, and how they are.",
    one: "toy",
    many: "toys",
    tables: [{ id: "toys", title: "All toys", empty: { title: "No toys", text: "Make one.", command: "kubectl get toys" }, columns }],
  };
  const led = { ...stage, leader: { state: "led", message: "" } } as const;
  await using toyServer = await startContractServer({ folder, records: [led, bear], stages: [layout], detail });
  await using watched = await openInBrowser(browser(), toyServer.url);
  const { page, problems } = watched;
  await whenLive(page);
  await page.getByRole("navigation", { name: "Steps" }).getByRole("link", { name: "Play" }).click();
  await page.getByRole("heading", { name: "Toys" }).waitFor();
  await page.getByRole("searchbox").fill("brown");
  expect(await page.getByRole("table", { name: "All toys" }).getByRole("row").nth(1).innerText()).toMatch(/bear\s+nursery\s+torn\s+3 d/);
  await page.getByRole("link", { name: "bear" }).click();
  await page.locator("main", { hasText: "wool" }).waitFor();
  expect(problems).toEqual([]);
});
