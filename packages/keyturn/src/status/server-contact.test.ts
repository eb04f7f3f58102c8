import { ApiError } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, it } from "vitest";
import { believedStatus, isContactLost, keepContact } from "./server-contact.ts";

type Answer = "answer" | "hang" | number;

function world() {
  const clock = new VirtualClock();
  const stop = new AbortController();
  let answer: Answer = "answer";
  const request = async (_request: unknown, signal?: AbortSignal): Promise<unknown> => {
    if (typeof answer === "number") throw new ApiError("asking", answer, {});
    if (answer === "answer") return {};
    return new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason as Error)));
  };
  const contact = keepContact({ client: { request }, clock }, stop.signal);
  return { clock, contact, stop, set: (next: Answer) => (answer = next) };
}

it("a server that hangs is silent from its last answer on, and not from when that was noticed", async () => {
  const { clock, contact, set, stop } = world();
  await clock.advance(12_000);
  expect(contact.silentForMs()).toBeLessThanOrEqual(5_000);
  const lastMs = contact.lastMs();
  set("hang");
  await clock.advance(20_000);
  expect(isContactLost(contact)).toBe(false);
  await clock.advance(8_000);
  expect(isContactLost(contact)).toBe(true);
  expect(contact.lastMs()).toBe(lastMs);
  set("answer");
  await clock.advance(11_000);
  expect(isContactLost(contact)).toBe(false);
  stop.abort();
});

it.each([
  [403, false],
  [404, false],
  [503, true],
])("whether the server is lost that answers %s: %s", async (status, lost) => {
  const { clock, contact, set, stop } = world();
  await clock.advance(1_000);
  set(status);
  await clock.advance(40_000);
  expect(isContactLost(contact)).toBe(lost);
  stop.abort();
});

it("a watch is believed no longer than its server and its bookmarks", () => {
  const live = { state: { type: "live" }, quietForMs: 124_000 } as const;
  const heard = { lastMs: () => 0, silentForMs: () => 5_000 };
  const silent = { lastMs: () => 0, silentForMs: () => 26_000 };
  expect(believedStatus(live, heard)).toBe(live);
  expect(believedStatus({ ...live, quietForMs: 141_000 }, heard).state).toMatchObject({ type: "retrying" });
  expect(believedStatus(live, silent).state).toEqual({ type: "retrying", error: "the API server has been silent for too long" });
  const forbidden = { state: { type: "forbidden", rule: "list secrets" }, quietForMs: 0 } as const;
  expect(believedStatus(forbidden, silent)).toBe(forbidden);
});
