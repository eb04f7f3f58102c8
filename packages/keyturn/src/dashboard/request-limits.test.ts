// How often a client may ask.
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, it } from "vitest";
import { RequestLimit } from "./request-limits.ts";

it("allows a burst and then a steady rate, to each client alone", async () => {
  const clock = new VirtualClock();
  const limit = new RequestLimit({ burst: 2, perMs: 0.001 }, clock);
  expect([limit.take("a"), limit.take("a"), limit.take("a"), limit.take("b")]).toEqual([true, true, false, true]);
  expect([limit.allows("a"), limit.allows("b")]).toEqual([false, true]);
  expect(limit.retryAfterSeconds).toBe(1);
  await clock.advance(1000);
  expect([limit.allows("a"), limit.take("a"), limit.take("a")]).toEqual([true, true, false]);
});
