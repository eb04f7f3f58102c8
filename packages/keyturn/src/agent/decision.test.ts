// What the agent decides in every situation, and what it says.
import { describe, expect, test } from "vitest";
import { decide, type Observation } from "./decision.ts";
import { checksumFor, idsOf, observation, observedSet, promotedSet, stampAt, type TestSet, testRules } from "./decision.fixture.ts";
import type { LeftOutReason } from "../controllers/checksum/reasons.ts";
import type { Policies } from "./alarm-policies.ts";

const now = 1_000_000;
const before: TestSet = { "web-1": {}, "web-2": {} };
const after: TestSet = { "web-1": { version: 2 }, "web-2": {} };

/** The agent serves `before` and sees `after`, by default. */
function decideFor(given: Partial<Observation>, policies: Partial<Policies> = {}, nowMs = now) {
  const promoted = promotedSet(before, 100);
  return decide(observation({ promoted, secrets: observedSet(after), checksums: [], ...given }), testRules(policies), nowMs);
}

/** What it comes to: the state and every situation that stands against the set. */
function summary(given: Partial<Observation>, policies: Partial<Policies> = {}): string {
  const { state, objections } = decideFor(given, policies);
  return [state, ...objections.map(({ situation }) => situation)].join(" ");
}

describe("a set that matches", () => {
  test("is promoted", () => {
    expect(decideFor({ checksums: [checksumFor(before, 100), checksumFor(after, 200)] })).toMatchObject({
      state: "promote",
      match: { name: "sum-200" },
    });
  });

  test("is promoted when nothing was before", () => {
    expect(summary({ promoted: undefined, checksums: [checksumFor(after, 200)] })).toBe("promote");
  });

  test("and is promoted already is verified", () => {
    expect(decideFor({ secrets: observedSet(before), checksums: [checksumFor(before, 100)] })).toMatchObject({
      state: "verified",
      alarms: [],
      objections: [],
    });
  });

  test("and is promoted already, on files that are damaged, is promoted again", () => {
    expect(summary({ secrets: observedSet(before), checksums: [checksumFor(before, 100)], isWhole: false })).toBe("promote");
  });

  test("in its ids but not in contents that the checksum covers does not match", () => {
    const secrets = observedSet(after);
    const state = { ...secrets.state, sha256: "here" };
    const { objections } = decideFor({ secrets: { ...secrets, state }, checksums: [checksumFor(after, 200, { sha256: "there" })] });
    expect(objections).toMatchObject([{ situation: "Mismatch", message: expect.stringContaining("contents that they do not cover") }]);
  });
});

describe("nothing is adopted and nothing given up", () => {
  const empty = observedSet({});
  test.each([
    ["before the first list of Secrets is complete", { secrets: undefined }, "waiting"],
    ["before the first list of checksums is complete", { checksums: "unknown" }, "waiting"],
    ["without the CRD", { checksums: "missing" }, "holding MissingCrd"],
    ["without a checksum", { checksums: [] }, "holding NoChecksum"],
    ["with Secrets that match no checksum", { checksums: [checksumFor(before, 100)] }, "holding Mismatch"],
    ["with all Secrets gone", { secrets: empty, checksums: [checksumFor(before, 100)] }, "holding SecretsGone"],
    ["with all Secrets, checksums and the CRD gone, as after a loss of etcd", { secrets: empty, checksums: "missing" }, "holding MissingCrd"],
    ["with a set that is empty by intention", { secrets: empty, checksums: [checksumFor({}, 200)] }, "holding EmptySet"],
    ["with Secrets that match only an older checksum than before", { checksums: [checksumFor(after, 50)] }, "holding RollBack"],
    ["after differing for too long", { checksums: [checksumFor(before, 100)], differsSinceMs: now - 600_000 }, "holding StaleChecksum"],
  ] satisfies [string, Partial<Observation>, string][])("%s", (_, given, expected) => {
    expect(summary(given)).toBe(expected);
  });

  test.each([
    ["MissingCrd", { checksums: "missing" }],
    ["NoChecksum", { checksums: [] }],
    ["SecretsGone", { secrets: empty, checksums: [checksumFor(before, 100)] }],
    ["EmptySet", { secrets: empty, checksums: [checksumFor({}, 200)] }],
    ["RollBack", { checksums: [checksumFor(after, 50)] }],
    ["StaleChecksum", { checksums: [checksumFor(before, 100)], differsSinceMs: now - 600_000 }],
  ] satisfies [keyof Policies, Partial<Observation>][])("unless the policy for %s says so; the alarm stays", (situation, given) => {
    expect(decideFor(given, { [situation]: "promote" })).toMatchObject({ state: "promote", alarms: [situation] });
  });

  test("and no policy allows a set that differs from its checksum", () => {
    const everything = { MissingCrd: "promote", NoChecksum: "promote", EmptySet: "promote", SecretsGone: "promote" } as const;
    expect(summary({ checksums: [checksumFor(before, 100)] }, everything)).toBe("holding Mismatch");
  });
});

