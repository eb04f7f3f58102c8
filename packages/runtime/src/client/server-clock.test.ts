// The server's clock as its answers show it.
import { expect, test } from "vitest";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { observeServerClock, type ServerClock } from "./server-clock.ts";
import type { Transport } from "./transport.ts";

const midnightMs = Date.parse("2026-01-01T00:00:00Z");

/** Asks once: the answer carries `date`, and our clock shows `ourMs` after midnight. */
async function asked(date: string | undefined, ourMs: number): Promise<ServerClock> {
  const clock = new VirtualClock(midnightMs + ourMs);
  const wire: Transport = {
    send: async () => ({ status: 200, headers: date === undefined ? {} : { date }, body: (async function* () {})() }),
    close: () => {},
  };
  const { transport, serverClock } = observeServerClock(wire, clock);
  await transport.send({ method: "GET", path: "/version" });
  return serverClock;
}

const atMidnight = "Thu, 01 Jan 2026 00:00:00 GMT";

test("clocks that agree within the second of the header show no difference", async () => {
  expect((await asked(atMidnight, 0)).aheadMs()).toBe(0);
  expect((await asked(atMidnight, 999)).aheadMs()).toBe(0);
});

test("a server that is ahead or behind is seen as such", async () => {
  expect((await asked(atMidnight, -40_000)).aheadMs()).toBe(40_000);
  expect((await asked(atMidnight, 41_000)).aheadMs()).toBe(-40_000);
});

test("without a readable header nothing is known", async () => {
  expect((await asked(undefined, 0)).aheadMs()).toBeUndefined();
  expect((await asked("yesterday", 0)).aheadMs()).toBeUndefined();
});
