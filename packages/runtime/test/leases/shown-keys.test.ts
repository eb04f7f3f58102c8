// What replicas show of their keys, between real processes on a real API server: each key is shown by the one that works on it.
import { expect, test } from "vitest";
import { soon, useSharedApiServer } from "@keyturn/runtime/testing/vitest";
import { Fleet } from "./fleet.ts";

const leaseTimes = { leaseDurationMs: 3_000, renewDeadlineMs: 2_000, retryPeriodMs: 300 };
const keys = Array.from({ length: 12 }, (_, index) => `key-${String(index).padStart(2, "0")}`);
const cluster = useSharedApiServer();

test("a replica that lost its lease shows nothing, lives on, and shows its keys again when it has the lease again", async () => {
  await using fleet = await Fleet.open(cluster(), { keys, leaseTimes });
  const first = await fleet.start();
  await soon(async () => expect(await first.shownKeys()).toEqual(keys));
  const second = await fleet.start();
  // A machine that is busy may have let the lease pass on before.
  const [leader, other] = await soon(async () => {
    const shown = [await first.shownKeys(), await second.shownKeys()];
    expect(shown.toSorted((a, b) => a.length - b.length)).toEqual([[], keys]);
    return shown[0]?.length === 0 ? [second, first] : [first, second];
  });

  const cut = leader.cutOff("silence");
  await soon(async () => expect([await leader.shownKeys(), await other.shownKeys()]).toEqual([[], keys]));
  expect(leader.running).toBe(true);
  cut.undo();
  other.signal("SIGKILL");
  await soon(async () => expect(await leader.shownKeys()).toEqual(keys));
});
