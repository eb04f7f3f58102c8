// What becomes of a run's result or error: what is reported, and when the key runs again.
import { expect, test } from "vitest";
import { ApiError } from "../client/api-error.ts";
import { ConnectionError } from "../client/transport.ts";
import { silentLog } from "../manager/lease-simulation.fixture.ts";
import type { Logger } from "../observe/logger.ts";
import { type Report, TerminalError, TransientError, WaitingError } from "./failure.ts";
import { deaf, runnerRig, type SaidOutcome } from "./runner-rig.fixture.ts";
import { thingKind } from "./small-world.fixture.ts";

const cases: readonly [string, unknown, SaidOutcome, "retried" | "left"][] = [
  ["transient", new TransientError("busy", { reason: "Busy" }), { code: "Transient", reason: "Busy", message: "busy" }, "retried"],
  ["terminal", new TerminalError("wrong", { reason: "Wrong" }), { code: "Refused", reason: "Wrong", message: "wrong" }, "left"],
  ["waiting", new WaitingError("no key yet", { reason: "NoKey" }), { code: "Waiting", reason: "NoKey", message: "no key yet" }, "left"],
  ["a lost connection", new ConnectionError("reset"), { code: "Transient", reason: "ApiServerUnreachable", message: "reset" }, "retried"],
  [
    "a conflict",
    new ApiError("apply x", 409, { reason: "Conflict", message: "changed" }),
    { code: "Transient", reason: "Conflict", message: "apply x: changed" },
    "retried",
  ],
  [
    "an invalid object",
    new ApiError("apply x", 422, {
      kind: "Status",
      reason: "Invalid",
      message: 'spec.a: Invalid value: "hunter2"',
      details: { causes: [{ reason: "FieldValueInvalid", field: "spec.a", message: 'Invalid value: "hunter2"' }] },
    }),
    { code: "Refused", reason: "Invalid", message: "apply x: invalid: spec.a (Invalid value)" },
    "left",
  ],
  [
    "a missing right",
    new ApiError("apply x", 403, {
      reason: "Forbidden",
      message: 'deployments.apps "x" is forbidden: User "u" cannot patch resource "deployments/scale" in API group "apps" in the namespace "web"',
    }),
    {
      code: "Refused",
      reason: "Forbidden",
      message: "the operator lacks the right to patch deployments.apps/scale in namespace web; grant it and this goes on by itself",
    },
    "left",
  ],
  [
    "a bug, whose message may quote a secret",
    new SyntaxError('Unexpected token in JSON at position 0: "hunter2"'),
    {
      code: "Transient",
      reason: "InternalError",
      message: "an unexpected error stopped this run (SyntaxError); the operator's log says where",
    },
    "retried",
  ],
];

test.each(cases)("%s", async (_name, error, outcome, next) => {
  let runs = 0;
  const { clock, world, lead, reports } = runnerRig(() => (runs++, Promise.reject(error)), { backoff: { firstMs: 100, maxMs: 100 } });
  world.put("a", 1);
  lead();
  await clock.advance(0);
  expect(reports).toEqual([{ key: "test/a", outcome }]);
  await clock.advance(100);
  expect(runs).toBe(next === "retried" ? 2 : 1);
  // Never for good: what refuses may change without an event.
  await clock.advance(outcome.code === "Refused" ? 5_000 : 0);
  expect(runs).toBe(next === "retried" || outcome.code === "Refused" ? 2 : 1);
  const before = runs;
  world.put("a", 2);
  await clock.advance(0);
  expect(runs).toBe(before + 1);
});

test("failures in a row are counted, wait ever longer, and a success forgets them", async () => {
  const failures: number[] = [];
  const atMs: number[] = [];
  const { clock, world, lead } = runnerRig(
    async (run) => {
      failures.push(run.failures);
      atMs.push(clock.monotonic());
      if (failures.length < 4) throw new TransientError("busy", { reason: "Busy" });
    },
    { backoff: { firstMs: 1_000, maxMs: 60_000 } },
  );
  world.put("a", 1);
  lead();
  await clock.advance(10_000);
  world.put("a", 2);
  await clock.advance(10);
  expect(failures).toEqual([0, 1, 2, 3, 0]);
  const gaps = atMs.slice(1, 4).map((ms, index) => ms - (atMs[index] ?? 0));
  expect(gaps.every((gap, index) => gap >= 500 * 2 ** index && gap <= 1_000 * 2 ** index)).toBe(true);
});

