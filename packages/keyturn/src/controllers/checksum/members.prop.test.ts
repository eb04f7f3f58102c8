// Kept up to date change by change, a set says the same as one made anew; and the order of changes does not matter.
import * as fc from "fast-check";
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { checksumOf, leftOut, type Member } from "./ids.ts";
import { MemberSet } from "./members.ts";

const nameArbitrary = fc.integer({ min: 0, max: 60 }).map((number) => `object-${number}`);
const memberArbitrary: fc.Arbitrary<Member> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .record({
        number: fc.integer({ min: 0, max: 12 }),
        version: fc.integer(),
        digest: fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }),
      })
      .map(({ number, version, digest }): Member => ({ state: "counted", id: `${number}-${version}`, digest })),
  },
  { weight: 1, arbitrary: fc.constantFrom(leftOut("NumberMissing"), leftOut("VersionInvalid")) },
);
type Step = { readonly name: string; readonly member: Member | undefined; readonly look: boolean };
const historyArbitrary: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({ name: nameArbitrary, member: fc.option(memberArbitrary, { nil: undefined, freq: 3 }), look: fc.boolean() }),
  { maxLength: 200, size: "max" },
);

const setOf = (members: Iterable<readonly [string, Member]>): MemberSet => {
  const set = new MemberSet();
  for (const [name, member] of members) set.set(name, member);
  return set;
};

test("after any history the set says what a set made anew says", () => {
  fc.assert(
    fc.property(historyArbitrary, (history) => {
      const members = new Map<string, Member>();
      const set = new MemberSet();
      for (const { name, member, look } of history) {
        if (member) {
          members.set(name, member);
          set.set(name, member);
        } else {
          expect(set.delete(name)).toBe(members.delete(name));
        }
        // Looking in between must not change what is said later: it decides which changes are made together.
        if (look) set.state();
      }
      const anew = setOf([...members].toReversed());
      expect(set.state()).toEqual(anew.state());
      expect(set.problems()).toEqual(anew.problems());
      expect(set.size).toBe(members.size);
    }),
    { numRuns: 300 },
  );
});

test("its ids are sorted as bytes, and its checksum is the MD5 of them joined with commas", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(nameArbitrary, memberArbitrary)), (entries) => {
      const set = setOf(entries);
      const { ids, checksum } = set.state();
      const sorted = ids.map((id) => Buffer.from(id)).sort((left, right) => left.compare(right));
      expect(ids).toEqual(sorted.map(String));
      const joined = sorted.flatMap((id, index) => (index === 0 ? [id] : [Buffer.from(","), id]));
      expect(checksum).toBe(createHash("md5").update(Buffer.concat(joined)).digest("hex"));
      expect(checksum).toBe(checksumOf(ids.toReversed()));
    }),
  );
});
