// The plan in a model world: caches that lag, writes that fail or whose answer is lost, leaders that change, configurations that change at any moment.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { limitsArbitrary, ModelWorld, stepArbitrary } from "./model-world.fixture.ts";

const workloads = 5;

test("whatever happens: every outdated workload is restarted exactly once, none that is current is touched, and no budget is exceeded", () => {
  fc.assert(
    fc.property(limitsArbitrary, fc.array(stepArbitrary(workloads), { maxLength: 120, size: "max" }), (limits, steps) => {
      const world = new ModelWorld(workloads, limits);
      for (const step of steps) world.apply(step);
      world.settle();
      for (const workload of world.workloads) {
        expect(workload.pods.every(({ sidecar }) => sidecar === workload.expected)).toBe(true);
        expect(workload.labelled).toBe(false);
      }
      expect(world.wrongs).toEqual([]);
    }),
    { numRuns: 1000 },
  );
});

test("one change, in any order of events and with any leader: as many restarts as outdated workloads", () => {
  fc.assert(
    fc.property(
      limitsArbitrary,
      fc.uniqueArray(fc.nat(workloads - 1)),
      fc.array(
        stepArbitrary(workloads).filter(({ type }) => type !== "configure" && type !== "deploy"),
        { maxLength: 80, size: "max" },
      ),
      (limits, outdated, steps) => {
        const world = new ModelWorld(workloads, limits);
        for (const workload of outdated) world.apply({ type: "configure", workload });
        for (const step of steps) world.apply(step);
        world.settle();
        expect(world.workloads.map(({ restarts }) => restarts)).toEqual(world.workloads.map((_, index) => (outdated.includes(index) ? 1 : 0)));
        expect(world.wrongs).toEqual([]);
      },
    ),
    { numRuns: 1000 },
  );
});
