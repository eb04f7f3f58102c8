import { VirtualClock } from "@keyturn/runtime/testing";
import { expect, it } from "vitest";
import { whenSettled } from "./settled.ts";

it("waits for a watch that is syncing, not for one that is refused or not served, and for one that fails only so long", async () => {
  const clock = new VirtualClock();
  const { signal } = new AbortController();
  let synced = false;
  let settled = false;
  const forbidden = { synced: false, state: { type: "forbidden", rule: "list secrets" } } as const;
  const failing = { synced: false, state: { type: "retrying", error: "reset" } } as const;
  const done = whenSettled([() => ({ synced, state: { type: "syncing" } }), () => forbidden, () => failing], {
    clock,
    patienceMs: 5000,
    signal,
  }).then(() => (settled = true));
  await clock.advance(4000);
  synced = true;
  await clock.advance(500);
  expect(settled).toBe(false);
  await clock.advance(600);
  await done;
  expect(settled).toBe(true);
});
