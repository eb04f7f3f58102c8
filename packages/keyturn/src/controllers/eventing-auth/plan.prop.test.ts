// Whatever was there, whatever others do and wherever runs are cut off: in the end one application and one right Secret, or nothing at all.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Crash, IssuingWorld } from "./issuing-world.fixture.ts";

const crash: fc.Arbitrary<Crash | undefined> = fc.option(
  fc.record({ atAct: fc.nat({ max: 6 }), moment: fc.constantFrom<Crash["moment"]>("before", "between", "after") }),
  { nil: undefined },
);

/** Something that somebody does between two runs. */
const meddling = fc.constantFrom<(world: IssuingWorld) => void>(
  () => {},
  (world) => {
    world.secret = world.clientSecret = undefined;
  },
  (world) => {
    if (world.secret) world.secret = { ...world.secret, digest: "edited" };
    world.clientSecret = "edited";
  },
  (world) => {
    if (world.secret) world.secret = { ...world.secret, clientId: "edited" };
  },
  (world) => {
    if (world.secret) world.secret = { ...world.secret, tokenUrl: undefined };
  },
  (world) => world.applications.forEach(({ secrets }) => secrets.clear()),
  (world) => world.applications.clear(),
  (world) => {
    world.nowMs += 90_000_000;
  },
);

const history = fc.array(fc.tuple(crash, meddling), { maxLength: 12 });

/** Everything is as it should be. */
function expectWhole(world: IssuingWorld): void {
  expect(world.applications.size).toBe(1);
  const [application] = world.applications.values();
  expect(world.status?.iasApplication?.uuid).toBe(application?.id);
  expect(world.secret?.clientId).toBe(application?.clientId);
  expect(world.accepts).toBe(true);
  expect(application?.secrets.size).toBe(1);
  expect(world.status?.state).toBe("Ready");
}

test("creation, repair and rotation come to one application with one client secret, which is the one in the cluster", () => {
  fc.assert(
    fc.property(history, fc.boolean(), (events, rotates) => {
      const world = new IssuingWorld();
      world.rotateAfterMs = rotates ? 86_400_000 : 0;
      for (const [at, meddle] of events) {
        world.run(at);
        meddle(world);
      }
      world.nowMs += 60_000;
      world.run();
      expectWhole(world);
    }),
  );
});

test("deletion leaves nothing, wherever it is cut off and whatever came before", () => {
  fc.assert(
    fc.property(history, fc.array(crash, { maxLength: 6 }), (events, cuts) => {
      const world = new IssuingWorld();
      for (const [at, meddle] of events) {
        world.run(at);
        meddle(world);
      }
      world.deletedAt = new Date(world.nowMs).toISOString();
      world.nowMs += 60_000;
      for (const at of [...cuts, undefined]) if (!world.released) world.run(at);
      expect(world.released).toBe(true);
      expect([...world.applications.keys()]).toEqual([]);
      expect(world.secret).toBeUndefined();
    }),
  );
});

test("client secrets at the tenant stay few, however often a run is cut off between issuing one and writing it", () => {
  const world = new IssuingWorld();
  world.overlapMs = 3_600_000;
  for (let count = 0; count < 50; count++) world.run({ atAct: count === 0 ? 1 : 0, moment: "between" });
  const [application] = world.applications.values();
  expect(world.applications.size).toBe(1);
  expect(application?.secrets.size).toBeLessThan(12);
});

test("while the old client secret is within its overlap, it goes on working", () => {
  fc.assert(
    fc.property(fc.array(crash, { maxLength: 5 }), (cuts) => {
      const world = new IssuingWorld();
      world.rotateAfterMs = 86_400_000;
      world.overlapMs = 3_600_000;
      world.run();
      const old = world.clientSecret;
      world.nowMs += 86_400_000;
      for (const at of [...cuts, undefined]) world.run(at);
      expect(world.clientSecret).not.toBe(old);
      expect(world.applications.values().some(({ secrets }) => secrets.values().some((secret) => secret === old))).toBe(true);
      world.nowMs += 3_600_000;
      world.run();
      expectWhole(world);
    }),
  );
});
