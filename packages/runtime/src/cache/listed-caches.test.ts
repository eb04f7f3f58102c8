import { beforeEach, expect, test } from "vitest";
import { ConfigMap } from "../client/builtin-kinds.ts";
import type { Client } from "../client/client.ts";
import { defineKind } from "../client/kind.ts";
import { createClient } from "../client/kube-client.ts";
import { seededRandom } from "../random.ts";
import { SimulatedNetwork } from "../testing/simulation/network.ts";
import { ProcessClock } from "../testing/simulation/process.ts";
import { SimulatedApiServer } from "../testing/simulation/simulated-api-server.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { ListedCaches } from "./listed-caches.ts";

const Unserved = defineKind({ group: "nobody.dev", version: "v1", kind: "Thing", plural: "things", namespaced: true });
const { signal } = new AbortController();
let clock: VirtualClock;
let client: Client;

beforeEach(() => {
  clock = new VirtualClock();
  const server = new SimulatedApiServer({ clock, random: seededRandom(1) });
  for (const name of ["a", "b"]) {
    const body = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default", name }, data: { in: name } });
    server.handle({ method: "POST", path: "/api/v1/namespaces/default/configmaps", body });
  }
  const network = new SimulatedNetwork({ server, clock, random: seededRandom(2) });
  client = createClient(network.connect({ name: "p", clock: new ProcessClock(clock) }), { clock, random: seededRandom(3) });
});

async function filled(caches: ListedCaches): Promise<unknown> {
  const filling = caches.fill(signal).then(
    () => undefined,
    (error: unknown) => error,
  );
  await clock.advance(10_000);
  return filling;
}

test("what was listed is kept, indexed and heard of", async () => {
  const caches = new ListedCaches({ client, namespace: "default", clock });
  const cache = caches.watch(ConfigMap, { keep: ({ data = {} }) => data["in"] ?? "", indexes: { text: (value) => [value] } });
  const heard: string[] = [];
  cache.subscribe(({ key }) => heard.push(key));
  expect(cache.synced).toBe(false);
  expect(await filled(caches)).toBeUndefined();
  expect([cache.get("default/a"), cache.byIndex("text", "b"), heard.toSorted()]).toEqual(["a", ["default/b"], ["default/a", "default/b"]]);
  expect(cache.synced).toBe(true);
});

test("an object that cannot be read makes the answer impossible, and the error names it without its words", async () => {
  const toUrl = ({ data = {} }: ConfigMap): URL => new URL(data["in"] ?? "");
  const declare: readonly ((caches: ListedCaches) => unknown)[] = [
    (caches) => caches.watch(ConfigMap, { keep: toUrl }),
    (caches) => caches.watch(ConfigMap, { keep: () => 1, indexes: { bad: () => JSON.parse("{}").list } }),
  ];
  for (const watch of declare) {
    const caches = new ListedCaches({ client, namespace: "default", clock });
    watch(caches);
    const message = expect.stringMatching(/^ConfigMap default\/a cannot be read \(TypeError\)/);
    expect(await filled(caches)).toMatchObject({ reason: "Unreadable", message });
  }
});

test("of an optional kind that is not served there is nothing; any other is an error", async () => {
  const caches = new ListedCaches({ client, clock });
  const optional = caches.watch(Unserved, { optional: true, keep: () => 1 });
  expect(await filled(caches)).toBeUndefined();
  expect([optional.size, optional.synced]).toEqual([0, true]);
  caches.watch(Unserved, { keep: () => 1 });
  expect(await filled(caches)).toMatchObject({ code: "NotFound" });
});
