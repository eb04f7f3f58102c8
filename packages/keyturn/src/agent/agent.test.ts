// An agent in virtual time, on a disk in memory: what it says about how current the served certificates are is true, whatever hangs and whatever clocks do.
import { createLogger } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { Agent } from "./agent.ts";
import { checksumFor, observedSet, promotedSet, testRules } from "./decision.fixture.ts";
import type { Disk } from "./disk.ts";
import { LossyDisk } from "./lossy-disk.fixture.ts";
import type { Manifest } from "./manifest.ts";
import type { ScopeView } from "./observe.ts";
import { ServedSet } from "./served-set.ts";
import type { SecretFiles } from "./secret-folder.ts";
import { digestOfFiles } from "./secret-folder.ts";
import { SnapshotStore } from "./snapshots.ts";
import type { AgentStatus } from "./status.ts";

const log = createLogger({ level: "error", destination: { write: () => undefined } });
const files: SecretFiles = { "tls.crt": Buffer.from("certificate"), "tls.key": Buffer.from("key") };
const set = { "web-1": { content: digestOfFiles(files) } };
const minuteMs = 60_000;

/** A disk on which nothing that is read ever comes back. */
function hangingDisk(disk: Disk, isHanging: () => boolean): Disk {
  return new Proxy(disk, {
    get: (target, property: keyof Disk) => {
      if (property === "read" && isHanging()) return () => new Promise<never>(() => undefined);
      return target[property].bind(target);
    },
  });
}

/** An agent that serves what its API server has, and what can happen to the two. */
async function verifiedAgent() {
  const clock = new VirtualClock();
  const world = { blocker: undefined as string | undefined, answers: true, answersEveryMs: 1, hangs: false };
  const lossy = new LossyDisk();
  await lossy.makeFolder("/agent");
  const disk = hangingDisk(lossy, () => world.hangs);
  const store = new SnapshotStore({ disk, folder: "/agent", namespace: "shop", shareAbove: 1000 });
  const manifest: Manifest = { ...promotedSet(set, clock.now()), promotedAtMs: clock.now() };
  await store.promote(manifest, { snapshot: undefined, isWhole: true }, async function* read() {
    yield { name: "web-1", digest: digestOfFiles(files), files };
  });
  const served = new ServedSet({ store, verifyEveryMs: minuteMs, clock, log });
  await served.recover();
  let heardMs = 0;
  const checksum = checksumFor(set, clock.now());
  const view: ScopeView = {
    secrets: () => observedSet(set),
    checksums: () => [checksum],
    blocker: () => world.blocker,
    heardMs: () => (world.answers ? (heardMs = clock.monotonic() - (clock.monotonic() % world.answersEveryMs)) : heardMs),
  };
  let status: AgentStatus | undefined;
  const agent = new Agent({
    namespace: "shop",
    identity: "test",
    folder: "/agent",
    disk,
    served,
    memory: {},
    gateway: undefined,
    rules: testRules(),
    pauseMs: 0,
    onStatus: (described) => {
      status = described;
    },
    clock,
    log,
  });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  void agent.run({ view, read: () => expect.unreachable("nothing is promoted") }, stop.signal);
  await clock.advance(minuteMs / 2);
  expect({ state: status?.state, stalenessMs: agent.stalenessMs }).toEqual({ state: "verified", stalenessMs: 0 });
  return { clock, world, agent, alarms: () => status?.alarms.map(({ alarm }) => alarm) };
}

test.each([0, 1000, 5000, 9000])(
  "what is served is said to be verified all the time, also when it is looked at %d ms after each answer of the API server",
  async (afterMs) => {
    const { clock, world, agent } = await verifiedAgent();
    world.answersEveryMs = 10_000;
    await clock.advance(10_000 - (clock.monotonic() % 10_000) + afterMs);
    agent.changed();
    const seen = new Set<number | undefined>();
    for (let second = 0; second < 60; second++) {
      await clock.advance(1000);
      seen.add(agent.stalenessMs);
    }
    expect([...seen]).toEqual([0]);
  },
);

describe("what is served is not said to be verified", () => {
  test("when an API server does not answer any more, although no watch has noticed", async () => {
    const { clock, world, agent } = await verifiedAgent();
    world.answers = false;
    await clock.advance(2 * minuteMs);
    expect(agent.stalenessMs).toBeGreaterThan(1.5 * minuteMs);
    world.answers = true;
    await clock.advance(10_000);
    expect(agent.stalenessMs).toBe(0);
  });

  test("when the disk hangs, so that nothing is looked at", async () => {
    const { clock, world, agent } = await verifiedAgent();
    world.hangs = true;
    await clock.advance(10 * minuteMs);
    expect(agent.stalenessMs).toBeGreaterThan(8 * minuteMs);
  });

  test("when the clock was set back while nothing can be verified, and the alarm comes in time", async () => {
    const { clock, world, agent, alarms } = await verifiedAgent();
    world.blocker = "away";
    await clock.advance(1000);
    clock.jumpWall(-60 * minuteMs);
    await clock.advance(minuteMs);
    expect(agent.stalenessMs).toBeGreaterThan(minuteMs / 2);
    expect(alarms()).toEqual(["Unreachable"]);
  });
});
