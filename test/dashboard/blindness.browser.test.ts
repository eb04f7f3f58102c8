// Every way to be blind, in every view: what cannot be seen is said there, and nothing is claimed about it. With objects that were last seen well, and without any.
import type { DashboardRecord, ObjectDetail, ObjectRecord, StageRecord } from "@keyturn/dashboard/contract";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { stageLayout } from "../../packages/keyturn/src/dashboard/dashboard.ts";
import { features } from "../../packages/keyturn/src/registry.ts";
import { buildDashboard } from "../../tools/build-dashboard.ts";
import { goTo, openInBrowser, useBrowser, whenAt, whenLive } from "./support/chromium.ts";
import { startContractServer } from "./support/contract-server.ts";
import { stageRecords, syntheticRecords, wellRecords } from "./support/synthetic-records.ts";

const browser = useBrowser();
const nowMs = Date.now();
let folder: string;
beforeAll(async () => {
  folder = await buildDashboard();
});

const stages = features.map(stageLayout);
const known = "object/rotationtargets.rotator.k8s.telekom.com/team-00/signing-key-00000-live";
const unseen = "object/kinds.example/team-99/nobody-knows-it";
const views = ["overview", ...stages.map(({ verb }) => verb.toLowerCase().replaceAll(" ", "-")), known, unseen];

/** What nobody may say who does not see everything. */
const claims = ["Nothing needs attention", "Nothing is due by itself", ...stages.flatMap(({ tables }) => tables.map(({ empty }) => empty.title))];

/** True of an object in a namespace that is seen. */
const noSuchObject = "Nothing is known about this object";

/** A way to be blind. */
interface Blindness {
  readonly name: string;
  /** What the records of the steps say then. */
  readonly stage?: Partial<StageRecord>;
  /** Records that do not arrive. */
  readonly hides?: (record: ObjectRecord) => boolean;
  readonly isCut?: true;
  readonly namespaces?: readonly string[];
  /** In the header. */
  readonly word: string;
  /** Above or below every view. */
  readonly says: RegExp;
  /** The limit is a part of each claim, which is true of what is seen. */
  readonly limit?: string;
}

const kind = "kinds.example";
const kinds = { resource: kind, message: "connect ECONNREFUSED 127.0.0.1:6443" };
const blindnesses: readonly Blindness[] = [
  {
    name: "the API server is dead",
    stage: { troubles: [{ ...kinds, state: "retrying" }], asOfMs: nowMs - 130_000 },
    word: "no API server",
    says: /the API server does not answer; this is how it was \d+ min ago/i,
  },
  {
    name: "the API server is frozen, and who leads is asked of it",
    stage: {
      troubles: [{ ...kinds, state: "retrying" }],
      asOfMs: nowMs - 130_000,
      leader: { state: "unknown", message: "it has not answered" },
    },
    word: "no API server",
    says: /the API server does not answer; this is how it was \d+ min ago.*no operator is known to lead/i,
  },
  {
    name: "the viewer has no rights",
    stage: { hidden: [kind], leader: { state: "unknown", message: "the right to list leases is missing" } },
    hides: () => true,
    word: "rights missing",
    says: /a right is missing/i,
  },
  {
    name: "the operator's own rights are missing",
    stage: { state: "limited", troubles: [{ resource: kind, state: "forbidden", message: "the right to list kinds is missing" }] },
    hides: () => true,
    word: "rights missing",
    says: /a right is missing/i,
  },
  {
    name: "the viewer has rights in one namespace",
    stage: { shownIn: ["team-00"] },
    hides: ({ ref }) => ref.namespace !== "team-00",
    word: "live in team-00",
    says: /shown: namespace team-00; others are not visible to you/i,
    limit: "namespace team-00",
  },
  {
    name: "one namespace was asked for",
    namespaces: ["team-00"],
    word: "live in team-00",
    says: /shown: namespace team-00, as asked for/i,
    limit: "namespace team-00",
  },
  {
    name: "there is no operator",
    stage: { leader: { state: "none", message: "there is no Lease of an operator" } },
    word: "no operator",
    says: /no operator is known to lead/i,
  },
  {
    name: "the operator is stopped",
    stage: { leader: { state: "none", message: "pod-1 has not renewed its Lease" } },
    word: "no operator",
    says: /no operator is known to lead/i,
  },
  { name: "the page has lost its server", isCut: true, word: "disconnected", says: /This is how it was/ },
];

/** All that is wrong with a view, in words. */
async function lies(page: Page, view: string, { word, says, limit }: Blindness): Promise<readonly string[]> {
  const found: string[] = [];
  const header = await page.locator(".connection").innerText();
  if (!header.includes(word)) found.push(`the header says ${header}`);
  const around = (await page.locator(".doubt-strip, .cut-banner").allInnerTexts()).join("\n").replaceAll(/\s+/g, " ");
  if (!says.test(around)) found.push(`around it is said: ${around}`);
  const main = (await page.locator("main").innerText()).replaceAll(/\s+/g, " ");
  if ((limit === undefined || view === unseen) && main.includes(noSuchObject)) found.push(`it claims: ${noSuchObject}`);
  // What is seen may be called well where the limit is part of what is said.
  if (limit === undefined) {
    const green = await page.locator(".flow .tone-healthy, main .tone-healthy, .connection.tone-healthy").count();
    if (green > 0) found.push(`${green} things are green`);
    for (const claim of claims) if (main.includes(claim)) found.push(`it claims: ${claim}`);
  } else for (const claim of claims) if (main.replaceAll(`${claim} in ${limit}`, "").includes(claim)) found.push(`it claims: ${claim}`);
  return found;
}

const detail: ObjectDetail = {
  ref: { apiVersion: "v1", kind: "Secret", resource: "secrets", namespace: "team-00", name: "x" },
  events: [{ type: "Normal", reason: "VersionRotated", note: "", action: "Rotate", firstMs: nowMs, lastMs: nowMs, count: 1, controller: "rotation" }],
  history: [],
  commands: [],
};

describe.each([
  {
    objects: "objects that were well",
    records: wellRecords(syntheticRecords({ issued: 1, rotationSet: 1, keySet: 1, checksum: 1, agent: 1, workload: 1 }, nowMs)),
  },
  { objects: "no objects", records: stageRecords() },
])("with $objects", ({ records }) => {
  it.each(blindnesses)("$name: every view says so and claims nothing", async (blindness) => {
    const { stage = {}, hides = () => false, isCut = false, namespaces } = blindness;
    const shown = records.flatMap((record): readonly DashboardRecord[] =>
      record.type === "step" ? [{ ...record, resources: [kind], ...stage }] : hides(record) ? [] : [record],
    );
    await using server = await startContractServer({ folder, records: shown, detail, ...(namespaces && { namespaces }) });
    await using watched = await openInBrowser(browser(), server.url, { reducedMotion: "reduce" });
    const { page, problems } = watched;
    await whenLive(page);
    if (isCut) {
      server.cut();
      await page.locator('[data-state="cut"]').waitFor();
    }
    const cells: Record<string, readonly string[]> = {};
    for (const view of views) {
      await goTo(page, `#/${view}`);
      await whenAt(page, view);
      await page.locator(".loading").waitFor({ state: "detached" });
      cells[view] = await lies(page, view, blindness);
    }
    expect(cells).toEqual(Object.fromEntries(views.map((view) => [view, []])));
    expect(problems).toEqual([]);
  });
});
