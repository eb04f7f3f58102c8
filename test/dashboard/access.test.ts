// Who may look at the dashboard in a cluster, and at what: tokens and rights, as the API server sees them, asked for by requests and on the page.
import { readFile } from "node:fs/promises";
import { freePort } from "@keyturn/runtime/testing";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildDashboard } from "../../tools/build-dashboard.ts";
import { openInBrowser, useBrowser, whenLive, type WatchedPage } from "./support/chromium.ts";
import { ask, namespacesIn, openPage } from "./support/page-reader.ts";
import { everythingShown, seenKind, type ServedOperator, serveOperator, viewerToken } from "./support/served-operator.ts";
import { publishKeys, rotateKeys } from "./support/shown-objects.ts";

const cluster = useCluster();
const browser = useBrowser();
const jwksConfigs = "jwksconfigs.keyturn.io";
const targets = "rotationtargets.rotator.k8s.telekom.com";

let operator: ServedOperator;
beforeAll(async () => {
  await buildDashboard();
  operator = await serveOperator(cluster(), {
    controllers: "all",
    // One that it can have again after a restart.
    bindAddress: `127.0.0.1:${await freePort()}`,
    tokenFreshMs: 300,
    streamTimes: { tickMs: 300 },
    // Refusals are what is tested here, and one after the other.
    rates: { requests: { burst: 1000, perMs: 1 }, failures: { burst: 1000, perMs: 1 } },
  });
  for (const namespace of ["alpha", "beta"]) {
    await publishKeys(cluster(), namespace, "tokens");
    await rotateKeys(cluster(), namespace, "keys");
  }
  const token = await viewerToken(cluster(), "everything", everythingShown);
  using page = await openPage(operator.url, { bearer: token });
  await soon(() => expect([page.table("keySets").length, page.table("rotationSets").length]).toEqual([2, 2]));
});
afterAll(() => operator?.[Symbol.asyncDispose]());

describe.each(["api/stream", `api/object?resource=${jwksConfigs}&namespace=alpha&name=tokens`])("%s", (path) => {
  test("is refused without a token", async () => {
    const { status, headers, body } = await ask(`${operator.url}${path}`);
    expect(status).toBe(401);
    expect(headers["www-authenticate"]).toBe('Bearer realm="keyturn"');
    expect(JSON.parse(body)).toEqual({ error: "a token is needed" });
  });

  test.each(["nonsense", "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl", "x".repeat(20_000)])(
    "is refused with a wrong token",
    async (bearer) => {
      expect((await ask(`${operator.url}${path}`, { bearer })).status).toBe(401);
    },
  );

  test("is refused with a token without rights", async () => {
    const bearer = await viewerToken(cluster(), "nobody", []);
    const { status, body } = await ask(`${operator.url}${path}`, { bearer });
    expect(status).toBe(403);
    expect(JSON.parse(body)).toEqual({ error: expect.stringMatching(/^system:serviceaccount:default:nobody may list and watch none of /) });
  });

  test("is refused to those who may list and not watch", async () => {
    const bearer = await viewerToken(cluster(), "lister", [{ apiGroups: ["*"], resources: ["*"], verbs: ["list"] }]);
    expect((await ask(`${operator.url}${path}`, { bearer })).status).toBe(403);
  });
});

test("who may see one kind gets that kind, and is told which are hidden", async () => {
  const bearer = await viewerToken(cluster(), "keys-only", [seenKind(jwksConfigs)]);
  using page = await openPage(operator.url, { bearer });
  await soon(() => expect(namespacesIn(page, "keySets")).toEqual(["alpha", "beta"]));
  expect(page.hello).toMatchObject({ user: "system:serviceaccount:default:keys-only", mode: "snapshot", cluster: "the cluster of the test" });
  expect(page.table("rotationSets")).toEqual([]);
  expect(page.bytes).not.toContain("rotation/");
  expect(page.stages.map(({ step, hidden }) => [step, hidden])).toEqual(
    expect.arrayContaining([
      ["jwks", ["jwks.rieset.io"]],
      ["rotation", [targets]],
    ]),
  );
});

