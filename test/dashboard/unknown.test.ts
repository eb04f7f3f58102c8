// What cannot be seen is unknown and wants attention: a dead API server, missing rights, no operator, a page that is cut off.
import { readFile } from "node:fs/promises";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import type { StageRecord } from "@keyturn/dashboard/contract";
import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { renderCrds } from "../../packages/keyturn/src/cli/manifests.ts";
import { buildDashboard } from "../../tools/build-dashboard.ts";
import {
  accessibilityProblems,
  goTo,
  openInBrowser,
  phone,
  surplusWidth,
  useBrowser,
  type WatchedPage,
  whenAt,
  whenLive,
} from "./support/chromium.ts";
import { startContractServer } from "./support/contract-server.ts";
import { startDashboardCommand } from "./support/dashboard-command.ts";
import { everythingShown, seenKind, serveOperator, viewerToken } from "./support/served-operator.ts";
import { applyIn, publishKeys } from "./support/shown-objects.ts";
import { stageRecords, syntheticRecords } from "./support/synthetic-records.ts";
import { features } from "../../packages/keyturn/src/registry.ts";

const cluster = useCluster();
const browser = useBrowser();
const all = ["unknown", "unknown", "unknown", "unknown", "unknown", "unknown"];

const kymaCrd = new URL("../../examples/issue/kyma-crd.yaml", import.meta.url);

let folder: string;
beforeAll(async () => {
  folder = await buildDashboard();
  await cluster().apply(renderCrds(features));
  // Once: a key that replaces another is under way for a while.
  await publishKeys(cluster(), "shop", "tokens");
});

