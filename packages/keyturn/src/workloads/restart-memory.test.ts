// What is remembered of restarts, on a simulated API server.
import { ApiError, ConnectionError, createClient, isApiError, Lease, seededRandom } from "@keyturn/runtime";
import { ProcessClock, SimulatedApiServer, SimulatedNetwork, VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { maxRemembered, type Remembered, RestartRecord } from "./restart-memory.ts";
import { joinedDigest } from "./restart-digest.ts";
import { type Row, type WorkloadId, workloadRef } from "./rollout-plan.ts";
import { keepDeployment, type Workload } from "./workload.ts";

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

const now = { nowMs: 10_000, signal: new AbortController().signal };
const restart = (digest = "d1"): Row["decision"] => ({ type: "restart", digest });
const finish = (helped: boolean): Row["decision"] => ({ type: "finish", helped });
const rowsOf = (decisions: Readonly<Record<string, Row["decision"]>>): readonly Row[] =>
  Object.entries(decisions).map(([id, decision]) => ({ id, ref: workloadRef(id), outdated: undefined, why: "", by: {}, decision }));
const workloadOf = (id: WorkloadId): Workload => keepDeployment({ metadata: { ...workloadRef(id), uid: "u", resourceVersion: "1", generation: 3 } });
const at = (nowMs: number) => ({ workloadOf, nowMs });
const web = "Deployment/shop/web";
const entry = (atMs: number, more: Partial<Remembered> = {}): Remembered => ({
  uid: "u",
  atMs,
  generation: 3,
  restartedFor: "d1",
  wasUnhealthy: false,
  isOver: false,
  ...more,
});

test("what was written is read, by another process too, and never over what that one wrote", async () => {
  const { client, run } = world();
  const [one, two] = [new RestartRecord("default"), new RestartRecord("default")];
  expect(await run(one.read(client, now))).toEqual(new Map());
  expect(await run(two.read(client, now))).toEqual(new Map());
  const memory = new Map([[web, entry(5)]]);
  expect(await run(one.keep(client, rowsOf({ [web]: restart() }), at(5)))).toEqual(memory);
  const b = rowsOf({ "Deployment/shop/b": restart() });
  const failed = await run(two.keep(client, b, at(6)).catch((error: unknown) => error));
  expect(isApiError(failed, "AlreadyExists")).toBe(true);
  expect(await run(two.read(client, now))).toEqual(memory);
  await run(one.keep(client, b, at(6)));
  const late = await run(two.keep(client, b, at(7)).catch((error: unknown) => error));
  expect(isApiError(late, "Conflict")).toBe(true);
});

test("what was not sent after all, or was not taken, is crossed out; what may have been taken stays", async () => {
  const { client, run } = world();
  const record = new RestartRecord("default");
  await run(record.read(client, now));
  const ids = ["a", "b", "c"].map((name) => `Deployment/shop/${name}`);
  const [a = "", b = "", c = ""] = ids;
  const all = rowsOf(Object.fromEntries(ids.map((id) => [id, restart("d2")])));
  const refusal = new ApiError("restarting b", 409, {});
  const send = (id: WorkloadId, error?: Error) =>
    run(record.sent(client, id, () => (error ? Promise.reject(error) : Promise.resolve())).catch((thrown: unknown) => thrown));
  await run(record.keep(client, rowsOf({ [b]: restart() }), at(1)));
  await send(b);
  await run(record.keep(client, all, at(5)));
  expect(await send(a)).toBeUndefined();
  expect(await send(b, refusal)).toBe(refusal);
  const left = new Map([
    [a, entry(5, { restartedFor: "d2" })],
    [b, entry(1)],
  ]);
  expect(record.memory).toEqual(left);
  expect(await run(new RestartRecord("default").read(client, now))).toEqual(left);

  await run(record.keep(client, all, at(9)));
  const unanswered = new ConnectionError("no answer");
  expect(await send(c, unanswered)).toBe(unanswered);
  expect(await run(new RestartRecord("default").read(client, now))).toEqual(new Map([...left, [c, entry(9, { restartedFor: "d2" })]]));
});

test("what somebody has deleted or damaged is written again by whoever knows it", async () => {
  const { client, run } = world();
  const record = new RestartRecord("default");
  await run(record.read(client, now));
  await run(record.keep(client, rowsOf({ [web]: restart() }), at(5)));
  await run(client.delete(Lease, { namespace: "default", name: "keyturn-restarts" }));
  expect(await run(record.read(client, now))).toEqual(new Map([[web, entry(5)]]));
  await run(record.keep(client, rowsOf({ "Deployment/shop/b": restart() }), at(6)));
  await run(
    client.mergePatch(Lease, { namespace: "default", name: "keyturn-restarts" }, { metadata: { annotations: { "keyturn.io/restarts": "{" } } }),
  );
  expect((await run(record.read(client, now)))?.size).toBe(2);
  // Another process may have written it since.
  record.forget();
  expect(await run(record.read(client, now))).toEqual(new Map());
});

test("restarts that are under way are remembered, however many others there were since", async () => {
  const { client, run } = world();
  const record = new RestartRecord("default");
  await run(record.read(client, now));
  await run(record.keep(client, rowsOf({ [web]: restart() }), at(5)));
  const others = Array.from({ length: 3000 }, (_, index) => `Deployment/evil/${index}`);
  await run(record.keep(client, rowsOf(Object.fromEntries(others.map((id) => [id, restart("d")]))), at(100)));
  await run(record.keep(client, rowsOf(Object.fromEntries(others.map((id) => [id, finish(false)]))), at(100)));
  const kept = await run(new RestartRecord("default").read(client, now));
  expect(kept?.size).toBeLessThan(3000);
  expect(kept?.get(web)).toEqual(entry(5));
});

test("it is bounded: what has not helped stays longest, then what is latest", async () => {
  const { client, run } = world();
  const record = new RestartRecord("default");
  await run(record.read(client, now));
  const name = "x".repeat(240);
  const ids = Array.from({ length: 3000 }, (_, index) => `Deployment/${name}/${index}`);
  const [first = "", second = ""] = ids;
  for (let from = 0; from < ids.length; from += 100) {
    await run(record.keep(client, rowsOf(Object.fromEntries(ids.slice(from, from + 100).map((id) => [id, restart()]))), at(from)));
  }
  await run(record.keep(client, rowsOf(Object.fromEntries(ids.map((id) => [id, finish(id !== first)]))), at(5000)));
  const kept = await run(new RestartRecord("default").read(client, now));
  expect(kept?.size).toBeGreaterThan(300);
  expect(kept?.size).toBeLessThanOrEqual(1000);
  expect([first, second, ids.at(-1) ?? ""].map((id) => kept?.has(id))).toEqual([true, false, true]);
});

test("however long names and reasons are, as many are remembered as may be rolling", async () => {
  const { client, run } = world();
  const record = new RestartRecord("default");
  await run(record.read(client, now));
  const [namespace, name, digest] = ["n".repeat(63), "x".repeat(250), joinedDigest(["d".repeat(16), `consumers:${"d".repeat(32)}`])];
  const longest = (index: number) => `StatefulSet/${namespace}/${name}${index}`;
  const rows = Array.from({ length: 1000 }, (_, index) => [longest(index), restart(digest)] as const);
  const longWorkload = (id: WorkloadId): Workload => {
    const workload = workloadOf(id);
    return { ...workload, generation: 1e9, source: { ...workload.source, uid: "u".repeat(36) } };
  };
  await run(record.keep(client, rowsOf(Object.fromEntries(rows)), { nowMs: 1e13, workloadOf: longWorkload }));
  expect((await run(new RestartRecord("default").read(client, now)))?.size).toBeGreaterThanOrEqual(maxRemembered);
});

test("a time that a wrong clock wrote counts from when it was first read, by each process", async () => {
  const { client, run } = world();
  const record = new RestartRecord("default");
  await run(record.read(client, now));
  await run(record.keep(client, rowsOf({ [web]: restart() }), at(Date.UTC(2040, 0, 1))));
  const atMs = async (reader: RestartRecord, nowMs: number): Promise<number | undefined> =>
    (await run(reader.read(client, { ...now, nowMs })))?.get(web)?.atMs;
  expect(await atMs(record, 20_000)).toBe(20_000);
  expect(await atMs(record, 50_000)).toBe(20_000);
  expect(await atMs(new RestartRecord("default"), 50_000)).toBe(50_000);
});

test.each(["{", "[]", '{"Deployment/shop/web":["u",1e300,3,null,false,false]}', '{"Deployment/shop/web":["u",-1,3]}'])(
  "what cannot be read, such as %s, counts as nothing",
  async (text) => {
    const { client, run } = world();
    await run(client.create(Lease, { metadata: { namespace: "default", name: "keyturn-restarts", annotations: { "keyturn.io/restarts": text } } }));
    expect(await run(new RestartRecord("default").read(client, now))).toEqual(new Map());
  },
);
