// The naive simulator that plan.ts is checked against is itself checked: against timelines worked out by hand, and against the closed form.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contentsOf, play, type SourceChange, targetsOf, timelineOf } from "../../packages/keyturn/test/rotation-model/timeline.ts";
import "../support/property-seed.ts";

const source = (...changes: readonly (readonly [number, string | undefined])[]): readonly SourceChange[] =>
  changes.map(([at, value]) => ({ at, value }));
const threeChanges = source([0, "v1"], [100, "v2"], [300, "v3"]);

describe("the simulator gives the timelines that were worked out by hand", () => {
  test.each([
    {
      which: "A: the guide's example",
      played: { targets: targetsOf([60, 5]), source: threeChanges, until: 400 },
      timeline: "0 [v1,v1] · 160 [v2,v1] · 305 [v2,v2] · 360 [v3,v2]",
    },
    {
      which: "B: the lower order's delay is the smaller one",
      played: { targets: targetsOf([5, 60]), source: threeChanges, until: 400 },
      timeline: "0 [v1,v1] · 105 [v2,v1] · 305 [v3,v1] · 360 [v3,v2]",
    },
    {
      which: "C: changes faster than delays",
      played: { targets: targetsOf([60, 5]), source: source([0, "v1"], [100, "v2"], [110, "v3"], [120, "v4"]), until: 400 },
      timeline: "0 [v1,v1] · 180 [v4,v1]",
    },
    {
      which: "D: three targets",
      played: { targets: targetsOf([60, 20, 5]), source: source([0, "v1"], [100, "v2"], [300, "v3"], [500, "v4"]), until: 700 },
      timeline: "0 [v1,v1,v1] · 160 [v2,v1,v1] · 320 [v2,v2,v1] · 360 [v3,v2,v1] · 505 [v3,v2,v2] · 520 [v3,v3,v2] · 560 [v4,v3,v2]",
    },
    {
      which: "E: a short flap",
      played: { targets: targetsOf([60, 5]), source: source([0, "v1"], [100, "v2"], [103, "v1"]), until: 400 },
      timeline: "0 [v1,v1]",
    },
    {
      which: "E: a longer flap",
      played: { targets: targetsOf([60, 5]), source: source([0, "v1"], [100, "v2"], [300, "v3"], [310, "v2"]), until: 500 },
      timeline: "0 [v1,v1] · 160 [v2,v1] · 305 [v2,v2]",
    },
    {
      which: "F: downtime",
      played: {
        targets: targetsOf([60, 5]),
        source: source([0, "v1"], [100, "v2"], [200, "v3"], [300, "v4"]),
        until: 500,
        down: [150, 400] as const,
      },
      timeline: "0 [v1,v1] · 400 [v4,v1]",
    },
    {
      which: "G: the source is deleted and made anew",
      played: { targets: targetsOf([60, 5]), source: source([0, "v1"], [100, "v2"], [130, undefined], [140, "v2"]), until: 400 },
      timeline: "0 [v1,v1] · 200 [v2,v1]",
    },
    {
      which: "H: one target keeps, the other goes with the source",
      played: { targets: keepAndCascade(), source: source([0, "v1"], [500, undefined]), until: 2000 },
      timeline: "0 [v1,v1] · 505 [v1,-]",
    },
    {
      which: "H: the source is back in time",
      played: { targets: keepAndCascade(), source: source([0, "v1"], [500, undefined], [503, "v1"]), until: 2000 },
      timeline: "0 [v1,v1]",
    },
  ])("$which", ({ played, timeline }) => {
    expect(timelineOf(played)).toBe(timeline);
  });

  test("I: a clock that steps back moves nothing back, and delays are off by the skew at most", () => {
    const clock = (now: number): number => (now < 140 ? now + 30 : now - 30);
    // v2 comes 30 early, by a clock that is 30 fast, and is dated 160. Then the clock shows 110: for the log it stays 160 until it is.
    expect(timelineOf({ targets: targetsOf([60, 5]), source: threeChanges, until: 420, clock })).toBe(
      "0 [v1,v1] · 130 [v2,v1] · 305 [v2,v2] · 360 [v3,v2]",
    );
    const changes = source([0, "v1"], [100, "v2"], [145, "v3"]);
    // v3 is seen when the clock shows 115, and is dated 160, because the log is there already: 60 later it is 220 on that clock, 250 in truth.
    expect(timelineOf({ targets: targetsOf([60, 5]), source: changes, until: 420, clock })).toBe(
      "0 [v1,v1] · 130 [v2,v1] · 195 [v2,v2] · 250 [v3,v2]",
    );
  });
});

