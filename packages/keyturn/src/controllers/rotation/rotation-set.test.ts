// What is drawn of a rotation set, from marks and statuses alone.
import { ConfigMap, maxDurationMs, Secret } from "@keyturn/runtime";
import { describe, expect, it } from "vitest";
import type { RotationLog } from "./history.ts";
import type { ObjectObservation, RecordObservation } from "./observe.ts";
import { rotationSetOf, type ShownSet, type ShownTarget } from "./rotation-set.ts";

const minute = 60_000;
const now = Date.UTC(2026, 5, 1);
const at = (minutes: number): number => now + minutes * minute;
const iso = (minutes: number): string => new Date(at(minutes)).toISOString();

function target(name: string, order: number, delay: string, status: ShownTarget["status"]): ShownTarget {
  return {
    metadata: { namespace: "shop", name, uid: `uid-${name}`, resourceVersion: "1", generation: 1, creationTimestamp: iso(-600) },
    spec: {
      rotationSet: "keys",
      rotationOrder: order,
      rotationDelay: delay,
      deletionMode: "keep",
      whenUnfilled: "Backfill",
      changePolicy: "Settled",
    },
    ...(status && { status }),
  };
}

function status(seq: number, appliedMinutes: number): NonNullable<ShownTarget["status"]> {
  return {
    sourceRef: { kind: "Secret", name: "source" },
    currentVersion: { seq, digest: `sealed-${seq}`, appliedAt: iso(appliedMinutes) },
    conditions: [
      {
        type: "Ready",
        status: "True",
        reason: "UpToDate",
        message: `holds version ${seq}`,
        lastTransitionTime: iso(appliedMinutes),
        observedGeneration: 1,
      },
    ],
  };
}

function record(seq: number, seenMinutes: number, log: RotationLog | undefined): RecordObservation {
  const digest = `digest-${seq}`;
  return {
    seq,
    uid: `record-${seq}`,
    resourceVersion: "1",
    resource: "secrets",
    watchDigest: digest,
    digest,
    seenAtMs: at(seenMinutes),
    log,
    owners: [],
  };
}

function kept(name: string, seq: number, atMinutes: number): ObjectObservation {
  const digest = `digest-${seq}`;
  return {
    resource: "secrets",
    name,
    uid: `object-${name}`,
    resourceVersion: "1",
    ours: true,
    applied: { seq, digest, atMs: at(atMinutes) },
    digest,
    ownedByTarget: true,
  };
}

/** Version 1 was live, version 2 is; the second target follows ten minutes after that. */
const log: RotationLog = {
  source: { state: "present", uid: "uid-source", sinceMs: at(-5) },
  commits: [
    { seq: 1, digest: "digest-1", departedMs: at(-5), at: { live: at(-60), previous: at(-60) } },
    { seq: 2, digest: "digest-2", at: { live: at(-4) } },
  ],
  frozen: [{ fromMs: at(-50), toMs: at(-40) }],
  backfilled: [],
};

function shown(overrides: Partial<ShownSet> = {}): ShownSet {
  const objects: Readonly<Record<string, readonly ObjectObservation[]>> = { live: [kept("live", 2, -4)], previous: [kept("previous", 1, -60)] };
  return {
    namespace: "shop",
    set: "keys",
    targets: [target("previous", 2, "10m", status(1, -60)), target("live", 1, "1m", status(2, -4))],
    records: [record(1, -61, undefined), record(2, -5, log)],
    objectsOf: ({ metadata }) => objects[metadata.name] ?? [],
    kinds: [Secret, ConfigMap],
    ...overrides,
  };
}

