// The gateway is told until it has listened, ever more rarely, and again after every change.
import { createLogger } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { GatewayNotice } from "./gateway-notice.ts";

const never = new AbortController().signal;

/** A gateway that listens or not, and remembers what it was told. */
function gateway(notified?: string) {
  const clock = new VirtualClock();
  const told: string[] = [];
  const listening = { ok: false };
  const notify = (generation: string) => {
    told.push(generation);
    return Promise.resolve({ ok: listening.ok, detail: "exit code 1", durationMs: 7 });
  };
  return { clock, told, listening, notice: new GatewayNotice({ notify, clock, log: createLogger({ level: "silent" }) }, notified) };
}

test("after failures it waits longer each time, and starts afresh with another generation", async () => {
  const { clock, told, notice } = gateway();
  const waits: number[] = [];
  for (let failures = 0; failures < 9; failures++) {
    await notice.tell("1-a", never);
    const nextMs = notice.nextMs("1-a") ?? 0;
    waits.push(nextMs - clock.monotonic());
    // Too early: nothing happens.
    await notice.tell("1-a", never);
    await clock.advance(nextMs - clock.monotonic());
  }
  expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  expect(told).toHaveLength(9);
  expect(notice.trouble).toBe("exit code 1");
  await notice.tell("1-a", never);
  await notice.tell("2-b", never);
  expect(told.slice(-2)).toEqual(["1-a", "2-b"]);
});

test("after a success there is nothing more to tell until the generation changes", async () => {
  const { told, listening, notice } = gateway();
  listening.ok = true;
  await notice.tell("1-a", never);
  await notice.tell("1-a", never);
  await notice.tell("2-b", never);
  expect(told).toEqual(["1-a", "2-b"]);
  expect(notice).toMatchObject({ notified: "2-b", trouble: undefined, attempt: { ok: true, durationMs: 7 } });
  expect(notice.nextMs("2-b")).toBeUndefined();
});

test("what was told before a restart is not told again", async () => {
  const { told, notice } = gateway("1-a");
  await notice.tell("1-a", never);
  await notice.tell(undefined, never);
  expect(told).toEqual([]);
});