describe("what the timelines leave open", () => {
  test("a rank that is to be absent until it has a version of its own comes when the first one leaves the source", () => {
    expect(timelineOf({ targets: targetsOf([60, 5], { whenUnfilled: "Absent" }), source: threeChanges, until: 400 })).toBe(
      "0 [v1,-] · 105 [v1,v1] · 160 [v2,v1] · 305 [v2,v2] · 360 [v3,v2]",
    );
  });

  test("Queue commits every version, each when its delay is over", () => {
    const changes = source([0, "v1"], [100, "v2"], [110, "v3"], [120, "v4"]);
    expect(timelineOf({ targets: targetsOf([60, 5]), source: changes, until: 400, changePolicy: "Queue" })).toBe(
      "0 [v1,v1] · 160 [v2,v1] · 165 [v2,v2] · 170 [v3,v2] · 175 [v3,v3] · 180 [v4,v3]",
    );
  });

  test("time in which the source is gone does not count", () => {
    const changes = source([0, "v1"], [100, "v2"], [300, "v3"], [310, undefined], [500, "v3"]);
    expect(timelineOf({ targets: targetsOf([5, 60]), source: changes, until: 700 })).toBe("0 [v1,v1] · 105 [v2,v1] · 305 [v3,v1] · 550 [v3,v2]");
  });

  test("A, B and A again are three commits", () => {
    const changes = source([0, "a"], [100, "b"], [300, "a"]);
    expect(timelineOf({ targets: targetsOf([60, 5]), source: changes, until: 700 })).toBe("0 [a,a] · 160 [b,a] · 305 [b,b] · 360 [a,b]");
  });
});

function keepAndCascade(): ReturnType<typeof targetsOf> {
  const [kept, cascading] = [targetsOf([60, 5]), targetsOf([60, 5], { deletionMode: "cascade" })];
  return [...kept.slice(0, 1), ...cascading.slice(1)];
}

test("with no downtime, and a source that never returns to what it was, the simulator is the closed form", () => {
  const delays = fc.array(fc.nat(25), { minLength: 1, maxLength: 5 });
  const gaps = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 8 });
  fc.assert(
    fc.property(delays, gaps, (given, changes) => {
      let at = 0;
      const script = source([0, "v0"]).concat(changes.map((after, index) => ({ at: (at += after), value: `v${index + 1}` })));
      const targets = targetsOf(given);
      play({ targets, source: script, until: at + 130 }, (now, log) => {
        expect(contentsOf(log, targets), `at ${now}`).toEqual(closedForm(script, given, now));
      });
    }),
    { numRuns: 300 },
  );
});

/** e₁ = t + d₁; eₖ(πⱼ) = dₖ + max(dep(πⱼ₊ₖ₋₂), eₖ₋₁(πⱼ)): what every target holds, from nothing but the source's changes. */
function closedForm(changes: readonly SourceChange[], delays: readonly number[], now: number): readonly string[] {
  const [firstDelay = 0] = delays;
  const endOf = (index: number): number => changes[index + 1]?.at ?? Number.POSITIVE_INFINITY;
  const commits: { value: string; at: number; dep: number }[] = [];
  changes.forEach(({ at, value = "" }, index) => {
    const last = commits.at(-1);
    const isFirst = last === undefined;
    if (isFirst || (value !== last.value && endOf(index) > at + firstDelay && at + firstDelay <= now)) {
      commits.push({ value, at: isFirst ? at : at + firstDelay, dep: Number.POSITIVE_INFINITY });
    }
  });
  commits.forEach((commit, j) => {
    // Since when the source has been something else, looked at when the next commit is made, or now.
    const until = commits[j + 1]?.at ?? now;
    const seen = changes.filter(({ at }) => at <= until);
    const lastOwn = seen.findLastIndex(({ value }) => value === commit.value);
    commit.dep = seen[lastOwn + 1]?.at ?? Number.POSITIVE_INFINITY;
  });
  const reached: number[][] = [commits.map(({ at }) => at)];
  delays.slice(1).forEach((delay, index) => {
    const before = reached[index] ?? [];
    reached.push(
      commits.map((_, j) =>
        j === 0 ? 0 : delay + Math.max(commits[j + index]?.dep ?? Number.POSITIVE_INFINITY, before[j] ?? Number.POSITIVE_INFINITY),
      ),
    );
  });
  return reached.map((times) => commits[times.findLastIndex((time) => time <= now)]?.value ?? "-");
}