describe("a set", () => {
  it("is drawn the same with an object in it that only claims a version", () => {
    const honest = shown();
    const forged: ObjectObservation = { ...kept("forged", 2, -1), applied: { seq: 2, digest: "00", atMs: at(-1) }, digest: "00" };
    const objectsOf: ShownSet["objectsOf"] = (each) => [forged, ...honest.objectsOf(each)];
    expect(rotationSetOf({ ...honest, objectsOf }, now)).toEqual(rotationSetOf(honest, now));
  });

  it("has a lane per target with what each held, holds and gets", () => {
    const made = rotationSetOf(shown(), now);
    expect(made?.set).toMatchObject({
      id: "rotation/shop/keys",
      health: "healthy",
      ref: { kind: "RotationTarget", name: "live" },
      source: { kind: "Secret", resource: "secrets", namespace: "shop", name: "source" },
      sourceSinceMs: at(-5),
      frozen: [{ fromMs: at(-50), toMs: at(-40) }],
      versions: [{ seq: 2 }, { seq: 1 }],
      lanes: [
        {
          ref: { name: "live" },
          object: { kind: "Secret", name: "live" },
          rank: 1,
          delayMs: minute,
          held: [
            { seq: 1, fromMs: at(-60), toMs: at(-4), backfilled: false },
            { seq: 2, fromMs: at(-4), backfilled: false },
          ],
          planned: [],
          gapMs: 0,
        },
        { ref: { name: "previous" }, rank: 2, delayMs: 10 * minute, held: [{ seq: 1, fromMs: at(-60) }], gapMs: 9 * minute },
      ],
    });
    expect(made?.set).not.toHaveProperty("lanes.0.held.1.toMs");
  });

  it("shows a delay that was stored before there was a longest as the operator counts it", () => {
    const targets = [target("live", 1, "9999999999h", status(2, -4))];
    expect(rotationSetOf(shown({ targets }), now)?.set.lanes).toMatchObject([{ delayMs: maxDurationMs }]);
  });

  it("knows what comes from the operator's own forecast, and when to look again", () => {
    const settling: RotationLog = {
      ...log,
      source: { state: "present", uid: "uid-source", sinceMs: at(-0.5) },
      commits: [log.commits[0], { seq: 2, digest: "digest-2", departedMs: at(-0.5), at: { live: at(-4) } }].filter((commit) => commit !== undefined),
    };
    const made = rotationSetOf(shown({ records: [record(1, -61, undefined), record(2, -5, log), record(3, -0.5, settling)] }), now);
    const due = at(0.5);
    expect(made?.set).toMatchObject({
      next: { atMs: due, what: "live gets version 3" },
      lanes: [{ planned: [{ atMs: due, seq: 3 }] }, { planned: [{ atMs: expect.any(Number), seq: 2, digest: "sealed-2" }] }],
    });
    expect(made?.againAtMs).toBe(due);
  });

  it("shows the digests of statuses, and never one of a bare content", () => {
    const made = rotationSetOf(shown({ records: [record(1, -61, undefined), record(2, -5, log), record(3, -0.5, log)] }), now);
    expect(made?.set.versions.map(({ digest }) => digest)).toEqual([undefined, "sealed-2", "sealed-1"]);
    expect(made?.set.lanes.map(({ held }) => held.at(-1)?.digest)).toEqual(["sealed-2", "sealed-1"]);
    expect(JSON.stringify(made)).not.toContain("digest-");
  });

  it("plans nothing for a target that is paused", () => {
    const [due] = log.commits;
    const moved: RotationLog = { ...log, commits: due ? [due, { seq: 2, digest: "digest-2", departedMs: at(-1), at: { live: at(-4) } }] : [] };
    const records = [
      record(1, -61, undefined),
      record(2, -5, log),
      record(3, -1, { ...moved, source: { state: "present", uid: "u", sinceMs: at(-0.5) } }),
    ];
    const ready = {
      type: "Ready",
      status: "True",
      reason: "Paused",
      message: "left as it is",
      lastTransitionTime: iso(-1),
      observedGeneration: 1,
    } as const;
    const paused = { ...status(2, -4), conditions: [ready] };
    const planned = (state: ShownTarget["status"]): unknown =>
      rotationSetOf(shown({ records, targets: [target("live", 1, "1m", state), target("previous", 2, "10m", state)] }), now)?.set.lanes.map(
        (lane) => lane.planned.length,
      );
    expect(planned(status(2, -4))).toEqual([1, 1]);
    expect(planned(paused)).toEqual([0, 0]);
  });

  it("reaches back as far as any record remembers", () => {
    const older: RotationLog = { ...log, commits: [{ seq: 0, digest: "digest-0", departedMs: at(-70), at: { live: at(-90) } }] };
    const made = rotationSetOf(shown({ records: [record(1, -61, older), record(2, -5, log)] }), now);
    expect(made?.set).toMatchObject({ lanes: [{ held: [{ seq: 0, fromMs: at(-90), toMs: at(-60) }, { seq: 1 }, { seq: 2 }] }, {}] });
  });

  it("whose source is gone is frozen until it is back, and plans nothing but removals", () => {
    const gone: RotationLog = { ...log, source: { state: "gone", sinceMs: at(-2) } };
    const made = rotationSetOf(shown({ records: [record(2, -5, gone)] }), now);
    expect(made?.set).toMatchObject({ frozen: [{ toMs: at(-40) }, { fromMs: at(-2) }], lanes: [{ planned: [] }, { planned: [] }] });
    expect(made?.set).not.toHaveProperty("frozen.1.toMs");
  });

  it("says that a target is to be emptied", () => {
    const gone: RotationLog = { ...log, source: { state: "gone", sinceMs: at(-2) } };
    const live = target("live", 1, "10m", status(2, -4));
    const cascading = { ...live, spec: { ...live.spec, deletionMode: "cascade" as const } };
    const made = rotationSetOf(shown({ targets: [cascading], records: [record(2, -5, gone)] }), now);
    expect(made?.set).toMatchObject({ lanes: [{ planned: [{ atMs: expect.any(Number) }] }], next: { what: "live is emptied" } });
  });

  it("is shown from statuses alone where the records may not be read", () => {
    const made = rotationSetOf(shown({ records: [], objectsOf: () => [] }), now);
    expect(made?.set).toMatchObject({
      versions: [],
      lanes: [{ held: [{ seq: 2, digest: "sealed-2", fromMs: at(-4) }], planned: [] }, { held: [{ seq: 1 }] }],
    });
  });

  it("fares as the worst of its targets", () => {
    const bad = {
      ...status(2, -4),
      conditions: [
        {
          type: "Ready",
          status: "False",
          reason: "NameConflict",
          message: "somebody else has that name",
          lastTransitionTime: iso(-1),
          observedGeneration: 1,
        },
      ],
    } satisfies ShownTarget["status"];
    const made = rotationSetOf(shown({ targets: [target("live", 1, "1m", bad), target("previous", 2, "10m", status(1, -60))] }), now);
    expect(made?.set).toMatchObject({
      health: "failed",
      reason: "NameConflict",
      sinceMs: at(-1),
      lanes: [{ health: "failed" }, { health: "healthy" }],
    });
  });

  it("still shows a target that is being deleted, after the others", () => {
    const live = target("live", 1, "1m", status(2, -4));
    const leaving = { ...live, metadata: { ...live.metadata, deletionTimestamp: iso(-1) } };
    const lanes = rotationSetOf(shown({ targets: [leaving, target("previous", 2, "10m", status(1, -60))] }), now)?.set.lanes;
    expect(lanes).toMatchObject([
      { ref: { name: "previous" }, rank: 1 },
      { ref: { name: "live" }, rank: 2, health: "progressing", reason: "Deleting", planned: [] },
    ]);
  });

  it("without targets is none", () => {
    expect(rotationSetOf(shown({ targets: [] }), now)).toBeUndefined();
  });
});
