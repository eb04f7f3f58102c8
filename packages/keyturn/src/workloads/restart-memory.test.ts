import { createClient, defineKind, isApiError, seededRandom } from "@keyturn/runtime";
import { ProcessClock, SimulatedApiServer, SimulatedNetwork, VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { type Remembered, RestartRecord } from "./restart-memory.ts";

function world() {
  const clock = new VirtualClock();
  const server = new SimulatedApiServer({ clock, random: seededRandom(1) });
  const network = new SimulatedNetwork({ server, clock, random: seededRandom(2) });
  const client = createClient(network.connect({ name: "one", clock: new ProcessClock(clock) }), { clock, random: seededRandom(3) });
  const run = async <T>(work: Promise<T>): Promise<T> => {
    const done = work.finally(() => {});
    await clock.advance(10_000);
    return done;
  };
  return { client, run };
}

const entry = (atMs: number, restartedFor?: string, isOver = true): Remembered => ({
  uid: "u",
  atMs,
  generation: 3,
  restartedFor,
  wasUnhealthy: false,
  isOver,
});
const { signal } = new AbortController();
const now = { nowMs: 10_000, signal };

test("what was written is read, by another process too, and never over what that one wrote", async () => {
  const { client, run } = world();
  const [one, two] = [new RestartRecord("default"), new RestartRecord("default")];
  expect(await run(one.read(client, now))).toBe("absent");
  expect(await run(two.read(client, now))).toBe("absent");
  const memory = new Map([["Deployment/shop/web", entry(5, "d1")]]);
  expect(await run(one.write(client, memory))).toBe(true);
  const failed = await run(two.write(client, new Map()).catch((error: unknown) => error));
  expect(isApiError(failed, "AlreadyExists")).toBe(true);
  expect(await run(two.read(client, now))).toEqual(memory);
  await run(one.write(client, new Map([...memory, ["Deployment/shop/b", entry(6)]])));
  const late = await run(two.write(client, new Map()).catch((error: unknown) => error));
  expect(isApiError(late, "Conflict")).toBe(true);
});

test("restarts that are under way are remembered, however many others there were since", async () => {
  const { client, run } = world();
  const record = new RestartRecord("default");
  await run(record.read(client, now));
  const others = Array.from({ length: 3000 }, (_, index) => [`Deployment/evil/${index}`, entry(100 + index, "d")] as const);
  await run(record.write(client, new Map([["Deployment/shop/web", entry(5, "d", false)], ...others])));
  const kept = await run(record.read(client, now));
  if (typeof kept === "string") throw new Error(kept);
  expect(kept.size).toBeLessThan(3000);
  expect(kept.get("Deployment/shop/web")).toEqual(entry(5, "d", false));
});

test("it is bounded: what has not helped stays longest, then what is latest", async () => {
  const { client, run } = world();
  const record = new RestartRecord("default");
  await run(record.read(client, now));
  const name = "x".repeat(240);
  const many = Array.from({ length: 3000 }, (_, index) => [`Deployment/${name}/${index}`, entry(index, index === 0 ? "d1" : undefined)] as const);
  expect(await run(record.write(client, new Map(many)))).toBe(true);
  const kept = await run(record.read(client, now));
  if (typeof kept === "string") throw new Error(kept);
  expect(kept.size).toBeGreaterThan(300);
  expect(kept.size).toBeLessThanOrEqual(1000);
  expect(kept.has(`Deployment/${name}/0`)).toBe(true);
  expect(kept.has(`Deployment/${name}/1`)).toBe(false);
  expect(kept.has(`Deployment/${name}/2999`)).toBe(true);
});

test("a time that a wrong clock wrote counts from when it was first read, by each process", async () => {
  const { client, run } = world();
  const record = new RestartRecord("default");
  await run(record.read(client, now));
  const ahead = Date.UTC(2040, 0, 1);
  await run(record.write(client, new Map([["Deployment/shop/web", entry(ahead, "d1")]])));
  const atMs = async (reader: RestartRecord, nowMs: number): Promise<number | undefined> => {
    const memory = await run(reader.read(client, { nowMs, signal }));
    return typeof memory === "string" ? undefined : memory.get("Deployment/shop/web")?.atMs;
  };
  expect(await atMs(record, 20_000)).toBe(20_000);
  expect(await atMs(record, 50_000)).toBe(20_000);
  expect(await atMs(new RestartRecord("default"), 50_000)).toBe(50_000);
});

test.each(["{", "[]", '{"Deployment/shop/web":["u",1e300,3,null,false,false]}', '{"Deployment/shop/web":["u",-1,3]}'])(
  "what cannot be read, such as %s, counts as nothing",
  async (text) => {
    const { client, run } = world();
    const lease = defineKind({ group: "coordination.k8s.io", version: "v1", kind: "Lease", plural: "leases", namespaced: true });
    await run(client.create(lease, { metadata: { namespace: "default", name: "keyturn-restarts", annotations: { "keyturn.io/restarts": text } } }));
    expect(await run(new RestartRecord("default").read(client, now))).toEqual(new Map());
  },
);
