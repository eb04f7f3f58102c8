// Decisions over random observations: what must hold whatever is seen.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { decide } from "./decision.ts";
import { checksumFor, idsOf, observation, observedSet, promotedSet, stampAt, type TestSet, testRules } from "./decision.fixture.ts";
import { setDifference } from "../controllers/checksum/difference.ts";
import { situationNames } from "./alarm-policies.ts";

const now = 10_000;
const secret = fc.record(
  {
    version: fc.integer({ min: 1, max: 3 }),
    notAfterMs: fc.constantFrom(now - 1, now + 1),
    leftOut: fc.constantFrom("KeyMismatch", "VersionMissing"),
  },
  { requiredKeys: ["version"] },
);
const anySet: fc.Arbitrary<TestSet> = fc.dictionary(fc.constantFrom("a-1", "b-2", "c-3", "d-4"), secret);
const checksums = fc.array(
  fc.tuple(anySet, fc.integer({ min: 1, max: 9 })).map(([set, at]) => checksumFor(set, at)),
  { maxLength: 4 },
);
const observed = fc.record({
  secrets: fc.option(anySet.map(observedSet), { nil: undefined }),
  checksums: fc.oneof(checksums, fc.constantFrom("unknown" as const, "missing" as const)),
  promoted: fc.option(
    anySet.map((set) => promotedSet(Object.fromEntries(Object.entries(set).filter(([, each]) => !each.leftOut)), 5)),
    { nil: undefined },
  ),
  stamp: fc.option(fc.integer({ min: 1, max: 9 }).map(stampAt), { nil: undefined }),
  isWhole: fc.boolean(),
  differsSinceMs: fc.option(fc.integer({ min: 0, max: now }), { nil: undefined }),
});

test("with the default policies only a set that is not empty, matches, and is not older than what was matched is promoted", () => {
  fc.assert(
    fc.property(observed, (given) => {
      const { state, match } = decide(observation(given), testRules(), now);
      if (state !== "promote") return;
      expect(match?.checksum).toBe(given.secrets?.state.checksum);
      expect(given.secrets?.state.ids).not.toEqual([]);
      expect(match?.stamp.timestampMs).toBeGreaterThanOrEqual(given.stamp?.timestampMs ?? 0);
    }),
  );
});

test("whatever keeps a set from being promoted is said", () => {
  fc.assert(
    fc.property(observed, (given) => {
      const { state, objections } = decide(observation(given), testRules(), now);
      if (state === "holding") expect(objections).not.toEqual([]);
    }),
  );
});

/** Those that are about one Secret, and decide what is promoted rather than whether. */
const ofSecrets = new Set<string>(["BadCertificate", "LeftOut", "OlderCertificate", "InvalidDates", "Unannounced"]);

test("whatever the policies for single Secrets are, what is to be served is what is live, or what is promoted", () => {
  fc.assert(
    fc.property(observed, fc.subarray([...situationNames]), (given, promoting) => {
      const policies = Object.fromEntries(promoting.map((situation) => [situation, "promote" as const]));
      const { target } = decide(observation(given), testRules(policies), now);
      for (const [name, { id, digest }] of Object.entries(target?.secrets ?? {})) {
        const member = given.secrets?.secrets.get(name)?.member;
        const isLive = member?.state === "counted" && member.id === id && member.digest === digest;
        const before = given.promoted?.secrets[name];
        expect(isLive || (before?.id === id && before.digest === digest)).toBe(true);
      }
    }),
  );
});

test("a policy about the set only ever allows more", () => {
  fc.assert(
    fc.property(observed, fc.constantFrom(...situationNames.filter((situation) => !ofSecrets.has(situation))), (given, situation) => {
      const strict = decide(observation(given), testRules(), now).state;
      const lenient = decide(observation(given), testRules({ [situation]: "promote" }), now).state;
      expect([strict, "promote"]).toContain(lenient);
    }),
  );
});

test("the differences of two sets, applied to one, give the other", () => {
  fc.assert(
    fc.property(anySet, anySet, (here, there) => {
      const { secrets } = observedSet(here);
      const live = new Map([...secrets].flatMap(([name, { member }]) => (member.state === "counted" ? [[name, member.id] as const] : [])));
      const differences = setDifference({ live, leftOut: new Map(), published: idsOf(there), knownNames: new Map() });
      const ids = idsOf(here).filter((id) => !differences.some((each) => each.live === id));
      expect([...ids, ...differences.flatMap(({ published }) => published ?? [])].toSorted()).toEqual(idsOf(there).toSorted());
      for (const { direction, live: id, secret: name } of differences) if (direction !== "missing") expect(live.get(name ?? "")).toBe(id);
    }),
  );
});