test("`retryAfterMs` says from when on for failures, and when for waiting", async () => {
  const atMs: number[] = [];
  const { clock, world, lead } = runnerRig(async () => {
    atMs.push(clock.monotonic());
    if (atMs.length === 1) throw new TransientError("busy", { reason: "Busy", retryAfterMs: 3_000 });
    if (atMs.length === 2) throw new WaitingError("soon", { reason: "Soon", retryAfterMs: 7_000 });
  });
  world.put("a", 1);
  lead();
  await clock.advance(20_000);
  const [first = 0, second = 0, third = 0, ...more] = atMs;
  expect(first).toBe(0);
  expect(second).toBeGreaterThanOrEqual(3_000);
  expect(second).toBeLessThanOrEqual(3_300);
  expect([third - second, more]).toEqual([7_000, []]);
});

test.each([0, 1_000])("a failure that asks for %d ms for ever is tried ever less often all the same", async (retryAfterMs) => {
  const atMs: number[] = [];
  const { clock, world, lead } = runnerRig(() => {
    atMs.push(clock.monotonic());
    return Promise.reject(new TransientError("busy", { reason: "Busy", retryAfterMs }));
  });
  world.put("a", 1);
  lead();
  await clock.advance(3_600_000);
  expect(atMs.length).toBeLessThan(45);
  expect((atMs.at(-1) ?? 0) - (atMs.at(-2) ?? 0)).toBeGreaterThanOrEqual(150_000);
});

test("a failure that asks for years is tried again within minutes, and keys that asked for the same come back apart", async () => {
  const atMs: Record<string, number[]> = {};
  const { clock, world, lead } = runnerRig(({ key }) => {
    (atMs[key] ??= []).push(clock.monotonic());
    return Promise.reject(new TransientError("busy", { reason: "Busy", retryAfterMs: 1e12 }));
  });
  for (const name of ["a", "b"]) world.put(name, 1);
  lead();
  await clock.advance(340_000);
  const [[, a = 0] = [], [, b = 0] = []] = Object.values(atMs);
  expect([a, b].every((ms) => ms >= 300_000 && ms <= 330_000)).toBe(true);
  expect(a).not.toBe(b);
});

test.each([Number.NaN, 0, -5])("a key that asks for %d ms does not spin, holds up no other, and is logged once", async (requeueAfterMs) => {
  const atMs: Record<string, number[]> = { "test/a": [], "test/b": [] };
  const logged: unknown[] = [];
  const log: Logger = { ...silentLog, child: () => log, warn: (fields: unknown) => void logged.push(fields) };
  const { clock, world, lead } = runnerRig(
    async ({ key }) => (atMs[key]?.push(clock.monotonic()), { requeueAfterMs: key === "test/a" ? requeueAfterMs : 2_000 }),
    {},
    { log },
  );
  for (const name of ["a", "b"]) world.put(name, 1);
  lead();
  await clock.advance(6_000);
  expect(atMs).toEqual({ "test/a": [0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000], "test/b": [0, 2_000, 4_000, 6_000] });
  expect(logged).toEqual([{ key: "test/a", askedMs: String(requeueAfterMs), delayMs: 1_000 }]);
});

test("a key asked for after what is no number runs once, in this term or the next", async () => {
  const atMs: number[] = [];
  const { clock, scope, lead } = runnerRig(async () => void atMs.push(clock.monotonic()));
  scope?.enqueue("test/a", { afterMs: Number.NaN });
  lead();
  await clock.advance(5_000);
  scope?.enqueue("test/a", { afterMs: 0 });
  await clock.advance(5_000);
  expect(atMs).toEqual([1_000, 5_000]);
});

