// The plan for random views: even, complete, and with no more moves than the change demands.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { planShards } from "./shard-plan.ts";

const names = ["a", "b", "c", "d", "e"];
const view = fc
  .record({ members: fc.subarray(names, { minLength: 1 }), shards: fc.integer({ min: 1, max: 20 }) })
  .chain(({ members, shards }) =>
    fc.record({ members: fc.constant(members), holders: fc.array(fc.constantFrom(...members, undefined), { minLength: shards, maxLength: shards }) }),
  );

/** What all members do when they act on the plan at once, and again until nothing changes. */
function settle(holders: readonly (string | undefined)[], members: readonly string[]): readonly (string | undefined)[] {
  let current = holders;
  for (let round = 0; round < 3; round++) {
    const plans = new Map(members.map((self) => [self, planShards({ holders: current, members, self }).own]));
    current = current.map((holder, shard) => {
      if (holder !== undefined) return plans.get(holder)?.has(shard) ? holder : undefined;
      const takers = members.filter((member) => plans.get(member)?.has(shard));
      expect(takers.length).toBeLessThanOrEqual(1);
      return takers[0];
    });
  }
  return current;
}

const countOf = (holders: readonly (string | undefined)[], member: string): number => holders.filter((holder) => holder === member).length;

test("every shard gets one holder and shares differ by at most one", () => {
  fc.assert(
    fc.property(view, ({ members, holders }) => {
      const settled = settle(holders, members);
      expect(settled).not.toContain(undefined);
      const counts = members.map((member) => countOf(settled, member));
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    }),
  );
});

test("a member that comes or goes moves only its share", () => {
  fc.assert(
    fc.property(view, ({ members, holders }) => {
      const before = settle(holders, members);
      const more = settle(before, [...members, "z"]);
      expect(before.filter((holder, shard) => more[shard] !== holder).length).toBe(countOf(more, "z"));
      const orphaned = more.map((holder) => (holder === "z" ? undefined : holder));
      const fewer = settle(orphaned, members);
      expect(more.filter((holder, shard) => fewer[shard] !== holder).length).toBe(countOf(more, "z"));
    }),
  );
});
