// Many keys against a server that is overloaded, and keys that are beyond help among many that are not.
import { expect, test } from "vitest";
import { createClient } from "../client/kube-client.ts";
import { scriptedTransport } from "../client/scripted-transport.fixture.ts";
import type { Transport } from "../client/transport.ts";
import { seededRandom } from "../random.ts";
import { VirtualClock } from "../testing/virtual-clock.ts";
import type { Reconcile } from "./controller.ts";
import { deaf, runnerRig } from "./runner-rig.fixture.ts";
import { thingKind } from "./small-world.fixture.ts";

const keys = 1_000;
const minuteMs = 60_000;
const name = { namespace: "test", name: "z" };

const requests: Readonly<Record<string, Reconcile>> = {
  writes: async ({ client }) => void (await client.mergePatch(thingKind, name, {})),
  reads: async ({ client }) => void (await client.get(thingKind, name)),
};

test.each(Object.entries(requests))(
  "1,000 keys whose %s are answered with 429 send ever fewer requests, and never all at once",
  async (_, reconcile) => {
    const overloaded = scriptedTransport({ status: 429, headers: { "retry-after": "1" }, body: { kind: "Status", reason: "TooManyRequests" } });
    const clock = new VirtualClock();
    const sentMs: number[] = [];
    const transport: Transport = {
      send: (request) => (sentMs.push(clock.monotonic()), overloaded.send(request)),
      close() {},
    };
    const rig = runnerRig(reconcile, {}, { clock, client: createClient(transport, { clock, random: seededRandom(2) }) });
    for (let index = 0; index < keys; index++) rig.world.put(`key-${index}`, 1);
    rig.lead();
    await clock.advance(16 * minuteMs);
    const sentWithin = (fromMs: number, toMs: number): number => sentMs.filter((ms) => ms >= fromMs && ms < toMs).length;
    const perMinute = [0, 1, 2, 4, 8].map((minute) => sentWithin(minute * minuteMs, (2 * minute || 1) * minuteMs) / (minute || 1));
    expect(perMinute).toEqual(perMinute.toSorted((a, b) => b - a));
    // In the end, once in two and a half to five minutes for each.
    expect(perMinute.at(-1)).toBeLessThan(keys / 2.5);
    const perSecond = Array.from({ length: 14 * 60 }, (_second, second) =>
      sentWithin(2 * minuteMs + second * 1_000, 2 * minuteMs + (second + 1) * 1_000),
    );
    expect(Math.max(...perSecond)).toBeLessThan(keys / 10);
  },
);

test("a key that always fails, one that hangs and one that does not even listen delay no other", async () => {
  const lateMs: number[] = [];
  const putMs = new Map<string, number>();
  const rig = runnerRig(
    async ({ key, signal }) => {
      if (key === "test/poisoned") throw new Error("no good");
      if (key === "test/hanging") return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      if (key === "test/deaf") return deaf();
      lateMs.push(rig.clock.monotonic() - (putMs.get(key) ?? 0));
      return undefined;
    },
    // One worker is left for all others.
    { concurrency: 3, deadlineMs: 60_000 },
  );
  const { clock, world, lead } = rig;
  for (const odd of ["poisoned", "hanging", "deaf"]) world.put(odd, 1);
  lead();
  await clock.advance(100);
  for (let round = 0; round < 600; round++) {
    for (const each of ["a", "b", "c"]) {
      putMs.set(`test/${each}`, clock.monotonic());
      world.put(each, round);
    }
    // The poisoned one is touched again and again as well.
    world.put("poisoned", round);
    await clock.advance(500);
  }
  expect(lateMs).toHaveLength(1_800);
  expect(Math.max(...lateMs)).toBeLessThanOrEqual(10);
});
