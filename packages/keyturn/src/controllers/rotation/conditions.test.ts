// What the statuses of targets say, from plans.
import {
  conditionEvents as eventsOfReport,
  type PlannedEvent,
  type ReportedStatus,
  statusAfter,
  statusDigest,
  type StatusReport,
} from "@keyturn/runtime";
import { expect, test } from "vitest";
import type { TargetObservation } from "./observe.ts";
import type { RotationPlan, RotationWrite, TargetSchedule } from "./plan.ts";
import { reportOf, statusObjectOf, versionEvent } from "./conditions.ts";
import { rotationReasons } from "./reasons.ts";

const nowMs = Date.parse("2026-01-01T00:00:00Z");
const target: TargetObservation = {
  name: "live",
  uid: "u",
  generation: 3,
  order: 1,
  delayMs: 0,
  deletionMode: "keep",
  whenUnfilled: "Backfill",
  changePolicy: "Settled",
  objectName: "live",
  statusDigest: undefined,
  objects: [],
};
const schedule: TargetSchedule = {
  rank: 1,
  held: { seq: 4, digest: "d4", atMs: nowMs },
  replaced: undefined,
  restored: false,
  backfilled: false,
  pending: undefined,
  blocker: undefined,
  isRetaining: false,
  unpublished: undefined,
  gapMs: 0,
  removed: false,
};

function planWith(change: Partial<TargetSchedule>, rest: Partial<RotationPlan> = {}): RotationPlan {
  return {
    writes: [],
    targets: new Map([["live", { ...schedule, ...change }]]),
    setBlocker: undefined,
    source: { resource: "secrets", name: "latest", uid: "s", content: { ok: true, watchDigest: "w", digest: "d" } },
    policyConflict: false,
    unstableSinceMs: undefined,
    settlesAtMs: undefined,
    nextAtMs: undefined,
    ...rest,
  };
}

function reported(plan: RotationPlan): StatusReport {
  return reportOf(statusObjectOf("shop", target), plan.targets.get("live") ?? schedule, plan, ({ digest }) => `shown ${digest}`);
}

function statusOf(plan: RotationPlan, before?: ReportedStatus, atMs = nowMs): ReportedStatus {
  return statusAfter(reported(plan), before, atMs);
}

function conditionEvents(before: ReportedStatus | undefined, plan: RotationPlan): readonly PlannedEvent[] {
  return eventsOfReport(before, reported(plan), rotationReasons);
}

/** The conditions as `Type=Status Reason`. */
function saying(plan: RotationPlan, before?: ReportedStatus): readonly string[] {
  return (statusOf(plan, before).conditions ?? []).map(({ type, status, reason }) => `${type}=${status} ${reason}`);
}

test("a pause changes the reason and nothing else; nobody is warned", () => {
  const blocker = { reason: "Paused", message: "left as it is" } as const;
  expect(saying(planWith({ blocker }))).toEqual(["Ready=True Paused", "Filled=True HasOwnVersion", "Progressing=False Paused"]);
  expect(saying(planWith({ blocker, held: undefined }))).toContain("Ready=False Paused");
  const setBlocker = { reason: "Paused", message: "the source is left as it is" } as const;
  expect(saying(planWith({}, { setBlocker }))).toContain("Ready=True Paused");
  expect(conditionEvents(undefined, planWith({ blocker }))).toEqual([{ type: "Normal", reason: "Paused", message: "left as it is" }]);
});

const writeLive = {
  verb: "writeTarget",
  target: "live",
  resource: "secrets",
  objectName: "live",
  seq: 4,
  digest: "d4",
  atMs: nowMs,
  ownedByTarget: false,
  precondition: undefined,
} as const;

test("a target that is as it should be", () => {
  expect(statusOf(planWith({}))).toMatchObject({
    observedGeneration: 3,
    rank: 1,
    sourceRef: { kind: "secrets", name: "latest" },
    currentVersion: { seq: 4, digest: "shown d4", appliedAt: "2026-01-01T00:00:00.000Z" },
  });
  expect(saying(planWith({}))).toEqual(["Ready=True UpToDate", "Filled=True HasOwnVersion", "Progressing=True Progressing"]);
});