describe("a return to an earlier state", () => {
  test("is no roll-back if a new checksum says so", () => {
    expect(summary({ checksums: [checksumFor(after, 50), checksumFor(after, 200)] })).toBe("promote");
  });

  test("is remembered longer than snapshots last", () => {
    expect(summary({ checksums: [checksumFor(after, 150)], stamp: stampAt(180) })).toBe("holding RollBack");
  });

  test("does not hinder what is older than what was announced and never came", () => {
    const announced = checksumFor({ "web-9": {} }, 300, { announcedUntilMs: now + 1 });
    expect(summary({ checksums: [checksumFor(after, 200), announced] })).toBe("promote");
  });
});

describe("a promoted certificate with which something is wrong stays, and the others go on", () => {
  const checksums = [checksumFor({ "web-2": { version: 2 } }, 200)];
  const before1 = promotedSet(before, 100).secrets["web-1"];
  const bad = (reason: LeftOutReason) => observedSet({ "web-1": { leftOut: reason }, "web-2": { version: 2 } });

  test.each([
    ["CertificateInvalid", "BadCertificate"],
    ["CertificateMissing", "BadCertificate"],
    ["KeyInvalid", "BadCertificate"],
    ["KeyMismatch", "BadCertificate"],
    ["VersionMissing", "LeftOut"],
    ["VersionInvalid", "LeftOut"],
  ] as const)("%s", (reason, situation) => {
    const { state, alarms, target } = decideFor({ secrets: bad(reason), checksums });
    expect({ state, alarms }).toEqual({ state: "promote", alarms: [situation] });
    expect(target?.secrets).toMatchObject({ "web-1": before1, "web-2": { id: "2-2-web-22" } });
    expect(target?.held).toMatchObject([{ secret: "web-1", situation }]);
  });

  test("and the set is verified once the others are promoted, with the alarm", () => {
    const promoted = { ...promotedSet({ "web-1": {}, "web-2": { version: 2 } }, 200) };
    expect(decideFor({ secrets: bad("KeyMismatch"), checksums, promoted })).toMatchObject({ state: "verified", alarms: ["BadCertificate"] });
  });

  test("unless the policy says otherwise", () => {
    const { state, target } = decideFor({ secrets: bad("VersionMissing"), checksums }, { LeftOut: "promote" });
    expect(state).toBe("promote");
    expect(Object.keys(target?.secrets ?? {})).toEqual(["web-2"]);
  });

  test("unless nothing of it is left on the disk", () => {
    const { target } = decideFor({ secrets: bad("KeyMismatch"), checksums, isWhole: false, broken: new Set(["web-1"]) });
    expect(Object.keys(target?.secrets ?? {})).toEqual(["web-2"]);
  });

  test("that is gone, with a checksum that says so, holds nothing", () => {
    expect(summary({ secrets: observedSet({ "web-2": {} }), checksums: [checksumFor({ "web-2": {} }, 200)] })).toBe("promote");
  });

  test.each([
    ["has expired", { notAfterMs: now }],
    ["does not hold yet", { notBeforeMs: now + 1 }],
  ])("is not replaced by one that %s", (words, dates) => {
    const next: TestSet = { "web-1": { version: 2, ...dates }, "web-2": { version: 2 } };
    const given = { secrets: observedSet(next), checksums: [checksumFor(next, 200)] };
    expect(decideFor(given)).toMatchObject({
      state: "promote",
      objections: [{ situation: "InvalidDates", message: expect.stringContaining(words) }],
      target: { secrets: { "web-1": before1, "web-2": { id: "2-2-web-22" } } },
    });
    expect(decideFor(given, { InvalidDates: "promote" }).target?.secrets["web-1"]?.id).toBe("1-2-web-12");
  });

  test("and nothing is verified if that is so of all of them", () => {
    const expired: TestSet = { "web-1": { version: 2, notAfterMs: now }, "web-2": { version: 2, notAfterMs: now } };
    const given = { secrets: observedSet(expired), checksums: [checksumFor(expired, 200)] };
    expect(decideFor(given)).toMatchObject({ state: "holding", alarms: ["InvalidDates"] });
    const half: TestSet = { ...expired, "web-2": {} };
    expect(decideFor({ secrets: observedSet(half), checksums: [checksumFor(half, 200)] })).toMatchObject({ state: "verified" });
  });

  test("that has expired does not hold up the others, and raises an alarm", () => {
    const expired = { notAfterMs: now - 1 };
    const given = {
      promoted: promotedSet({ "web-1": {}, "web-2": expired }, 100),
      secrets: observedSet({ "web-1": { version: 2 }, "web-2": expired }),
      checksums: [checksumFor({ "web-1": { version: 2 }, "web-2": expired }, 200)],
    };
    expect(decideFor(given)).toMatchObject({ state: "promote", alarms: ["ServedExpired"] });
  });
});

