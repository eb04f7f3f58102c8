// What becomes of a run's result or error: what is reported, and when the key runs again.
import { expect, test } from "vitest";
import { ApiError } from "../client/api-error.ts";
import { ConnectionError } from "../client/transport.ts";
import { TerminalError, TransientError, WaitingError } from "./errors.ts";
import type { ReportedOutcome } from "./report.ts";
import { deaf, runnerRig } from "./runner-rig.fixture.ts";

const cases: readonly [string, unknown, ReportedOutcome, "retried" | "left"][] = [
  ["transient", new TransientError("busy", { reason: "Busy" }), { code: "Transient", reason: "Busy", message: "busy" }, "retried"],
  ["terminal", new TerminalError("wrong", { reason: "Wrong" }), { code: "Terminal", reason: "Wrong", message: "wrong" }, "left"],
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
    new ApiError("apply x", 422, { reason: "Invalid", message: "spec.a is required" }),
    { code: "Terminal", reason: "Invalid", message: "apply x: spec.a is required" },
    "left",
  ],
  [
    "a missing right",
    new ApiError("apply x", 403, {
      reason: "Forbidden",
      message: 'deployments.apps "x" is forbidden: User "u" cannot patch resource "deployments/scale" in API group "apps" in the namespace "web"',
    }),
    {
      code: "Transient",
      reason: "Forbidden",
      message: "the operator lacks the right to patch deployments.apps/scale in namespace web; grant it and this goes on by itself",
    },
    "retried",
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
  const { clock, world, lead, reports } = runnerRig(() => (runs++, Promise.reject(error)), { backoff: { firstMs: 100, longestMs: 100 } });
  world.put("a", 1);
  lead();
  await clock.advance(0);
  expect(reports).toEqual([{ key: "test/a", outcome }]);
  await clock.advance(100);
  expect(runs).toBe(next === "retried" ? 2 : 1);
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
    { backoff: { firstMs: 1_000, longestMs: 60_000 } },
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

test("`retryAfterMs` says when, for failures and for waiting", async () => {
  const atMs: number[] = [];
  const { clock, world, lead } = runnerRig(async () => {
    atMs.push(clock.monotonic());
    if (atMs.length === 1) throw new TransientError("busy", { reason: "Busy", retryAfterMs: 3_000 });
    if (atMs.length === 2) throw new WaitingError("soon", { reason: "Soon", retryAfterMs: 7_000 });
  });
  world.put("a", 1);
  lead();
  await clock.advance(20_000);
  expect(atMs).toEqual([0, 3_000, 10_000]);
});

test("a report that fails or hangs breaks nothing and holds no other key", async () => {
  const runs: string[] = [];
  const { clock, world, lead } = runnerRig(
    ({ key }) => (runs.push(key), Promise.reject(new TerminalError("no good", { reason: "Bad" }))),
    { concurrency: 1 },
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
