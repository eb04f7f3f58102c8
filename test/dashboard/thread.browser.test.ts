// One credential's thread on the page, and the ways to what one looks for: problems by reason, search, namespaces, sorting, rows.
import type { DashboardRecord, ObjectRecord } from "@keyturn/dashboard/contract";
import { afterAll, beforeAll, expect, it } from "vitest";
import { soon } from "@keyturn/runtime/testing/vitest";
import { features } from "../../packages/keyturn/src/registry.ts";
import { credentialStatusOf, parseSubject, placed } from "../../packages/keyturn/src/status/credentials.ts";
import { buildDashboard } from "../../tools/build-dashboard.ts";
import { accessibilityProblems, goTo, openInBrowser, phone, surplusWidth, useBrowser, whenLive } from "./support/chromium.ts";
import { type ContractServer, startContractServer } from "./support/contract-server.ts";
import { syntheticRecords } from "./support/synthetic-records.ts";

const browser = useBrowser();
const nowMs = Date.now();

/** What each record is about, as if a key were rotated, published from its live copy, and used by a workload. */
function aboutOf({ table, ref, about }: ObjectRecord): readonly string[] {
  const number = /\d{5}$/.exec(ref.name)?.[0] ?? "";
  const own = { keySets: [ref.name, `key-${number}-live`, `${ref.name}-jwks`], workloads: [ref.name, `tokens-${number}-jwks`], issued: [ref.name] };
  return own[table as keyof typeof own] ?? about;
}

function threaded(record: DashboardRecord): DashboardRecord {
  if (record.type === "step") return record;
  if (record.table !== "rotationSets") return { ...record, about: aboutOf(record) };
  const number = /\d{5}/.exec(record.ref.name)?.[0] ?? "";
  const lanes = record.lanes?.map((lane) => ({ ...lane, about: [lane.ref.name, `key-${number}`, `key-${number}-live`] }));
  return { ...record, about: [`key-${number}`, `key-${number}-live`], ...(lanes && { lanes }) };
}

const made = syntheticRecords({ issued: 120, rotationSet: 40, keySet: 40, checksum: 30, agent: 5, workload: 40 }, nowMs).map(threaded);
/** Some workloads also have a part in the last step, under the same name. */
const used = made.flatMap((record): readonly DashboardRecord[] =>
  record.type === "object" && record.table === "workloads" && record.ref.name < "service-00010"
    ? [{ ...record, id: record.id.replace("workload/", "consumer/"), step: "consumers" }]
    : [],
);
const records = [...made, ...used];

let server: ContractServer;
beforeAll(async () => {
  const ref = { apiVersion: "v1", kind: "Secret", resource: "secrets", namespace: "team-03", name: "x" };
  server = await startContractServer({ folder: await buildDashboard(), records, detail: { ref, events: [], history: [], commands: [] } });
});
afterAll(() => server[Symbol.asyncDispose]());

/** What `keyturn status NAME` lists, from the same records. */
function statusNames(subject: string, namespace: string): readonly string[] {
  const steps = features.map(({ name, stage, records: { perNamespace = false } }) => ({
    step: stage.verb,
    feature: name,
    perNamespace,
    objects: records.flatMap((record) =>
      record.type === "object" && record.step === name && record.ref.namespace === namespace ? (record.lanes ?? [record]) : [],
    ),
    unread: [],
    controllers: [],
    leases: [],
    absent: false,
    health: "healthy" as const,
    doubts: [],
  }));
  const status = credentialStatusOf({ atMs: nowMs, namespace, steps, leasesUnread: undefined }, parseSubject(subject));
  return placed(status).map(({ step, report }) => `${step}: ${report.ref.name}`);
}

it("the page of each object on a thread shows the objects that `keyturn status` lists, each of them a link to its own", async () => {
  await using watched = await openInBrowser(browser(), server.url, { reducedMotion: "reduce" });
  const { page, problems } = watched;
  await whenLive(page);
  const expected = statusNames("tokens-00003", "team-03");
  expect(new Set(expected.map((line) => line.split(":")[0]))).toEqual(new Set(["rotate", "publish", "roll out", "use"]));
  const shown = async (): Promise<readonly string[]> => {
    const steps = await page.locator(".thread > li").all();
    const lines = await Promise.all(
      steps.map(async (step) => {
        const verb = (await step.locator(".thread-step").innerText()).toLowerCase();
        return (await step.locator(".what > :first-child").allInnerTexts()).map((name) => `${verb}: ${name}`);
      }),
    );
    return lines.flat();
  };
  // The Secret itself has no record, and is on the thread all the same.
  for (const object of ["jwksconfigs.keyturn.io/team-03/tokens-00003", "secrets/team-03/key-00003-live", "deployments.apps/team-03/service-00003"]) {
    await goTo(page, `#/object/${object}`);
    await soon(async () => expect(await page.locator("main h1").innerText()).toBe(object.split("/")[2]));
    expect(await shown()).toEqual(expected);
    await page.locator(".loading").waitFor({ state: "detached" });
    expect(await accessibilityProblems(page)).toEqual([]);
  }
  await page.getByRole("link", { name: "tokens-00003", exact: true }).click();
  await page.getByRole("heading", { name: "tokens-00003", level: 1 }).waitFor();
  // Its neighbours.
  await page.getByRole("link", { name: "ConfigMap tokens-00003-jwks" }).click();
  await page.getByRole("heading", { name: "tokens-00003-jwks", level: 1 }).waitFor();
  expect(await shown()).toEqual(expected);
  await page.getByRole("link", { name: "team-03", exact: true }).click();
  await page.locator('main[data-view="overview"]').waitFor();
  expect(problems).toEqual([]);
});

