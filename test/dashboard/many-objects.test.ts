// 10,000 objects of a kind: what is drawn stays small, a change costs what it touches, and the frames are measured.
import { expect, it, vi } from "vitest";
import { buildDashboard } from "../../tools/build-dashboard.ts";
import { goTo, openInBrowser, useBrowser, whenLive } from "./chromium.ts";
import { startContractServer } from "./contract-server.ts";
import { issuedRecord, rotationSetRecord, syntheticRecords } from "./synthetic-records.ts";

vi.setConfig({ testTimeout: 240_000 });
const browser = useBrowser();
const many = 10_000;

/** Scrolls through the page in steps of 400 pixels, for 120 frames or six seconds, and gives the times between frames. */
const scrollAndMeasure = `new Promise((resolve) => {
  const times = [];
  const begin = performance.now();
  let last = begin;
  const next = (now) => {
    times.push(now - last);
    last = now;
    scrollBy(0, 400);
    if (times.length < 120 && now - begin < 6000) requestAnimationFrame(next);
    else resolve(times.slice(1));
  };
  requestAnimationFrame(next);
})`;

function figures(times: readonly number[]): { readonly median: number; readonly p95: number; readonly worst: number } {
  const sorted = times.toSorted((left, right) => left - right);
  const at = (share: number): number => Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) * 10) / 10;
  return { median: at(0.5), p95: at(0.95), worst: at(1) };
}

it("stays smooth while everything changes", async () => {
  const nowMs = Date.now();
  await using server = await startContractServer({
    folder: await buildDashboard(),
    records: syntheticRecords({ issued: many, rotationSet: many }, nowMs),
  });
  await using watched = await openInBrowser(browser(), `${server.url}#/issue`);
  const { page, problems } = watched;
  await whenLive(page);
  await page.getByText(`${many} of ${many} runtimes`).waitFor({ state: "attached" });
  expect(await page.locator(".table-row").count()).toBeLessThan(60);

  // A change of one row leaves the elements of the others alone, and their texts too.
  await page.evaluate("window.rows = [...document.querySelectorAll('.table-row')]; window.touched = 0");
  await page.evaluate(
    "new MutationObserver((changes) => { for (const { target } of changes) if (!target.parentElement?.closest('time') && target.nodeName !== 'TIME') touched++ }).observe(document.querySelector('.table-body'), { subtree: true, childList: true, characterData: true, attributes: true })",
  );
  server.send({ upserts: [{ ...issuedRecord(40, nowMs), health: "busy", reason: "InProgress" }], removals: [] });
  await page.getByText("InProgress").waitFor();
  expect(await page.evaluate("window.rows.every((row) => row.isConnected)")).toBe(true);
  expect(await page.evaluate<number>("window.touched")).toBeLessThan(12);

  let sent = 0;
  const sender = setInterval(() => {
    const upserts = Array.from({ length: 200 }, (_, index) => issuedRecord((sent * 200 + index) % many, nowMs - 60_000));
    server.send({ upserts, removals: [] });
    sent++;
  }, 100);
  let rows: readonly number[];
  try {
    rows = await page.evaluate<readonly number[]>(scrollAndMeasure);
  } finally {
    clearInterval(sender);
  }
  await goTo(page, "#/rotate");
  await page.locator(".bar").first().waitFor();
  expect(await page.locator(".lane").count()).toBeLessThan(60);
  server.send({ upserts: [{ ...rotationSetRecord(0, nowMs), reason: "SourceConflict", health: "error" }], removals: [] });
  const lanes = await page.evaluate<readonly number[]>(scrollAndMeasure);
  process.stdout.write(
    `${many} objects, ms per frame, 2,000 changes/s: rows ${JSON.stringify(figures(rows))}; lanes ${JSON.stringify(figures(lanes))}\n`,
  );
  // No measurement on a busy machine, only a limit that a page which draws everything anew would miss.
  expect(figures(rows).median).toBeLessThan(5000);
  expect(figures(lanes).median).toBeLessThan(5000);
  expect(problems).toEqual([]);
});