test("who may see one namespace gets that namespace, and nothing of any other in the stream or by address", async () => {
  const bearer = await viewerToken(cluster(), "alpha-only", [seenKind(jwksConfigs, "alpha"), seenKind(targets, "alpha")]);
  using page = await openPage(operator.url, { bearer });
  await soon(() => expect(page.table("keySets").map(({ id }) => id)).toEqual(["jwks/JWKSConfig/alpha/tokens"]));
  expect(page.table("rotationSets").map(({ id }) => id)).toEqual(["rotation/alpha/keys"]);
  await cluster().kubectl("annotate", "-n", "beta", "jwksconfig", "tokens", "keyturn.io/revoke=none");
  await cluster().kubectl("delete", "-n", "beta", "rotationtarget", "keys-live", "keys-previous");
  await cluster().kubectl("delete", "-n", "alpha", "rotationtarget", "keys-live", "keys-previous");
  await soon(() => expect(page.table("rotationSets")).toEqual([]));
  expect(page.bytes).not.toContain("beta");
  const object = (namespace: string): string => `${operator.url}api/object?resource=${jwksConfigs}&namespace=${namespace}&name=tokens`;
  expect((await ask(object("beta"), { bearer })).status).toBe(404);
  const { status, body } = await ask(object("alpha"), { bearer });
  expect(status).toBe(200);
  expect(JSON.parse(body)).toMatchObject({ ref: { name: "tokens" }, eventsHidden: "you may not list events.events.k8s.io in namespace alpha" });
});

// The tests that follow change nothing that another one sees. They go on side by side: the API server believes a token for ten seconds after its end.

test.concurrent("the rights that the guide gives to viewers are enough for everything", async () => {
  const guide = await readFile(new URL("../../docs/guides/dashboard.md", import.meta.url), "utf8");
  const role = /```yaml\n(apiVersion: rbac[^]*?)```/.exec(guide)?.[1] ?? "";
  await cluster().apply(role);
  const bearer = await viewerToken(cluster(), "reader", []);
  await cluster().kubectl("create", "clusterrolebinding", "reader", "--clusterrole=keyturn-viewer", "--serviceaccount=default:reader");
  await soon(async () => {
    using page = await openPage(operator.url, { bearer });
    await soon(() => expect(page.stages).toHaveLength(6));
    expect(page.stages.map(({ state, hidden }) => [state === "off", hidden])).toEqual(Array.from({ length: 6 }, () => [false, []]));
  });
  const { body } = await ask(`${operator.url}api/object?resource=${jwksConfigs}&namespace=alpha&name=tokens`, { bearer });
  expect(JSON.parse(body)).toHaveProperty("events");
});

test.concurrent("Events are shown to those who may list them", async () => {
  const bearer = await viewerToken(cluster(), "events-too", [seenKind(jwksConfigs), seenKind("events.events.k8s.io", "alpha")]);
  await soon(async () => {
    const { body } = await ask(`${operator.url}api/object?resource=${jwksConfigs}&namespace=alpha&name=tokens`, { bearer });
    const { events } = JSON.parse(body) as { readonly events: readonly { readonly reason: string }[] };
    expect(events.map(({ reason }) => reason)).toContain("KeyAdded");
  });
});

test.concurrent("the stream of a token that is taken back ends, and so do later requests", async () => {
  const bearer = await viewerToken(cluster(), "leaver", everythingShown);
  using page = await openPage(operator.url, { bearer });
  await soon(() => expect(page.events).toContain("tick"));
  await cluster().kubectl("delete", "-n", "default", "serviceaccount", "leaver");
  await soon(() => expect(page.closed).toBe(true));
  expect(page.end?.reason).toBe("access");
  await soon(async () => expect((await ask(`${operator.url}api/stream`, { bearer, method: "HEAD" })).status).toBe(401));
});

test.concurrent("rights that are given or taken while a page is open take effect on it", async () => {
  const bearer = await viewerToken(cluster(), "changing", [seenKind(jwksConfigs)]);
  using page = await openPage(operator.url, { bearer });
  await soon(() => expect(page.table("keySets").length).toBe(2));
  await viewerToken(cluster(), "changing", [seenKind(jwksConfigs, "beta")]);
  await cluster().kubectl("delete", "clusterrolebinding", "changing-0");
  await soon(() => expect(namespacesIn(page, "keySets")).toEqual(["beta"]));
  expect(page.closed).toBe(false);
  // Who had other rights when they were cut off cannot go on from there.
  page.close();
  await viewerToken(cluster(), "changing", [seenKind(jwksConfigs)]);
  await soon(async () => {
    using again = await openPage(operator.url, { bearer, lastEventId: page.lastEventId });
    await soon(() => expect(again.hello).toBeDefined());
    expect(again.hello?.mode).toBe("snapshot");
  });
});