describe("an older certificate, as after a restored backup,", () => {
  const promoted = promotedSet({ "web-1": { version: 3 }, "web-2": { notBeforeMs: 500 } }, 100);
  const restored: TestSet = { "web-1": { version: 2 }, "web-2": { content: "other", notBeforeMs: 400 }, "web-3": {} };
  const secrets = observedSet(restored);

  test("is not served although a new checksum says so: its version went back, or it was made before", () => {
    const { state, alarms, target } = decideFor({ promoted, secrets, checksums: [checksumFor(restored, 200)] });
    expect({ state, alarms }).toEqual({ state: "promote", alarms: ["OlderCertificate"] });
    expect(target?.secrets).toMatchObject({ "web-1": promoted.secrets["web-1"], "web-2": promoted.secrets["web-2"], "web-3": {} });
  });

  test("is served when somebody announces it", () => {
    const { alarms, target } = decideFor({ promoted, secrets, checksums: [checksumFor(restored, 200, { isAnnounced: true })] });
    expect(alarms).toEqual([]);
    expect(target?.secrets["web-1"]?.id).toBe("1-2-web-12");
  });

  test("is not served for an announcement that came back with the backup", () => {
    const checksums = [checksumFor(restored, 90, { isAnnounced: true }), checksumFor(restored, 200)];
    expect(decideFor({ promoted, secrets, checksums }).alarms).toEqual(["OlderCertificate"]);
  });

  test("takes with it what is missing since: that stays until it is back, or somebody announces that it goes", () => {
    const served = promotedSet({ "web-1": { version: 3 }, "web-2": {}, "web-3": {}, "web-4": {} }, 100);
    const without: TestSet = { "web-1": { version: 2 }, "web-2": {}, "web-3": {} };
    const held = decideFor({ promoted: served, secrets: observedSet(without), checksums: [checksumFor(without, 200)] });
    expect(held.alarms).toEqual(["OlderCertificate"]);
    expect(Object.keys(held.target?.secrets ?? {})).toEqual(["web-1", "web-2", "web-3", "web-4"]);
    // Remembered with what is promoted, so that it does not go when the older one is renewed.
    expect(held.state).toBe("promote");
    const promoted = { ...served, secrets: held.target?.secrets ?? {} };
    const renewed: TestSet = { ...without, "web-1": { version: 4 } };
    const next = { promoted, secrets: observedSet(renewed), checksums: [checksumFor(renewed, 300)] };
    expect(decideFor(next).target?.secrets).toMatchObject({ "web-1": { id: "1-4-web-14" }, "web-4": { isLost: true } });
    const gone = checksumFor(renewed, 400, { isAnnounced: true, changes: [{ name: "web-4", from: "4-1-web-41" }] });
    expect(decideFor({ ...next, checksums: [gone] }).target?.secrets).not.toHaveProperty("web-4");
    const back: TestSet = { ...renewed, "web-4": {} };
    const found = decideFor({ promoted, secrets: observedSet(back), checksums: [checksumFor(back, 400)] });
    expect({ alarms: found.alarms, lost: found.target?.secrets["web-4"]?.isLost }).toEqual({ alarms: [], lost: undefined });
  });

  test("under a raised version is a newer one", () => {
    const next: TestSet = { "web-1": { version: 4, notBeforeMs: 1 }, "web-2": { version: 2, notBeforeMs: 1 } };
    expect(decideFor({ promoted, secrets: observedSet(next), checksums: [checksumFor(next, 200)] }).alarms).toEqual([]);
  });
});

