// The stream of records: live, resumed after a cut, begun anew after a restart, and free of cost for the API server however many look.
import { type FaultProxy, startFaultProxy } from "@keyturn/runtime/testing";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { afterAll, beforeAll, expect, test } from "vitest";
import { secretAccess } from "../../packages/keyturn/src/dashboard/viewer-rights.ts";
import { busyRequests } from "../support/busy-requests.ts";
import { lanesOf, ask, openPage, type PageReader } from "./support/page-reader.ts";
import { everythingShown, type ServedOperator, serveOperator, viewerToken } from "./support/served-operator.ts";
import { applyIn, publishKeys, rotateKeys } from "./support/shown-objects.ts";

const cluster = useCluster();
const namespace = "streamed";

let proxy: FaultProxy;
let operator: ServedOperator;
let bearer: string;
beforeAll(async () => {
  proxy = await startFaultProxy(cluster());
  operator = await serveOperator(cluster(), { through: (kubeconfig) => proxy.through(kubeconfig), streamTimes: { tickMs: 500 } });
  bearer = await viewerToken(cluster(), "viewer", everythingShown);
  await publishKeys(cluster(), namespace, "tokens");
  await rotateKeys(cluster(), namespace, "keys");
  using page = await openPage(operator.url, { bearer });
  await soon(() => expect(lanesOf(page.table("keySets")[0])).toHaveLength(1));
  await soon(() => expect(lanesOf(page.table("rotationSets")[0]).map(({ bars }) => bars.length)).toEqual([1, 1, 1]));
});
afterAll(async () => {
  await operator?.[Symbol.asyncDispose]();
  await proxy?.[Symbol.asyncDispose]();
});

const live = (page: PageReader): number => lanesOf(page.table("rotationSets")[0])[1]?.bars.filter(({ look }) => look !== "planned").length ?? 0;

test("a change is shown without being asked for, with what is planned to follow it", async () => {
  using page = await openPage(operator.url, { bearer });
  await soon(() => expect(live(page)).toBe(1));
  await rotateKeys(cluster(), namespace, "keys", "second");
  await soon(() => expect(live(page)).toBe(2));
  expect(page.events.filter((event) => event === "snapshot")).toHaveLength(1);
  const bars = (): unknown => lanesOf(page.table("rotationSets")[0]).map((lane) => lane.bars.map(({ title, look, filled }) => [title, look, filled]));
  const [past, held] = [
    ["Version 1", "past", undefined],
    ["Version 2", "live", undefined],
  ];
  await soon(() => expect(bars()).toEqual([[past, held], [past, held], [["Version 1", "live", undefined]]]));
  await rotateKeys(cluster(), namespace, "keys", "third");
  await soon(() => {
    const [set] = page.table("rotationSets");
    const planned = lanesOf(set)[2]?.bars.filter(({ look }) => look === "planned");
    // The operator's own forecast: version 2 moves on a minute after version 3 came.
    expect(planned?.map(({ title }) => title)).toEqual(["Version 2"]);
    expect(set?.lanes?.[1]?.next).toEqual({ atMs: planned?.[0]?.fromMs, what: "gets version 2" });
    expect(set?.next?.atMs).toBe(planned?.[0]?.fromMs);
  });
});

test("a page that was cut off goes on where it was, and gets only what it missed", async () => {
  const first = await openPage(operator.url, { bearer });
  await soon(() => expect(first.records.has(`jwks/JWKSConfig/${namespace}/tokens`)).toBe(true));
  const { lastEventId, hello } = first;
  first.close();
  await publishKeys(cluster(), namespace, "while-away");
  using watching = await openPage(operator.url, { bearer });
  await soon(() => expect(watching.records.has(`jwks/JWKSConfig/${namespace}/while-away`)).toBe(true));
  using resumed = await openPage(operator.url, { bearer, lastEventId });
  await soon(() => expect(resumed.records.has(`jwks/JWKSConfig/${namespace}/while-away`)).toBe(true));
  expect(resumed.hello).toMatchObject({ mode: "resume", bootId: hello?.bootId });
  expect(resumed.events).not.toContain("snapshot");
  expect(resumed.records.has(`jwks/JWKSConfig/${namespace}/tokens`)).toBe(false);
});