test.each<{ readonly what: string; readonly plan: RotationPlan; readonly says: readonly string[] }>([
  {
    what: "the next version is on its way",
    plan: planWith({ pending: { seq: 5, notBeforeMs: nowMs + 1, reason: "Settling" } }),
    says: ["Ready=True Rotating"],
  },
  { what: "it is only filled in", plan: planWith({ backfilled: true }), says: ["Ready=True UpToDate", "Filled=False InsufficientHistory"] },
  { what: "it has nothing yet", plan: planWith({ held: undefined }), says: ["Ready=False InsufficientHistory", "Filled=False InsufficientHistory"] },
  { what: "there is a gap", plan: planWith({ gapMs: 3_300_000 }), says: ["VisibilityGap=True DelayLongerThanBefore"] },
  {
    what: "the source is gone",
    plan: planWith({}, { setBlocker: { reason: "NoSource" } }),
    says: ["Ready=True NoSource", "Progressing=False NoSource"],
  },
  { what: "it went with the source", plan: planWith({ removed: true }, { setBlocker: { reason: "NoSource" } }), says: ["Ready=False Removed"] },
  {
    what: "the path is missing",
    plan: planWith({}, { setBlocker: { reason: "PathNotFound", message: "x" } }),
    says: ["Ready=False PathNotFound", "Progressing=False PathNotFound", "PathNotFound=True PathNotFound"],
  },
  { what: "the path is wrong", plan: planWith({}, { setBlocker: { reason: "InvalidPath", message: "x" } }), says: ["PathNotFound=True InvalidPath"] },
  {
    what: "clocks differ",
    plan: planWith({}, { setBlocker: { reason: "ClockSkew", message: "x" } }),
    says: ["Ready=False ClockSkew", "ClockSkew=True ClockSkew"],
  },
  {
    what: "the name is taken",
    plan: planWith({ blocker: { reason: "NameConflict", message: "x" } }),
    says: ["Ready=False NameConflict", "Progressing=False NameConflict", "NameConflict=True NameConflict"],
  },
  {
    what: "the source never rests",
    plan: planWith({}, { unstableSinceMs: nowMs }),
    says: ["Ready=True SourceUnstable", "Progressing=False SourceUnstable"],
  },
  { what: "policies differ", plan: planWith({}, { policyConflict: true }), says: ["Progressing=False PolicyConflict"] },
])("$what", ({ plan, says }) => {
  expect(saying(plan)).toEqual(expect.arrayContaining([...says]));
});

test("conditions that no longer hold go, and equal plans give equal statuses", () => {
  const plan = planWith({ gapMs: 1000 }, { setBlocker: { reason: "ClockSkew", message: "x" } });
  const wrong = statusOf(plan);
  expect(saying(planWith({}), wrong)).toEqual(["Ready=True UpToDate", "Filled=True HasOwnVersion", "Progressing=True Progressing"]);
  expect(statusOf(plan, wrong, nowMs + 1000)).toEqual(wrong);
});

test("the digest of a status is another only if it says something else, whenever its conditions began and in whatever order they stand", () => {
  const plan = planWith({ gapMs: 1000 });
  const digest = statusDigest(statusOf(plan));
  const later = statusOf(plan, undefined, nowMs + 60_000);
  expect(statusDigest({ ...later, conditions: (later.conditions ?? []).toReversed() })).toBe(digest);
  expect(statusDigest(statusOf(planWith({})))).not.toBe(digest);
});

test("what a write does to versions is recorded, once", () => {
  const recorded = (plan: RotationPlan): readonly string[] =>
    plan.writes.flatMap((write) => versionEvent(write, plan) ?? []).map(({ reason, message }) => `${reason}: ${message}`);
  expect(recorded(planWith({ replaced: 3 }, { writes: [writeLive] }))).toEqual(["VersionRotated: version 4 has taken the place of version 3"]);
  expect(recorded(planWith({}, { writes: [writeLive] }))).toEqual(["VersionFilled: got version 4"]);
  expect(recorded(planWith({ restored: true }, { writes: [writeLive] }))[0]).toMatch(/^DriftRepaired: .* version 4 again$/);
  expect(recorded(planWith({}))).toEqual([]);
  // An object of a former kind goes with it, which is nothing that happens to a version.
  expect(recorded(planWith({}, { writes: [writeLive, deletion("configmaps")] }))).toEqual(["VersionFilled: got version 4"]);
  const [removed, ...others] = recorded(planWith({ removed: true }, { writes: [deletion("secrets"), deletion("configmaps")] }));
  expect(removed).toMatch(/^TargetRemoved: /);
  expect(others).toEqual([]);
});

function deletion(resource: string): RotationWrite {
  return { verb: "deleteTarget", target: "live", resource, objectName: "live", precondition: { uid: resource, resourceVersion: "1" } };
}

test("a problem is recorded once, in one Event, for as long as it is the same", () => {
  const plan = planWith({}, { setBlocker: { reason: "SourceConflict", message: "two" } });
  expect(conditionEvents(undefined, plan)).toEqual([{ type: "Warning", reason: "SourceConflict", message: "two" }]);
  expect(conditionEvents(statusOf(plan), plan)).toEqual([]);
});

test.each(["Removed", "NoSource", "Paused"] as const)("%s is nothing to warn of", (reason) => {
  const plan = {
    Removed: planWith({ removed: true }, { setBlocker: { reason: "NoSource" } }),
    NoSource: planWith({}, { setBlocker: { reason: "NoSource" } }),
    Paused: planWith({ blocker: { reason: "Paused", message: "x" } }),
  }[reason];
  expect(conditionEvents(statusOf(planWith({})), plan).map(({ type }) => type)).not.toContain("Warning");
  expect(conditionEvents(statusOf(planWith({})), plan)[0]).toMatchObject({ type: "Normal", reason });
});

test("what passes by itself makes no Event", () => {
  expect(conditionEvents(undefined, planWith({ held: undefined }))).toEqual([]);
  expect(conditionEvents(undefined, planWith({ backfilled: true, pending: { seq: 5, notBeforeMs: nowMs + 1, reason: "Settling" } }))).toEqual([]);
});