describe("much that goes at once", () => {
  const nine = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`web-${index}`, {}]));
  const one: TestSet = { "web-0": {} };
  const given = { promoted: promotedSet(nine, 100), secrets: observedSet(one) };

  test("is held, although a checksum says so", () => {
    expect(decideFor({ ...given, checksums: [checksumFor(one, 200)] })).toMatchObject({
      state: "holding",
      alarms: ["LargeChange"],
      objections: [{ message: expect.stringMatching(/^8 of 9 certificates would vanish within an hour .* `keyturn checksum allow`/) }],
    });
  });

  test("is held if others come with the same numbers: no gateway finds them under those names", () => {
    const renamed = Object.fromEntries(Object.keys(nine).map((name) => [name.replace("web", "shop"), { version: 2 }]));
    const next = { ...given, secrets: observedSet(renamed) };
    expect(decideFor({ ...next, checksums: [checksumFor(renamed, 200)] })).toMatchObject({ state: "holding", alarms: ["LargeChange"] });
    const changes = Object.keys(nine).map((name) => ({ name, from: idsOf({ [name]: {} })[0] ?? "" }));
    expect(decideFor({ ...next, checksums: [checksumFor(renamed, 200, { isAnnounced: true, changes })] }).state).toBe("promote");
  });

  test("is held little by little too, and remembered for an hour", () => {
    const seven = Object.fromEntries(Object.entries(nine).slice(2));
    const six = Object.fromEntries(Object.entries(nine).slice(3));
    const first = decideFor({ ...given, secrets: observedSet(seven), checksums: [checksumFor(seven, 200)] });
    expect(first).toMatchObject({ state: "promote", peaks: [{ count: 9, atMs: now }] });
    const promoted = { ...promotedSet(seven, 200), peaks: [...(first.peaks ?? [])] };
    const next = { promoted, secrets: observedSet(six), checksums: [checksumFor(six, 300)] };
    const held = decideFor(next, {}, now + 3_599_999);
    expect(held).toMatchObject({ state: "holding", alarms: ["LargeChange"], largeChangeSinceMs: now + 3_599_999 });
    expect(decideFor(next, {}, now + 3_600_000).state).toBe("promote");
    // What is held does not go through because nobody has looked at it for an hour, also if something else changes meanwhile.
    const { largeChangeSinceMs } = held;
    expect(decideFor({ ...next, largeChangeSinceMs }, {}, now + 36_000_000)).toMatchObject({ state: "holding", largeChangeSinceMs });
    expect(decideFor({ ...next, checksums: [checksumFor(one, 300)], largeChangeSinceMs })).toMatchObject({ largeChangeSinceMs });
    expect(decideFor({ ...next, secrets: undefined, largeChangeSinceMs })).toMatchObject({ state: "waiting", largeChangeSinceMs });
    expect(decideFor({ ...next, secrets: observedSet(seven), largeChangeSinceMs }).largeChangeSinceMs).toBeUndefined();
    expect(decideFor({ ...next, checksums: [checksumFor(six, 300, { isAnnounced: true })] })).toMatchObject({ state: "promote", peaks: undefined });
  });

  test("does not go with a batch that says nothing of it, although the batch's checksum has it gone", () => {
    const renewed: TestSet = { "web-0": { version: 2 } };
    const [{ id: from } = expect.fail()] = Object.values(given.promoted.secrets);
    const to = idsOf(renewed)[0] ?? "";
    const batch = checksumFor(renewed, 200, { isAnnounced: true, changes: [{ name: "web-0", from, to }] });
    expect(summary({ ...given, secrets: observedSet(renewed), checksums: [batch] })).toBe("holding LargeChange");
    const allowed = checksumFor(renewed, 200, { isAnnounced: true, changes: [{ name: "web-0", to, unchanged: true }] });
    expect(summary({ ...given, secrets: observedSet(renewed), checksums: [allowed] })).toBe("promote");
  });

  test("passes when somebody announces it", () => {
    expect(summary({ ...given, checksums: [checksumFor(one, 200, { isAnnounced: true })] })).toBe("promote");
  });

  test("passes if the policy says so", () => {
    expect(decideFor({ ...given, checksums: [checksumFor(one, 200)] }, { LargeChange: "promote" }).state).toBe("promote");
  });

  test("is held as well where no checksum is needed", () => {
    expect(summary({ ...given, checksums: [] })).toBe("holding NoChecksum");
    expect(decideFor({ ...given, checksums: [] }, { NoChecksum: "promote" })).toMatchObject({
      state: "holding",
      alarms: ["NoChecksum", "LargeChange"],
    });
  });

  test("is not what was saved from a disk without its manifest, of which no id is known", () => {
    const { secrets, ...manifest } = promotedSet(nine, 100);
    const saved = Object.fromEntries(Object.entries(secrets).map(([name, entry]) => [name, { ...entry, id: "" }]));
    const next = { ...nine, "web-0": { version: 2 } };
    const observed = { promoted: { ...manifest, secrets: saved }, isWhole: false, secrets: observedSet(next), checksums: [checksumFor(next, 200)] };
    expect(summary(observed)).toBe("promote");
  });

  test("is no wave of renewals: all of them are taken", () => {
    const renewed = Object.fromEntries(Object.keys(nine).map((name) => [name, { version: 2 }]));
    expect(summary({ ...given, secrets: observedSet(renewed), checksums: [checksumFor(renewed, 200)] })).toBe("promote");
  });
});

