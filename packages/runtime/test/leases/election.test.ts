// Elections between real processes on a real API server: killed, paused, cut off, and asked to end.
import { setTimeout as delay } from "node:timers/promises";
import { seededRandom } from "@keyturn/runtime";
import { soon, useSharedApiServer } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { handovers } from "./activity.ts";
import { cutOffs, Fleet, type Replica } from "./fleet.ts";

const short = { leaseDurationMs: 3_000, renewDeadlineMs: 2_000, retryPeriodMs: 300 };
/** Longer than anybody here waits. */
const long = { leaseDurationMs: 600_000, renewDeadlineMs: 400_000, retryPeriodMs: 250 };
const oneKey = { keys: ["a"] };

const cluster = useSharedApiServer();

/** Waits until the replica does something that it has not done yet. */
async function actsAgain(replica: Replica): Promise<void> {
  const before = replica.acts().length;
  await soon(() => expect(replica.acts().length).toBeGreaterThan(before));
}

/** Waits until one of them does something that nobody has done yet. */
async function someoneActs(fleet: Fleet): Promise<void> {
  const before = fleet.acts().length;
  await soon(() => expect(fleet.acts().length).toBeGreaterThan(before));
}

/**
 * Nobody acts while another may: none of them has given the lease back, so between two lies what a lease outlasts the right to act. That holds however busy
 * the machine is, and whoever had to step down for that.
 */
function expectTurns(fleet: Fleet): void {
  const passed = handovers(fleet.acts());
  expect(passed).not.toEqual([]);
  expect(passed.filter(({ gapMs }) => gapMs < short.leaseDurationMs - short.renewDeadlineMs)).toEqual([]);
}

/** Two replicas, the first of which acts. */
async function pair(fleet: Fleet): Promise<readonly [Replica, Replica]> {
  const first = await fleet.start();
  await actsAgain(first);
  return [first, await fleet.start()];
}

describe("two replicas", { concurrent: true }, () => {
  test("a killed leader is followed by the other", async () => {
    await using fleet = await Fleet.open(cluster(), { ...oneKey, leaseTimes: short });
    const [first, second] = await pair(fleet);
    first.signal("SIGKILL");
    await actsAgain(second);
    // A machine that is busy may have let the lease pass on before.
    expect(handovers(fleet.acts()).at(-1)).toMatchObject({ from: { replica: first.name }, to: { replica: second.name } });
  });

  test("a leader that is asked to end gives its lease back, and the other need not wait for it to run out", async () => {
    await using fleet = await Fleet.open(cluster(), { ...oneKey, leaseTimes: long });
    const [first, second] = await pair(fleet);
    first.signal("SIGTERM");
    expect(await first.exited).toBe(0);
    await actsAgain(second);
    expect(handovers(fleet.acts())).toMatchObject([{ from: { replica: first.name }, to: { replica: second.name } }]);
    expect(await first.log).toContain("lease given back");
  });

  test("a leader that was paused does nothing when it goes on, and stands by", async () => {
    await using fleet = await Fleet.open(cluster(), { ...oneKey, leaseTimes: short });
    const [first, second] = await pair(fleet);
    first.signal("SIGSTOP");
    await actsAgain(second);
    const asked = (): number => first.proxy.requests({ method: "GET", path: /leases\/replica-pulse$/ }).length;
    const before = asked();
    first.signal("SIGCONT");
    await soon(() => expect(asked()).toBeGreaterThan(before + 1));
    await actsAgain(second);
    expect(first.running).toBe(true);
    second.signal("SIGKILL");
    await second.exited;
    await actsAgain(first);
    // While the other acted the first one did not: what it did when it went on would be between two acts of the other.
    expectTurns(fleet);
  });

  test("a container that is started again in its pod takes its Lease at once, and no other process of the pod does while the first one is there", async () => {
    await using fleet = await Fleet.open(cluster(), { ...oneKey, leaseTimes: long });
    const first = await fleet.start();
    await actsAgain(first);
    first.signal("SIGSTOP");
    const beside = await fleet.start(first.podUid);
    await soon(() => expect(beside.proxy.requests({ method: "GET", path: /leases\/replica-pulse$/ }).length).toBeGreaterThan(3));
    expect(beside.acts()).toEqual([]);
    beside.signal("SIGKILL");
    await beside.exited;
    first.signal("SIGKILL");
    await first.exited;
    // With a lease of ten minutes, it could not be waited for.
    await actsAgain(await fleet.start(first.podUid));
  });

  test.for(cutOffs)("a leader that is cut off (%s) stops, lives on, and takes over again later", async (how) => {
    await using fleet = await Fleet.open(cluster(), { ...oneKey, leaseTimes: short });
    const [first, second] = await pair(fleet);
    const cut = first.cutOff(how);
    await actsAgain(second);
    await actsAgain(second);
    expect(first.running).toBe(true);
    cut.undo();
    second.signal("SIGKILL");
    await second.exited;
    await actsAgain(first);
    expectTurns(fleet);
    expect(new Set(handovers(fleet.acts()).map(({ to }) => to.replica))).toEqual(new Set([first.name, second.name]));
  });
});

