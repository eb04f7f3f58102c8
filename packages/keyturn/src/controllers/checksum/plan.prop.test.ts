// Whatever happens, and wherever a process dies between two writes: there is always a checksum, a published one never changes, and in the end the right one counts.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { policy, PublishedWorld } from "./published-world.fixture.ts";

type Step =
  | { readonly type: "change"; readonly ids: readonly string[] }
  | { readonly type: "announce"; readonly ids: readonly string[]; readonly minutes: number }
  | { readonly type: "reconcile"; readonly writes: number }
  | { readonly type: "lose"; readonly index: number }
  | { readonly type: "time"; readonly minutes: number };

const ids = fc.uniqueArray(
  fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 3 })).map(([number, version]) => `${number}-${version}`),
  { maxLength: 4 },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ type: fc.constant("change" as const), ids }),
  fc.record({ type: fc.constant("announce" as const), ids, minutes: fc.integer({ min: 1, max: 120 }) }),
  fc.record({ type: fc.constant("reconcile" as const), writes: fc.integer({ min: 0, max: 6 }) }),
  fc.record({ type: fc.constant("lose" as const), index: fc.nat(3) }),
  fc.record({ type: fc.constant("time" as const), minutes: fc.integer({ min: 0, max: 30 }) }),
);

/** How many of the checksums' states have been there. */
const settled = ({ objects }: PublishedWorld): number =>
  [...objects.values()].filter(({ spec, status }) => !spec.announcement || status?.reached !== undefined).length;

test("no history and no crash leaves a namespace without its checksum", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: "max" }), (history) => {
      const world = new PublishedWorld();
      const specs = new Map<string, string>();
      let hasPublished = false;
      for (const each of history) {
        if (each.type === "change") world.setLive(...each.ids);
        else if (each.type === "announce") world.announce(each.minutes * 60_000, ...each.ids);
        else if (each.type === "time") world.nowMs += each.minutes * 60_000;
        else if (each.type === "lose") {
          const [name] = [...world.objects.keys()].slice(each.index);
          if (name !== undefined && world.objects.delete(name)) hasPublished = settled(world) > 0;
        } else {
          const plan = world.plan();
          const awaited = plan.statuses.some(({ conditions }) => conditions["Current"]?.reason === "Awaited");
          if (awaited) expect(plan.publish).toBeUndefined();
          const before = world.objects.size;
          world.carryOut(plan, each.writes);
          if (before > 0) expect(world.objects.size).toBeGreaterThan(0);
        }
        for (const [name, { spec }] of world.objects) {
          expect(specs.get(name) ?? JSON.stringify(spec)).toBe(JSON.stringify(spec));
          specs.set(name, JSON.stringify(spec));
        }
        if (hasPublished) expect(settled(world)).toBeGreaterThan(0);
        hasPublished ||= settled(world) > 0;
      }
      // When everything announced is over, what is there counts.
      world.nowMs += 2 * policy.maxAnnouncementMs;
      if (world.settle().isHeld) world.allow();
      world.settle();
      world.nowMs += policy.keepForMs;
      world.settle();
      const [newest = ""] = world.published;
      if (world.state.ids.length > 0) {
        expect(newest).toBe(world.state.ids.join(" "));
        expect(world.standing(newest)).toMatch(/^True/);
      }
      expect(world.objects.size).toBeLessThanOrEqual(1);
    }),
    { numRuns: 500 },
  );
});