test("a new certificate that cannot be read is left out on both sides and holds nobody", () => {
  const secrets = observedSet({ ...after, "web-3": { leftOut: "KeyMismatch" } });
  expect(summary({ secrets, checksums: [checksumFor(after, 200)] })).toBe("promote");
});

describe("alarms", () => {
  const checksums = [checksumFor(before, 100)];

  test("a difference is none while it is as short as any change makes it, and one afterwards", () => {
    expect(decideFor({ checksums })).toMatchObject({ alarms: [], differsSinceMs: now, nextMs: now + 15_000 });
    expect(decideFor({ checksums, differsSinceMs: now - 15_000 })).toMatchObject({ alarms: ["Mismatch"], nextMs: now + 585_000 });
  });

  test("a batch that was announced raises none while it is awaited", () => {
    const announced = checksumFor({ ...after, "web-3": {} }, 200, { announcedUntilMs: now + 1000 });
    const given = { checksums: [...checksums, announced], differsSinceMs: now - 60_000 };
    const waiting = decideFor(given);
    expect(waiting).toMatchObject({ alarms: [], differences: [{ direction: "missing" }], nextMs: now + 1000 });
    expect(waiting.objections).toMatchObject([{ message: expect.stringContaining("announced checksum sum-200") }]);
    expect(decideFor(given, {}, now + 1000).alarms).toEqual(["Mismatch"]);
  });
});

test("a batch that is awaited for longer than a checksum may be stale is not stale", () => {
  const announced = checksumFor({ ...after, "web-3": {} }, 200, { announcedUntilMs: now + 1000 });
  const given = { checksums: [announced], differsSinceMs: now - 700_000 };
  expect(decideFor(given, { StaleChecksum: "promote" })).toMatchObject({ state: "holding", alarms: [] });
  expect(decideFor(given, {}, now + 1000).alarms).toEqual(["StaleChecksum"]);
});

test("a batch that was there already excuses no difference that came after it", () => {
  const announced = checksumFor(before, 100, { announcedUntilMs: now + 1000 });
  expect(decideFor({ checksums: [announced], differsSinceMs: now - 60_000 }).alarms).toEqual(["Mismatch"]);
});

test("many certificates in the same situation are one objection", () => {
  const promoted = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`web-${index}`, {}]));
  const broken = Object.fromEntries(Object.keys(promoted).map((name) => [name, { leftOut: "KeyMismatch" } as const]));
  const next = { ...broken, "web-99": {} };
  const { objections } = decideFor({ promoted: promotedSet(promoted, 100), secrets: observedSet(next), checksums: [checksumFor(next, 200)] });
  expect(objections).toMatchObject([{ situation: "BadCertificate", message: expect.stringMatching(/^web-0 is served.*; and 20 more$/) }]);
});

test("the message names Secrets in both directions, and no more than anybody reads", () => {
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`web-${index + 10}`, {}]));
  const { objections, differences } = decideFor({ checksums: [checksumFor(many, 200)] });
  expect(differences).toHaveLength(32);
  expect(objections[0]?.message).toMatch(/^the Secrets differ from checksum sum-200: web-1 \(1-2-web-12\) is not in the checksum; .* and 22 more$/);
});

test("a checksum that does not list its ids is said to differ, and nothing is made up", () => {
  const { ids: _, ...unlisted } = checksumFor(before, 100);
  expect(decideFor({ checksums: [unlisted] })).toMatchObject({
    differences: [],
    objections: [{ message: expect.stringContaining("does not list its ids") }],
  });
});