/** The page of `keyturn dashboard`, which leaves sidecars out. */
async function ownPage(kubeconfig: string, ...args: readonly string[]): Promise<WatchedPage> {
  await using stack = new AsyncDisposableStack();
  const { url, secret } = stack.use(await startDashboardCommand(kubeconfig, "--no-plan-sidecars", ...args));
  const watched = stack.use(await openInBrowser(browser(), `${url}#secret=${secret}`));
  const kept = stack.move();
  return { ...watched, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** How the steps fare by their marks: in the way through the page, or on the cards of the overview. */
function marks(page: Page, where = ".flow"): Promise<readonly string[]> {
  return page.locator(`${where} .health`).allInnerTexts();
}

function attention(page: Page): Locator {
  return page.getByRole("region", { name: "Needs attention" });
}

/** What must hold whenever anything is unknown. */
async function claimsNothing(page: Page): Promise<void> {
  expect(await page.getByText("Nothing needs attention").count()).toBe(0);
  expect(await page.locator(".flow .tone-healthy, main .tone-healthy").count()).toBe(0);
  expect(await page.locator(".connection.tone-healthy").count()).toBe(0);
}

const views = ["issue", "rotate", "publish", "verify", "roll-out", "use", "object/jwksconfigs.keyturn.io/shop/tokens", "overview"];

/** In every view, the strip says this, and nothing is claimed. */
async function everyViewSays(page: Page, says: RegExp): Promise<void> {
  for (const view of views) {
    await goTo(page, `#/${view}`);
    await whenAt(page, view);
    await page.getByRole("complementary", { name: "What is not known" }).getByText(says).first().waitFor();
    await claimsNothing(page);
  }
}

test("without an operator no step is well; with one they are, until the API server dies, and again when it is back", async () => {
  await using watched = await ownPage(cluster().adminKubeconfig);
  const { page, problems } = watched;
  await whenLive(page);
  await attention(page).getByText("no leader: there is no Lease of an operator").waitFor();
  await attention(page).getByText("NotReported").waitFor();
  // Sidecars are left out, and that is not unknown but off.
  expect(await marks(page, ".steps")).toEqual(["unknown", "unknown", "unknown", "unknown", "switched off", "switched off"]);
  await claimsNothing(page);
  await page.getByRole("status").filter({ hasText: "no operator" }).waitFor();
  await everyViewSays(page, /no operator is known to lead/i);

  const operator = await serveOperator(cluster(), { controllers: "all" });
  await using stack = new AsyncDisposableStack();
  stack.use(operator);
  // A controller that waits for somebody else's CRD has no Lease, and nobody does its work.
  await attention(page).getByText("no leader: controller eventing-auth-kyma has no Lease").waitFor();
  await cluster().apply(await readFile(kymaCrd, "utf8"));
  await page.getByText("Nothing needs attention").waitFor();
  await soon(async () => expect(await marks(page, ".steps")).toEqual(["healthy", "healthy", "healthy", "healthy", "switched off", "switched off"]));
  await page.getByRole("status").filter({ hasText: "live" }).waitFor();

  await cluster().apiServer.kill();
  try {
    await attention(page).getByText("API server").waitFor();
    await page.reload();
    await whenLive(page);
    const strip = page.getByRole("complementary", { name: "What is not known" });
    await strip.getByText(/^the API server does not answer; this is how it was/).waitFor();
    await soon(async () => expect(await marks(page, ".steps")).toEqual(["unknown", "unknown", "unknown", "unknown", "switched off", "switched off"]));
    await everyViewSays(page, /the API server does not answer; this is how it was/i);
    await page.getByRole("link", { name: "Publish" }).first().click();
    await page.locator("main").getByText("Whether an operator leads this step is not known").waitFor();
    await strip.waitFor();
  } finally {
    await cluster().apiServer.start();
  }
  await page.getByRole("link", { name: "Keyturn", exact: true }).click();
  await page.getByText("Nothing needs attention").waitFor();
  await stack.disposeAsync();
  // The Leases are given back.
  await attention(page).getByText("no leader").first().waitFor();
  await soon(async () => expect(await marks(page, ".steps")).toEqual(["unknown", "unknown", "unknown", "unknown", "switched off", "switched off"]));
  await everyViewSays(page, /no operator is known to lead/i);
  expect(problems).toEqual([]);
});

test("somebody without rights sees that, and not that all is well", async () => {
  const kubeconfig = await cluster().kubeconfigFor({ user: "nobody-in-particular", rules: [] });
  await using watched = await ownPage(kubeconfig);
  const { page, problems } = watched;
  await whenLive(page);
  await attention(page).getByText("no right to list jwksconfigs.keyturn.io, jwks.rieset.io").waitFor();
  await attention(page)
    .getByText(/whether somebody leads is not known: the right to (list|watch) leases\.coordination\.k8s\.io in the cluster is missing/)
    .waitFor();
  expect((await marks(page)).slice(0, 4)).toEqual(all.slice(0, 4));
  await everyViewSays(page, /a right is missing/i);
  expect(problems).toEqual([]);
});

test("whose rights are in one namespace is told who leads if they may see the Leases there", async () => {
  await using _operator = await serveOperator(cluster(), { controllers: "jwks" });
  const seen = (apiGroups: readonly string[], resources: readonly string[]) => [{ apiGroups, resources, verbs: ["list", "watch"] }];
  const kubeconfig = await cluster().kubeconfigFor({
    user: "shopkeeper",
    namespacedRules: {
      shop: seen(["keyturn.io", "rieset.io"], ["jwksconfigs", "jwks"]),
      "keyturn-system": seen(["coordination.k8s.io"], ["leases"]),
    },
  });
  await using watched = await ownPage(kubeconfig, "--namespaces", "shop", "--operator-namespace", "keyturn-system");
  const { page } = watched;
  await whenLive(page);
  await soon(async () => expect(await marks(page)).toEqual(["unknown", "unknown", "healthy", "unknown", "unknown", "unknown"]));
  await attention(page).getByText("no right to list rotationtargets.rotator.k8s.telekom.com in shop").waitFor();
});

// The page is told after 25 s (status/server-contact.test.ts), and the tests below need no cluster: they go on meanwhile.
test.concurrent("a frozen API server, of which no watch and no viewer's token notices anything, is told on the operator's own page", async () => {
  await using operator = await serveOperator(cluster());
  const token = await viewerToken(cluster(), "all-seeing", everythingShown);
  await using watched = await openInBrowser(browser(), `${operator.url}#secret=${token}`);
  const { page } = watched;
  await whenLive(page);
  await page.getByText("Nothing needs attention").waitFor();
  const strip = page.getByRole("complementary", { name: "What is not known" });
  await cluster().apiServer.pause();
  try {
    await strip.getByText(/^the API server does not answer; this is how it was/).waitFor();
    await soon(async () => expect(await marks(page)).toEqual(all));
    await attention(page)
      .getByText(/whether somebody leads is not known: the API server has not answered since/)
      .waitFor();
    await everyViewSays(page, /the API server does not answer; this is how it was/i);
  } finally {
    cluster().apiServer.resume();
  }
  await page.getByText("Nothing needs attention").waitFor();
});

test.concurrent.each([
  { size: "wide and light", options: { colorScheme: "light" } },
  { size: "wide and dark", options: { colorScheme: "dark" } },
  { size: "360 pixels wide", options: { viewport: phone, colorScheme: "light", hasTouch: true } },
] as const)("cut off from its server, the page knows nothing for certain, and can be read: $size", async ({ options }) => {
  const records = Array.from(syntheticRecords({ issued: 3, keySet: 2 }, Date.now()), (record) =>
    record.type === "step" ? record : { ...record, health: "healthy" as const },
  );
  await using server = await startContractServer({ folder, records });
  await using watched = await openInBrowser(browser(), server.url, { ...options, reducedMotion: "reduce" });
  const { page, problems } = watched;
  await whenLive(page);
  await page.getByText("Nothing needs attention").waitFor();
  expect(await marks(page)).toEqual(["healthy", "healthy", "healthy", "healthy", "healthy", "healthy"]);
  server.cut();
  await attention(page).getByText("this page is cut off from its server").waitFor();
  expect(await marks(page)).toEqual(all);
  expect(await marks(page, ".steps")).toEqual(all);
  await claimsNothing(page);
  for (const view of ["issue", "publish"]) {
    await goTo(page, `#/${view}`);
    await whenAt(page, view);
    await page.locator("main .tone-unknown").first().waitFor();
    await claimsNothing(page);
  }
  await goTo(page, "#/overview");
  server.mend();
  await page.getByText("Nothing needs attention").waitFor();

  const because = { resource: "jwksconfigs.keyturn.io", message: "connect ECONNREFUSED 127.0.0.1:6443" };
  const troubles: Readonly<Record<string, Partial<StageRecord>>> = {
    jwks: { troubles: [{ ...because, state: "retrying" }], asOfMs: Date.now() - 130_000 },
    rotation: { hidden: ["rotationtargets.rotator.k8s.telekom.com"] },
    checksum: { leader: { state: "none", message: "pod-1 has not renewed its Lease" } },
  };
  const troubled = Array.from(stageRecords(), (record): StageRecord => ({ ...record, ...troubles[record.step] }));
  server.send({ upserts: troubled, removals: [] });
  await page.getByRole("complementary", { name: "What is not known" }).waitFor();
  expect(await marks(page)).toEqual(["healthy", "unknown", "unknown", "unknown", "healthy", "healthy"]);
  await attention(page).getByText("no right to list rotationtargets").waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(await surplusWidth(page)).toBe(0);
  expect(problems).toEqual([]);
});

test("who may look into one namespace is told so, and never that nothing needs attention elsewhere", async () => {
  await using operator = await serveOperator(cluster(), { controllers: "jwks" });
  const spec = { certificateSecret: "there-is-none", configMapName: "broken-jwks" };
  await applyIn(cluster(), "elsewhere", [{ apiVersion: "keyturn.io/v1alpha1", kind: "JWKSConfig", metadata: { name: "broken" }, spec }]);
  const token = await viewerToken(cluster(), "of-the-shop", [seenKind("jwksconfigs.keyturn.io", "shop"), seenKind("jwks.rieset.io", "shop")]);
  await using watched = await openInBrowser(browser(), `${operator.url}#secret=${token}`);
  const { page } = watched;
  await whenLive(page);
  await page.getByText("Nothing needs attention in namespace shop.").waitFor();
  await page.getByRole("status").filter({ hasText: "live in shop" }).waitFor();
  const limit = "shown: namespace shop; others are not visible to you";
  await page.getByRole("complementary", { name: "What is not known" }).getByText(limit).waitFor();
  await page.locator(".steps").getByText(limit).waitFor();
  // A card's bar and its text count the objects that are seen; nothing is said about the whole.
  expect(await page.locator(".flow .tone-healthy, .steps > .tone-healthy, .steps .health.tone-healthy, .connection.tone-healthy").count()).toBe(0);
  await page.getByRole("link", { name: "Publish" }).first().click();
  await page.locator("main .notice").getByText(limit).waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
});
