import type { OnRead, TransportRequest } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { budgetedTransport } from "./target-budget.ts";

const request: TransportRequest = { method: "GET", path: "/" };

/** A transport over a wire of which the test says what it reads. */
function open() {
  const clock = new VirtualClock();
  const exceeded: string[] = [];
  const wire: { onRead?: OnRead } = {};
  const transport = budgetedTransport(
    (onRead) => {
      wire.onRead = onRead;
      return { send: () => Promise.resolve({ status: 200, headers: {}, body: none() }), close: () => {} };
    },
    { clock, timeoutMs: 10_000, onExceeded: ({ message }) => void exceeded.push(message) },
  );
  const read: OnRead = (...said) => wire.onRead?.(...said);
  return { clock, transport, exceeded, read };
}

async function* none(): AsyncGenerator<Uint8Array> {}

/** How often something can be read before it is too much. */
function timesUntilTooMuch(read: () => void): number {
  for (let times = 0; ; times++) {
    try {
      read();
    } catch {
      return times;
    }
  }
}

test.each([
  ["data in large pieces by the byte", 64 * 1024, "data", 8],
  ["data in the smallest pieces by the piece", 1, "data", 1024],
  ["what is no data eight times", 27, "TLS", Math.floor((512 * 1024) / (27 * 8))],
] as const)("a budget counts %s", (_what, bytes, of, times) => {
  const { read, exceeded } = open();
  expect(timesUntilTooMuch(() => read(bytes, of))).toBe(times);
  expect(exceeded).toHaveLength(1);
});

test("after too much, nothing is asked until half of the budget is there again, which takes longer after more", async () => {
  const { clock, transport, read } = open();
  expect(() => read(1024 * 1024, "data")).toThrow("sends more than 512 KiB");
  await clock.advance(90_000);
  await expect(transport.send(request)).rejects.toThrow("sends more than 512 KiB");
  await clock.advance(10_000);
  expect((await transport.send(request)).status).toBe(200);
});