test.concurrent("whoever guesses tokens is slowed down, and others behind the same address are not", async () => {
  await using strict = await serveOperator(cluster(), {
    controllers: "all",
    rates: { requests: { burst: 1000, perMs: 1 }, failures: { burst: 3, perMs: 1e-9 } },
  });
  const bearer = await viewerToken(cluster(), "patient", everythingShown);
  await soon(async () => expect((await ask(`${strict.url}api/stream`, { bearer, method: "HEAD" })).status).toBe(200));
  const statuses = [];
  for (const guess of ["a", "b", "c", "d", "e"]) statuses.push((await ask(`${strict.url}api/stream`, { bearer: guess })).status);
  expect(statuses).toEqual([401, 401, 401, 429, 429]);
  expect((await ask(`${strict.url}api/stream`, { bearer, method: "HEAD" })).status).toBe(200);
  expect(await strict.metrics()).toMatch(/keyturn_dashboard_refused_total\{reason="rate"\} 2/);
});

/** Opens a page of the keys, and signs in. */
async function signIn(url: string, token: string): Promise<WatchedPage> {
  const watched = await openInBrowser(browser(), `${url}#/publish`);
  await watched.page.getByRole("textbox", { name: "Token" }).fill(token);
  await watched.page.getByRole("button", { name: "Sign in" }).click();
  return watched;
}

test.concurrent("nobody sees anything without a token, with a wrong one, or with one that has no rights", async () => {
  await using anonymous = await openInBrowser(browser(), operator.url);
  await anonymous.page.getByRole("heading", { name: "Sign in" }).waitFor();
  await using wrong = await signIn(operator.url, "not-a-token");
  await wrong.page.getByRole("alert").filter({ hasText: "does not accept this token" }).waitFor();
  await using nobody = await signIn(operator.url, await viewerToken(cluster(), "nobody-signed-in", []));
  await nobody.page.getByRole("alert").filter({ hasText: "may not see anything" }).waitFor();
  for (const { page, problems } of [anonymous, wrong, nobody]) {
    expect(await page.locator("body").textContent()).not.toMatch(/alpha|beta/);
    expect(problems).toEqual([]);
  }
});

test.concurrent("who may see one kind sees that, and is told what is left out", async () => {
  await using watched = await signIn(operator.url, await viewerToken(cluster(), "keys-only-signed-in", [seenKind(jwksConfigs)]));
  const { page, problems } = watched;
  await whenLive(page);
  await page.locator(".lane.group", { hasText: "tokens" }).first().waitFor();
  await page.getByRole("link", { name: "Rotate" }).click();
  await page.getByText(/You may not see these.*rotationtargets/).waitFor();
  expect(await page.locator("main").textContent()).not.toContain("keys-live");
  expect(problems).toEqual([]);
});

test("who may look only at a namespace in which there is nothing yet gets an empty page, and what comes there later", async () => {
  await cluster().apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "gamma" } });
  const bearer = await viewerToken(cluster(), "early", [seenKind(jwksConfigs, "gamma")]);
  using page = await soon(() => openPage(operator.url, { bearer }));
  await soon(() => expect(page.stages.find(({ step }) => step === "jwks")).toMatchObject({ hidden: ["jwks.rieset.io"] }));
  expect(page.hello?.user).toBe("system:serviceaccount:default:early");
  expect(page.table("keySets")).toEqual([]);
  await publishKeys(cluster(), "gamma", "tokens");
  await soon(() => expect(page.table("keySets").map(({ id }) => id)).toEqual(["jwks/JWKSConfig/gamma/tokens"]));
  for (const other of ["alpha", "beta"]) expect(page.bytes).not.toContain(`"namespace":"${other}"`);
  // Without the right nothing of it is left, and nobody is let in again.
  await cluster().kubectl("delete", "-n", "gamma", "rolebinding", "early-0");
  await soon(() => expect(page.closed).toBe(true));
  await soon(async () => expect((await ask(`${operator.url}api/stream`, { bearer, method: "HEAD" })).status).toBe(403));
});

test("after the operator was restarted, the page is live again by itself and shows what happened meanwhile", async () => {
  await publishKeys(cluster(), "delta", "kept-keys");
  await using watched = await signIn(operator.url, await viewerToken(cluster(), "staying", everythingShown));
  const { page, problems } = watched;
  await whenLive(page);
  await page.locator(".lane.group", { hasText: "kept-keys" }).waitFor();
  const { host } = new URL(operator.url);
  await operator.stop();
  await page.getByText("This is how it was").waitFor();
  expect(await page.locator(".lane.group", { hasText: "kept-keys" }).count()).toBe(1);
  await publishKeys(cluster(), "delta", "more-keys");
  operator = await serveOperator(cluster(), { controllers: "all", bindAddress: host });
  await page.locator(".lane.group", { hasText: "more-keys" }).waitFor();
  await page.locator('[data-state="live"]').waitFor();
  await page.getByText("This is how it was").waitFor({ state: "detached" });
  expect(problems).toEqual([]);
});