test("what the server asks for with `Retry-After` comes on top of the backoff, and no key is parked by it", async () => {
  const gapsOf = async (retryAfterMs: number): Promise<readonly (readonly number[])[]> => {
    const atMs: Record<string, number[]> = {};
    const { clock, world, lead } = runnerRig(
      ({ key }) => {
        (atMs[key] ??= []).push(clock.monotonic());
        return Promise.reject(new ApiError("apply x", 429, { reason: "TooManyRequests" }, retryAfterMs));
      },
      { backoff: { firstMs: 1_000, maxMs: 60_000 } },
    );
    for (const name of ["a", "b"]) world.put(name, 1);
    lead();
    await clock.advance(1_000_000);
    return Object.values(atMs).map((times) => times.slice(1, 8).map((ms, index) => ms - (times[index] ?? 0)));
  };
  const [a = [], b = []] = await gapsOf(1_000);
  expect(a).toHaveLength(7);
  expect(a.every((gapMs, index) => gapMs >= 1_000 + Math.min(500 * 2 ** index, 30_000))).toBe(true);
  expect(a.some((gapMs, index) => gapMs === b[index])).toBe(false);
  const [parked = []] = await gapsOf(1e12);
  expect(parked.length).toBeGreaterThan(1);
  expect(parked.every((gapMs) => gapMs >= 300_000 && gapMs <= 360_000)).toBe(true);
});

test("a report that fails or hangs breaks nothing and holds no other key", async () => {
  const runs: string[] = [];
  const { clock, world, lead } = runnerRig(
    ({ key }) => (runs.push(key), Promise.reject(new TerminalError("no good", { reason: "Bad" }))),
    { concurrency: 1, backoff: { firstMs: 300_000, maxMs: 300_000 } },
    { report: ({ key }) => (key === "test/a" ? Promise.reject(new Error("no")) : key === "test/b" ? deaf() : Promise.resolve()) },
  );
  for (const name of ["a", "b", "c"]) world.put(name, 1);
  lead();
  await clock.advance(12_000);
  expect(runs).toEqual(["test/a", "test/b", "test/c"]);
  for (const name of ["a", "b", "c"]) world.put(name, 2);
  await clock.advance(12_000);
  expect(runs).toEqual(["test/a", "test/b", "test/c", "test/a", "test/c"]);
});

test("what an earlier process reported is looked for until it is found, and then taken back", async () => {
  let looks = 0;
  const standing = async (): Promise<readonly string[]> => {
    if (++looks < 3) throw new ApiError("list things", 500, { reason: "InternalError" });
    return ["test/a"];
  };
  const told: (readonly [string, SaidOutcome | undefined])[] = [];
  const report = Object.assign(async ({ key, outcome }: Report) => void told.push([key, outcome]), { standing });
  const { clock, world, lead } = runnerRig(async () => {}, { primary: thingKind }, { report });
  world.put("a", 1);
  const term = lead();
  await clock.advance(1_000);
  expect([looks, told]).toEqual([1, []]);
  await clock.advance(60_000);
  expect([looks, told]).toEqual([3, [["test/a", undefined]]]);
  term.stop();
  await term.ended;
});

test("a failing key that changes all the time runs ever more seldom, and at once again after a change that mends it or when it is due", async () => {
  const atMs: number[] = [];
  let isMended = false;
  const { clock, world, lead } = runnerRig(async () => {
    atMs.push(clock.monotonic());
    if (!isMended) throw new TransientError("busy", { reason: "Busy", retryAfterMs: 60_000 });
  });
  const changeFor = async (ms: number): Promise<void> => {
    for (let size = 0; size < ms / 5; size++) {
      world.put("a", size);
      await clock.advance(5);
    }
  };
  world.put("a", 0);
  lead();
  await clock.advance(0);
  // Our own report, and one change by a person, count for little.
  world.put("a", 1);
  world.put("a", 2);
  await clock.advance(50);
  world.put("a", 3);
  await clock.advance(50);
  expect(atMs.length).toBeGreaterThanOrEqual(3);

  const before = atMs.length;
  await changeFor(10_000);
  expect(atMs.length - before).toBeLessThan(25);
  isMended = true;
  world.put("a", -1);
  await clock.advance(1_000);
  const mended = atMs.length;
  await changeFor(100);
  expect(atMs.length - mended).toBe(20);

  // What is due counts anew.
  isMended = false;
  await changeFor(10_000);
  const tired = atMs.length;
  await clock.advance(70_000);
  expect(atMs.length).toBeGreaterThan(tired);
  const due = atMs.length;
  world.put("a", -2);
  await clock.advance(0);
  expect(atMs.length).toBe(due + 1);
});
