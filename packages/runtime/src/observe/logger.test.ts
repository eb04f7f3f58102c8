// Log lines as they leave the process.
import { describe, expect, test } from "vitest";
import { TransientError } from "../controller/failure.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { createLogger, type LoggerOptions } from "./logger.ts";

function capture(options: LoggerOptions = {}) {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  return { lines, log: createLogger({ destination, clock: new VirtualClock(), ...options }) };
}

describe("createLogger", () => {
  test("writes one JSON object per line", () => {
    const { lines, log } = capture();
    log.child({ controller: "jwks" }).info({ key: "shop/web" }, "published");
    expect(lines).toEqual(['{"level":"info","time":"2026-01-01T00:00:00.000Z","controller":"jwks","key":"shop/web","msg":"published"}\n']);
  });

  test("writes nothing below its level", () => {
    const { lines, log } = capture({ level: "warn" });
    log.debug({}, "a");
    log.info({}, "b");
    log.warn({}, "c");
    log.error({}, "d");
    expect(lines).toHaveLength(2);
  });

  test("shows errors with code, reason, message and causes, and a stack only for those without a code", () => {
    const { lines, log } = capture();
    const cause = new Error("socket hang up with token=abc123def456");
    log.error({ err: new TransientError("could not publish", { reason: "Unreachable", cause }) }, "reconcile failed");
    const { err } = JSON.parse(lines[0] ?? "");
    expect(err).toEqual({
      type: "TransientError",
      code: "Transient",
      reason: "Unreachable",
      message: "could not publish",
      cause: { type: "Error", message: "socket hang up with token=[redacted]", stack: expect.stringContaining("logger.test.ts") },
    });
    log.error(new TypeError("oops"), "a bug");
    expect(JSON.parse(lines[1] ?? "").err).toMatchObject({ type: "TypeError", message: "an unexpected TypeError" });
  });

  test("takes secrets out of messages, fields and children", () => {
    const { lines, log } = capture();
    log.child({ password: "hunter2" }).warn({ headers: { authorization: "Bearer abc123def" } }, "sent password=hunter2");
    expect(lines.join("")).not.toMatch(/hunter2|abc123def/);
  });

  test("writes text for people", () => {
    const { lines, log } = capture({ format: "text" });
    log.info({ key: "shop/web", count: 3, note: "two words" }, "published");
    log.error({ err: new TransientError("could not publish", { reason: "R", cause: new TransientError("reset", { reason: "R" }) }) }, "failed");
    log.error({ err: new Error("a bug") }, "failed");
    expect(lines[0]).toBe('00:00:00.000 INFO  published key=shop/web count=3 note="two words"\n');
    expect(lines[1]).toBe('00:00:00.000 ERROR failed err="could not publish: reset"\n');
    expect(lines[2]).toMatch(/^00:00:00.000 ERROR failed err="a bug"\n {4}at /);
  });

  test("paints text only where a person reads along", () => {
    const painted: string[] = [];
    createLogger({ format: "text", destination: { write: (line) => painted.push(line), isTTY: true }, clock: new VirtualClock() }).info({}, "x");
    expect(painted[0]).toContain("\u001B[32mINFO ");
  });
});