it("a step shows its own workloads, also where another step has some of the same name", async () => {
  await using watched = await openInBrowser(browser(), `${server.url}#/use`);
  await whenLive(watched.page);
  await watched.page.getByText(`${used.length} of ${used.length} workloads`).waitFor({ state: "attached" });
  await goTo(watched.page, "#/roll-out");
  await watched.page.getByText("40 of 40 workloads").waitFor({ state: "attached" });
});

it("problems are told by reason, and lead to all that have it", async () => {
  await using watched = await openInBrowser(browser(), server.url, { reducedMotion: "reduce" });
  const { page, problems } = watched;
  await whenLive(page);
  const attention = page.getByRole("region", { name: "Needs attention" });
  const expired = attention.getByRole("listitem").filter({ hasText: "CertificateExpired" }).filter({ hasText: "7 runtimes" });
  expect(await expired.getByRole("link").count()).toBe(5);
  const failing = await Promise.all((await attention.locator("li > .health").all()).map((mark) => mark.getAttribute("class")));
  expect(failing).toEqual(failing.toSorted((left, right) => ranks.indexOf(left ?? "") - ranks.indexOf(right ?? "")));
  await expired.getByRole("link", { name: "and 3 more" }).click();
  await page.getByText("7 of 120 runtimes").waitFor({ state: "attached" });
  expect(problems).toEqual([]);
});

const ranks = ["failed", "degraded", "unknown"].map((health) => `health tone-${health}`);

it("/ searches everything where there is no list, titles sort, namespaces narrow, and a row leads to its object", async () => {
  await using watched = await openInBrowser(browser(), `${server.url}#/object/jwksconfigs.keyturn.io/team-03/tokens-00003`, {
    reducedMotion: "reduce",
  });
  const { page, problems } = watched;
  await whenLive(page);
  await page.getByRole("heading", { name: "tokens-00003", level: 1 }).waitFor();
  await page.keyboard.press("/");
  await soon(async () => expect(await page.evaluate<string>("document.activeElement.id")).toBe("search"));
  await page.keyboard.type("runtime-00043");
  await page.getByRole("list", { name: "Found" }).getByRole("link", { name: "runtime-00043" }).waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);

  await goTo(page, "#/issue");
  const first = page.getByRole("row").nth(1);
  await page.getByRole("button", { name: "Runtime", exact: true }).click();
  await page.getByRole("columnheader", { name: "Runtime" }).and(page.locator('[aria-sort="ascending"]')).waitFor();
  await first.getByRole("link", { name: "runtime-00000" }).waitFor();
  await page.getByRole("button", { name: "Runtime" }).click();
  await first.getByRole("link", { name: "runtime-00119" }).waitFor();
  await page.getByRole("button", { name: "State" }).click();
  await first.getByText("NameConflict").waitFor();
  await page.getByRole("combobox", { name: "Namespace" }).selectOption("team-07");
  await page.getByText("3 of 120 runtimes").waitFor({ state: "attached" });
  await page.waitForURL(/namespace=team-07.*sort=state/);
  expect(await accessibilityProblems(page)).toEqual([]);
  await first.getByText("team-07").click();
  await page.locator('main[data-view="object"]').waitFor();
  expect(problems).toEqual([]);
});

it("on a phone what needs attention comes before the steps, and names are cut in the middle", async () => {
  await using watched = await openInBrowser(browser(), server.url, { viewport: phone, hasTouch: true });
  const { page } = watched;
  await whenLive(page);
  const top = (selector: string): Promise<number> =>
    page.evaluate<number>(`document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect().top`);
  expect(await top(".attention")).toBeLessThan(await top(".steps"));
  expect(await top(".steps")).toBeLessThan(await top(".coming-up"));
  expect(await surplusWidth(page)).toBe(0);
});

function inTrouble(record: DashboardRecord): DashboardRecord {
  return record.type === "step" ? record : { ...record, health: "failed", about: [record.ref.name] };
}

it("with 5,000 objects that are all in trouble, the overview and the page of one draw no more than with fifty", async () => {
  const many = syntheticRecords({ issued: 5000 }, nowMs).map(inTrouble);
  await using big = await startContractServer({
    folder: await buildDashboard(),
    records: many,
    detail: { ref: { apiVersion: "", kind: "", resource: "", namespace: "", name: "" }, events: [], history: [], commands: [] },
  });
  await using watched = await openInBrowser(browser(), big.url);
  const { page, problems } = watched;
  await whenLive(page);
  await page.getByText("5000 objects").waitFor();
  const drawn = (): Promise<number> => page.evaluate<number>("document.querySelectorAll('main *').length");
  expect(await drawn()).toBeLessThan(500);
  await page.getByRole("searchbox").fill("runtime");
  await page.getByText("The first 20 of 5000 objects").waitFor();
  expect(await drawn()).toBeLessThan(700);
  await goTo(page, "#/object/eventingauths.operator.kyma-project.io/team-01/runtime-00001");
  await page.getByRole("heading", { name: "runtime-00001", level: 1 }).waitFor();
  expect(await drawn()).toBeLessThan(300);
  expect(problems).toEqual([]);
});
