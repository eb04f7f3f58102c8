// 10,000 objects of a kind: what is drawn stays small, a change costs what it touches, and the frames are timed for whoever wants to know.
import { expect, it } from "vitest";
import { buildDashboard } from "../../tools/build-dashboard.ts";
import { goTo, openInBrowser, useBrowser, whenLive } from "./support/chromium.ts";
import { startContractServer } from "./support/contract-server.ts";
import { faringAs, syntheticIssued, syntheticRotationSet, syntheticRecords } from "./support/synthetic-records.ts";

const browser = useBrowser();
const many = 10_000;

/** What was seen while the page was scrolled through. */
interface Scrolled {
  readonly frameMs: readonly number[];
  /** How many things were drawn in the frame that had the most. */
  readonly most: number;
}

/** Scrolls through the page in steps of 400 pixels, for 60 frames, and looks at the elements of a class in each. */
const scrollAndLook = (drawn: string): string => `new Promise((resolve) => {
  const frameMs = [];
  let most = 0;
  let last;
  const next = (now) => {
    if (last !== undefined) frameMs.push(now - last);
    last = now;
    most = Math.max(most, document.querySelectorAll(${JSON.stringify(drawn)}).length);
    scrollBy(0, 400);
    if (frameMs.length < 60) requestAnimationFrame(next);
    else resolve({ frameMs, most });
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
  server.send({ upserts: [faringAs(syntheticIssued(40, nowMs), "progressing", "InProgress")], removals: [] });
  await page.getByText("InProgress").waitFor();
  expect(await page.evaluate("window.rows.every((row) => row.isConnected)")).toBe(true);
  expect(await page.evaluate<number>("window.touched")).toBeLessThan(12);

  let sent = 0;
  const sender = setInterval(() => {
    const upserts = Array.from({ length: 200 }, (_, index) => syntheticIssued((sent * 200 + index) % many, nowMs - 60_000));
    server.send({ upserts, removals: [] });
    sent++;
  }, 100);
  let rows: Scrolled;
  try {
    rows = await page.evaluate<Scrolled>(scrollAndLook(".table-row"));
  } finally {
    clearInterval(sender);
  }
  await goTo(page, "#/rotate");
  await page.locator(".bar").first().waitFor();
  expect(await page.locator(".lane").count()).toBeLessThan(60);
  server.send({ upserts: [faringAs(syntheticRotationSet(0, nowMs), "failed", "SourceConflict")], removals: [] });
  const lanes = await page.evaluate<Scrolled>(scrollAndLook(".lane"));
  process.stdout.write(
    `${many} objects, ms per frame, 2,000 changes/s: rows ${JSON.stringify(figures(rows.frameMs))}; lanes ${JSON.stringify(figures(lanes.frameMs))}\n`,
  );
  for (const { most } of [rows, lanes]) {
    expect(most).toBeGreaterThan(10);
    expect(most).toBeLessThan(60);
  }
  expect(problems).toEqual([]);
});
