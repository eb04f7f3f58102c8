// Shards between real processes on a real API server: shared out evenly, and each key with one replica at a time.
import { type Cluster, startCluster } from "@keyturn/runtime/testing";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { handovers } from "./activity.ts";
import { Fleet } from "./fleet.ts";

const leaseTimes = { leaseDurationMs: 5_000, renewDeadlineMs: 3_500, retryPeriodMs: 300 };
const keys = Array.from({ length: 24 }, (_, i) => `key-${i}`);
const patiently = { timeout: 60_000, interval: 200 };

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());

/** Waits until the shards are held in exactly these shares. */
async function sharesAre(fleet: Fleet, expected: readonly number[]): Promise<ReadonlyMap<string, string | undefined>> {
  return vi.waitFor(async () => {
    const holders = await fleet.holders();
    const counts = new Map<string, number>();
    for (const holder of holders.values()) if (holder) counts.set(holder, (counts.get(holder) ?? 0) + 1);
    expect([...counts.values()].toSorted((a, b) => b - a)).toEqual(expected);
    return holders;
  }, patiently);
}

/** Waits until every key has been worked on since. */
async function allKeysAct(fleet: Fleet): Promise<void> {
  const before = fleet.acts().length;
  await vi.waitFor(
    () =>
      expect(
        new Set(
          fleet
            .acts()
            .slice(before)
            .map(({ key }) => key),
        ).size,
      ).toBe(keys.length),
    patiently,
  );
}

test("replicas share the shards; one that comes or goes moves only its share; every key is always somebody's", async () => {
  await using fleet = await Fleet.open(cluster, { shards: 6, keys, leaseTimes });
  const first = await fleet.start();
  await sharesAre(fleet, [6]);
  await fleet.start();
  const two = await sharesAre(fleet, [3, 3]);
  const third = await fleet.start();
  const three = await sharesAre(fleet, [2, 2, 2]);
  expect([...three].filter(([lease, holder]) => two.get(lease) !== holder)).toHaveLength(2);
  await allKeysAct(fleet);

  first.signal("SIGTERM");
  expect(await first.exited).toBe(0);
  await sharesAre(fleet, [3, 3]);
  third.signal("SIGKILL");
  await sharesAre(fleet, [6]);
  await allKeysAct(fleet);

  // A key came back to a replica only because its successor was killed, and then the successor's lease had to run out.
  const pasts = new Map(keys.map((key) => [key, new Set<string>()]));
  const hasty = handovers(fleet.acts()).filter(({ from, to, gapMs }) => {
    pasts.get(from.key)?.add(from.replica);
    return pasts.get(to.key)?.has(to.replica) && gapMs < leaseTimes.leaseDurationMs - leaseTimes.renewDeadlineMs;
  });
  expect(hasty).toEqual([]);
}, 240_000);
