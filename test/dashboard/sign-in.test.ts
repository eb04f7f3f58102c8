// The page of an operator in a cluster: it asks for a token, shows what that token's rights allow, and comes back after the operator was restarted.
import { useCluster } from "@keyturn/runtime/testing/vitest";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { buildDashboard } from "../../tools/build-dashboard.ts";
import { openInBrowser, useBrowser, whenLive, type WatchedPage } from "./chromium.ts";
import { everythingShown, seenKind, type ServedOperator, serveOperator, viewerToken } from "./served-operator.ts";
import { publishKeys, rotateKeys } from "./shown-objects.ts";

vi.setConfig({ testTimeout: 240_000 });
const cluster = useCluster();
const browser = useBrowser();
const namespace = "sign-in";

let operator: ServedOperator;
beforeAll(async () => {
  await buildDashboard();
  operator = await serveOperator(cluster());
  await publishKeys(cluster(), namespace, "tokens");
  await rotateKeys(cluster(), namespace, "keys");
});
afterAll(() => operator[Symbol.asyncDispose]());

async function signIn(token: string): Promise<WatchedPage> {
  const watched = await openInBrowser(browser(), `${operator.url}#/publish`);
  await watched.page.getByRole("textbox", { name: "Token" }).fill(token);
  await watched.page.getByRole("button", { name: "Sign in" }).click();
  return watched;
}

it("nobody sees anything without a token, with a wrong one, or with one that has no rights", async () => {
  await using anonymous = await openInBrowser(browser(), operator.url);
  await anonymous.page.getByRole("heading", { name: "Sign in" }).waitFor();
  await using wrong = await signIn("not-a-token");
  await wrong.page.getByRole("alert").filter({ hasText: "does not accept this token" }).waitFor();
  await using nobody = await signIn(await viewerToken(cluster(), "nobody", []));
  await nobody.page.getByRole("alert").filter({ hasText: "may not see anything" }).waitFor();
  for (const { page, problems } of [anonymous, wrong, nobody]) {
    expect(await page.locator("body").textContent()).not.toContain(namespace);
    expect(problems).toEqual([]);
  }
});

it("who may see one kind sees that, and is told what is left out", async () => {
  await using watched = await signIn(await viewerToken(cluster(), "keys-only", [seenKind("jwksconfigs.keyturn.io")]));
  const { page, problems } = watched;
  await whenLive(page);
  await page.locator(".lane.group", { hasText: "tokens" }).waitFor();
  await page.getByRole("link", { name: "Rotate" }).click();
  await page.getByText(/You may not see these.*rotationtargets/).waitFor();
  expect(await page.locator("main").textContent()).not.toContain("keys-live");
  expect(problems).toEqual([]);
});

it("after the operator was restarted, the page is live again by itself and shows what happened meanwhile", async () => {
  await using watched = await signIn(await viewerToken(cluster(), "everything", everythingShown));
  const { page, problems } = watched;
  await whenLive(page);
  await page.locator(".lane.group", { hasText: "tokens" }).waitFor();
  const { host } = new URL(operator.url);
  await operator.stop();
  await page.getByText("This is how it was").waitFor();
  expect(await page.locator(".lane.group", { hasText: "tokens" }).count()).toBe(1);
  await publishKeys(cluster(), namespace, "more-keys");
  operator = await serveOperator(cluster(), { bindAddress: host });
  await page.locator(".lane.group", { hasText: "more-keys" }).waitFor();
  await page.locator('[data-state="live"]').waitFor();
  await page.getByText("This is how it was").waitFor({ state: "detached" });
  expect(problems).toEqual([]);
});
