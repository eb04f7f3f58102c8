// The page and its connection: live changes, a cut and its end, and a server that no longer lets it in.
import { afterEach, expect, it } from "vitest";
import { soon } from "@keyturn/runtime/testing/vitest";
import { buildDashboard } from "../../tools/build-dashboard.ts";
import { openInBrowser, useBrowser, whenLive } from "./support/chromium.ts";
import { type ContractServer, type ContractServerOptions, startContractServer } from "./support/contract-server.ts";
import { faringAs, syntheticIssued, syntheticRecords } from "./support/synthetic-records.ts";

const browser = useBrowser();
const nowMs = Date.now();
let server: ContractServer | undefined;
afterEach(async () => {
  await server?.[Symbol.asyncDispose]();
  server = undefined;
});

async function serve(options: Partial<ContractServerOptions> = {}): Promise<ContractServer> {
  server = await startContractServer({ folder: await buildDashboard(), records: syntheticRecords({ issued: 5 }, nowMs), ...options });
  return server;
}

it("what changes is shown, what is gone goes", async () => {
  const { url, send } = await serve();
  await using watched = await openInBrowser(browser(), `${url}#/issue`);
  const { page, problems } = watched;
  await whenLive(page);
  await page.getByRole("link", { name: "runtime-00004" }).waitFor();
  send({
    upserts: [faringAs(syntheticIssued(1, nowMs), "failed", "TargetUnreachable"), syntheticIssued(77, nowMs)],
    removals: [syntheticIssued(4, nowMs).id],
  });
  await page.getByText("TargetUnreachable").waitFor();
  await page.getByRole("link", { name: "runtime-00077" }).waitFor();
  await page.getByRole("link", { name: "runtime-00004" }).waitFor({ state: "detached" });
  expect(problems).toEqual([]);
});

it("after a cut it says since when, keeps what it has, and goes on where it was", async () => {
  const { url, send, cut, mend, resumedFrom } = await serve();
  await using watched = await openInBrowser(browser(), `${url}#/issue`);
  const { page, problems } = watched;
  await whenLive(page);
  send({ upserts: [syntheticIssued(6, nowMs)], removals: [] });
  await page.getByRole("link", { name: "runtime-00006" }).waitFor();
  cut();
  await page.getByText("This is how it was").waitFor();
  await page.locator('[data-state="cut"]').waitFor();
  expect(await page.getByRole("link", { name: "runtime-00006" }).count()).toBe(1);
  send({ upserts: [syntheticIssued(7, nowMs)], removals: [syntheticIssued(0, nowMs).id] });
  mend();
  await page.getByRole("link", { name: "runtime-00007" }).waitFor();
  await page.getByRole("link", { name: "runtime-00000" }).waitFor({ state: "detached" });
  await page.locator('[data-state="live"]').waitFor();
  await page.getByText("This is how it was").waitFor({ state: "detached" });
  expect(resumedFrom).toEqual([undefined, "boot:2"]);
  expect(problems).toEqual([]);
});

it("a server that stops is awaited", async () => {
  const { url, end, resumedFrom } = await serve();
  await using watched = await openInBrowser(browser(), url);
  await whenLive(watched.page);
  end({ reason: "restart", message: "the server is being restarted" });
  await soon(() => expect(resumedFrom).toHaveLength(2));
  await whenLive(watched.page);
});

it("asks for a token, says what is wrong with it, and shows nothing until it is right", async () => {
  const { url, asked } = await serve({ token: "right" });
  await using watched = await openInBrowser(browser(), `${url}#/issue`);
  const { page, problems } = watched;
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  const signIn = async (token: string): Promise<void> => {
    await page.getByRole("textbox", { name: "Token" }).fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
  };
  await signIn("wrong");
  await page.getByRole("alert").filter({ hasText: "does not accept this token" }).waitFor();
  await signIn("narrow");
  await page.getByRole("alert").filter({ hasText: "may not see anything" }).waitFor();
  expect(await page.getByText("runtime-00001").count()).toBe(0);
  await signIn("right");
  await page.getByRole("link", { name: "runtime-00001" }).waitFor();
  expect(asked.filter((path) => path.includes("right"))).toEqual([]);

  await page.reload();
  await page.getByRole("link", { name: "runtime-00001" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  expect(await page.getByText("runtime-00001").count()).toBe(0);
  await page.reload();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  expect(problems).toEqual([]);
});

it("when the token is no longer good, the session ends and takes along what was shown", async () => {
  const { url, end } = await serve({ token: "right" });
  await using watched = await openInBrowser(browser(), `${url}#secret=right`);
  const { page } = watched;
  await whenLive(page);
  expect(page.url()).not.toContain("secret");
  end({ reason: "access", message: "the token has been revoked" });
  await page.getByRole("alert").filter({ hasText: "the session has ended" }).waitFor();
  expect(await page.getByText("runtime-").count()).toBe(0);
});