test("three replicas, killed, paused and cut off at random: never two at once, and always one again", { concurrent: true }, async ({ annotate }) => {
  const seed = Number(process.env["SEED"] ?? 1);
  await annotate(`seed ${seed}`);
  const random = seededRandom(seed);
  await using fleet = await Fleet.open(cluster(), { ...oneKey, leaseTimes: short });
  for (let i = 0; i < 3; i++) await fleet.start();
  await soon(() => expect(fleet.acts().length).toBeGreaterThan(10));

  const faults = { kill: 0, pause: 0, cut: 0 };
  const lasting: (() => void)[] = [];
  const actor = (): Replica | undefined => fleet.replicas.find(({ name }) => name === fleet.acts().toSorted((a, b) => b.atMs - a.atMs)[0]?.replica);
  for (let i = 0; i < 12; i++) {
    const living = fleet.replicas.filter(({ running }) => running);
    // Mostly whoever acts, because that is where it hurts.
    const acting = actor();
    const victim = living.find((replica) => replica === acting && random() < 0.85) ?? living[Math.floor(random() * living.length)];
    const type = (["kill", "pause", "cut"] as const)[Math.floor(random() * 3)] ?? "kill";
    faults[type]++;
    if (type === "kill") {
      victim?.signal("SIGKILL");
      await victim?.exited;
      await fleet.start();
    } else if (type === "pause") {
      victim?.signal("SIGSTOP");
      lasting.push(() => victim?.signal("SIGCONT"));
    } else {
      const cut = victim?.cutOff(cutOffs[Math.floor(random() * cutOffs.length)] ?? "silence");
      lasting.push(() => cut?.undo());
    }
    // Faults of several replicas overlap, or do not; one replica is always free of them. They end before the lease does, or after somebody else has it.
    await delay(random() * 2_500);
    const atMost = Math.floor(random() * 3);
    while (lasting.length > atMost) lasting.shift()?.();
    if (random() < 0.5) await someoneActs(fleet);
  }
  for (const end of lasting) end();
  await someoneActs(fleet);
  const leader = actor();
  faults.kill++;
  leader?.signal("SIGKILL");
  await leader?.exited;
  await someoneActs(fleet);

  const margins = handovers(fleet.acts()).map(({ gapMs }) => gapMs);
  await annotate(`${JSON.stringify(faults)}, ${margins.length} handovers, shortest after ${Math.round(Math.min(...margins))} ms`);
  expectTurns(fleet);
  // Whoever we did not kill is still there.
  const ends = await Promise.all(fleet.replicas.filter(({ running }) => !running).map(({ exited }) => exited));
  expect(ends).toEqual(Array.from({ length: faults.kill }, () => "SIGKILL"));
});