test("an object that goes takes its record with it", async () => {
  await publishKeys(cluster(), namespace, "short-lived");
  using page = await openPage(operator.url, { bearer });
  await soon(() => expect(page.records.has(`jwks/JWKSConfig/${namespace}/short-lived`)).toBe(true));
  await cluster().kubectl("delete", "-n", namespace, "jwksconfig", "short-lived");
  await soon(() => expect(page.records.has(`jwks/JWKSConfig/${namespace}/short-lived`)).toBe(false));
});

test("after a restart of the server a page is told, connects again, and gets everything anew", async () => {
  const { secret, access } = secretAccess();
  const before = await serveOperator(cluster(), { access });
  const page = await openPage(before.url, { bearer: secret });
  await soon(() => expect(page.table("keySets").length).toBeGreaterThan(0));
  await before[Symbol.asyncDispose]();
  await soon(() => expect(page.closed).toBe(true));
  expect(page.end).toMatchObject({ reason: "restart" });
  await using after = await serveOperator(cluster(), { access });
  using again = await openPage(after.url, { bearer: secret, lastEventId: page.lastEventId });
  await soon(() => expect(again.table("keySets").length).toBe(page.table("keySets").length));
  expect(again.hello?.mode).toBe("snapshot");
  expect(again.hello?.bootId).not.toBe(page.hello?.bootId);
});

test("250 open pages cost the API server nothing, see every change, and one who does not read holds nobody up", async () => {
  const pages: PageReader[] = [];
  for (let count = 0; count < 250; count++) pages.push(await openPage(operator.url, { bearer }));
  try {
    await soon(() => expect(pages.every((page) => page.table("keySets").length > 0)).toBe(true));
    await soon(async () => expect(await operator.metrics()).toMatch(/^keyturn_dashboard_streams 250$/m));
    pages[0]?.pause();
    const asked = busyRequests(proxy).length;
    await applyIn(cluster(), namespace, [
      {
        apiVersion: "keyturn.io/v1alpha1",
        kind: "JWKSConfig",
        metadata: { name: "seen-by-all" },
        spec: { certificateSecret: "nobody-has-it", configMapName: "x" },
      },
    ]);
    const id = `jwks/JWKSConfig/${namespace}/seen-by-all`;
    await soon(() => expect(pages.slice(1).filter((page) => page.records.get(id) === undefined)).toEqual([]));
    await soon(() =>
      expect(pages.slice(1).every((page) => page.table("keySets").find((record) => record.id === id)?.reason === "SecretNotFound")).toBe(true),
    );
    // What the operator does for the new object, and the questions about one token: nothing that grows with the pages.
    expect(busyRequests(proxy).length - asked).toBeLessThan(pages.length);
    pages[0]?.resume();
    await soon(() => expect(pages[0]?.records.has(id)).toBe(true));
  } finally {
    for (const page of pages) page.close();
  }
  await soon(async () => expect(await operator.metrics()).toMatch(/^keyturn_dashboard_streams 0$/m));
});

test("details of an object are read once for all who look at the same time", async () => {
  const url = `${operator.url}api/object?resource=jwksconfigs.keyturn.io&namespace=${namespace}&name=tokens`;
  await soon(async () => expect((await ask(url, { bearer })).body).toContain("KeyAdded"));
  const asked = proxy.requests().length;
  const answers = await Promise.all(Array.from({ length: 50 }, () => ask(url, { bearer })));
  expect(answers.every(({ status, body }) => status === 200 && body.includes("KeyAdded"))).toBe(true);
  // One, unless this machine is so slow that the answer grew old meanwhile.
  expect(
    proxy
      .requests()
      .slice(asked)
      .filter(({ path }) => path.includes("/events")).length,
  ).toBeLessThan(10);
});
