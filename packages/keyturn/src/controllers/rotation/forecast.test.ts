// The plan played forward: the timelines of the guide's example and of the open questions, in minutes.
import { describe, expect, test } from "vitest";
import { parseMaintenanceWindows } from "../../feature/maintenance-window.ts";
import { forecast, outlookOf } from "./forecast.ts";
import type { Blocker, SetObservation, TargetObservation } from "./observe.ts";
import { planRotation } from "./plan.ts";
import type { RotationLog } from "./history.ts";

const minuteMs = 60_000;

function target(order: number, delay: number, change: Partial<TargetObservation> = {}): TargetObservation {
  const name = `t${order}`;
  return {
    name,
    uid: `uid-${name}`,
    generation: 1,
    order,
    delayMs: delay * minuteMs,
    deletionMode: "keep",
    whenUnfilled: "Backfill",
    changePolicy: "Settled",
    objectName: name,
    statusDigest: undefined,
    objects: [],
    ...change,
  };
}

const held = (name: string, seq: number, atMs: number, digest = `d${seq}`): Pick<TargetObservation, "objects"> => ({
  objects: [
    {
      resource: "secrets",
      name,
      uid: `o-${name}`,
      resourceVersion: "1",
      ours: true,
      applied: { seq, digest: `d${seq}`, atMs },
      digest,
      ownedByTarget: false,
    },
  ],
});

const owned = ({ objects }: Pick<TargetObservation, "objects">): Pick<TargetObservation, "objects"> => ({
  objects: objects.map((object) => ({ ...object, ownedByTarget: true })),
});

const source = (version: number) =>
  ({ resource: "secrets", name: "latest", uid: "s", content: { ok: true, watchDigest: `d${version}`, digest: `d${version}` } }) as const;

const empty: SetObservation = {
  namespace: "n",
  set: "s",
  sources: [],
  targets: [],
  records: [],
  takenSeqs: [],
  formerSeq: 0,
  unwatched: [],
  givenUp: [],
};

/** What is to come, as `minute target=version`. */
function coming(observation: Partial<SetObservation>, minute: number): readonly string[] {
  return forecast({ ...empty, ...observation }, minute * minuteMs).steps.map(
    ({ atMs, target: name, seq }) => `${atMs / minuteMs} ${name}=${seq === undefined ? "-" : `v${seq}`}`,
  );
}

test("nothing is there yet: all targets are filled at once, and then nothing happens", () => {
  expect(coming({ sources: [source(1)], targets: [target(1, 60), target(2, 5)] }, 0)).toEqual(["0 t2=v1", "0 t1=v1"]);
});

/** The guide's example: v2 is live since 160, v1 before it. */
const log: RotationLog = {
  source: { state: "present", uid: "s", sinceMs: 100 * minuteMs },
  commits: [
    { seq: 1, digest: "d1", departedMs: 100 * minuteMs, at: { t1: 0, t2: 0 } },
    { seq: 2, digest: "d2", at: { t1: 160 * minuteMs } },
  ],
  frozen: [],
  backfilled: [],
};
const record = (seq: number, kept: RotationLog | undefined) =>
  ({
    seq,
    uid: `r${seq}`,
    resourceVersion: "1",
    resource: "secrets",
    watchDigest: `d${seq}`,
    digest: `d${seq}`,
    seenAtMs: 0,
    log: kept,
    owners: ["uid-t1", "uid-t2"],
  }) as const;
const records = [record(1, undefined), record(2, log)];
const first = target(1, 60, held("t1", 2, 160 * minuteMs));
const second = target(2, 5, held("t2", 1, 0));
const drifted = target(2, 5, held("t2", 1, 0, "edited"));

test("the guide's example: v2 is live, and the source became v3 at 300", () => {
  const targets = [first, second];
  expect(coming({ sources: [source(3)], targets, records }, 300)).toEqual(["305 t2=v2", "360 t1=v3"]);
  expect(coming({ sources: [source(2)], targets, records }, 300)).toEqual([]);
  // The source is gone: only what cascades goes, in its time.
  const cascading = target(2, 5, { ...owned(held("t2", 1, 0)), deletionMode: "cascade" });
  expect(coming({ targets: [first, cascading], records }, 500)).toEqual(["505 t2=-"]);
});

describe("a promotion", () => {
  const promoted = { ...first, promoted: 3 };
  const worldAt = (targets: readonly TargetObservation[]) => ({ sources: [source(3)], targets, records });

  test("has the first rank take a version as soon as the next one has what it holds, which moves as ever", () => {
    expect(coming(worldAt([promoted, second]), 300)).toEqual(["305 t2=v2", "305 t1=v3"]);
  });

  test("counts for versions up to its own, and on the first rank alone", () => {
    const asEver = coming(worldAt([first, second]), 300);
    expect(coming(worldAt([{ ...first, promoted: 2 }, second]), 300)).toEqual(asEver);
    expect(coming(worldAt([first, { ...second, promoted: 3 }]), 300)).toEqual(asEver);
    expect(coming(worldAt([{ ...first, promoted: 4 }, second]), 300)).toEqual(coming(worldAt([promoted, second]), 300));
  });

  test("moves nothing while no window is open", () => {
    const maintenance = { ...parseMaintenanceWindows(["05:30-05:45"]), timeZone: "UTC" };
    expect(coming({ ...worldAt([promoted, second]), maintenance }, 300)).toEqual(["330 t2=v2", "330 t1=v3"]);
  });

  test("of one member of the first rank is one of all", () => {
    const twin = { ...target(1, 60, held("twin", 2, 160 * minuteMs)), name: "twin", objectName: "twin", uid: "uid-twin" };
    const both: RotationLog = {
      ...log,
      commits: log.commits.map((commit) => Object.assign({}, commit, { at: { ...commit.at, twin: commit.at["t1"] ?? 0 } })),
    };
    const world = { sources: [source(3)], targets: [promoted, twin, second], records: [record(1, undefined), record(2, both)] };
    expect(coming(world, 300)).toEqual(["300 t1=v3", "305 t2=v2", "305 twin=v3"]);
  });
});

describe("a pause", () => {
  const blocker: Blocker = { reason: "Paused", message: "left as it is", untilMs: 400 * minuteMs };
  const plan = (observation: Partial<SetObservation>) => planRotation({ ...empty, records, sources: [source(3)], ...observation }, 300 * minuteMs);

  test("of a target holds it, and those after it get no further than it is; those before it keep what no other has", () => {
    expect(coming({ sources: [source(3)], targets: [{ ...first, blocker }, second], records }, 300)).toEqual(["305 t2=v2", "400 t1=v3"]);
    expect(coming({ sources: [source(3)], targets: [first, { ...second, blocker }], records }, 300)).toEqual(["400 t2=v2", "400 t1=v3"]);
  });

  test("of a target keeps its object from being deleted with the source, too", () => {
    const cascading = target(2, 5, { ...owned(held("t2", 1, 0)), deletionMode: "cascade", blocker });
    expect(coming({ targets: [first, cascading], records }, 300)).toEqual(["400 t2=-"]);
  });

  test("of a target is over by itself, and so is that of a set", () => {
    expect(plan({ targets: [first, { ...second, blocker }] }).nextAtMs).toBe(360 * minuteMs);
    expect(plan({ sources: [source(2)], targets: [{ ...first, blocker }, second] }).nextAtMs).toBe(400 * minuteMs);
    const all = plan({
      targets: [
        { ...first, blocker },
        { ...second, blocker },
      ],
    });
    expect(all).toMatchObject({ writes: [], nextAtMs: 400 * minuteMs, setBlocker: { reason: "Paused" } });
  });

  test("of the source stops the whole set, and nothing new is noted", () => {
    const sources = [{ ...source(3), pause: { untilMs: 390 * minuteMs } }];
    expect(plan({ sources, targets: [first, second] })).toMatchObject({ writes: [], nextAtMs: 390 * minuteMs, setBlocker: { reason: "Paused" } });
  });
});

test("where nothing is to come, it is said what must happen first", () => {
  const blocker: Blocker = { reason: "Paused", message: "left as it is", untilMs: undefined };
  const outlook = (observation: Partial<SetObservation>): string => {
    const { plan, steps } = forecast({ ...empty, records, ...observation }, 300 * minuteMs);
    return steps.length === 0 ? outlookOf(plan) : steps.map(({ target: name }) => name).join();
  };
  const settled = [target(1, 5, held("t1", 3, 0))];
  const paused = settled.map((each) => ({ ...each, blocker }));
  expect(outlook({ sources: [source(3)], targets: settled })).toBe("nothing will happen until the source changes");
  expect(outlook({ sources: [{ ...source(3), pause: { untilMs: undefined } }], targets: settled })).toBe(
    "nothing will happen until the pause ends: keyturn resume secrets/latest",
  );
  expect(outlook({ sources: [source(3)], targets: paused })).toBe("nothing will happen until the pause ends: keyturn resume rotationtarget/t1");
  expect(outlook({ sources: [source(3)], targets: [...settled, target(2, 5, { ...held("t2", 2, 0), blocker })] })).toBe(
    "nothing will happen until the source changes, or you resume rotationtarget/t2",
  );
  expect(outlook({ targets: settled })).toBe("nothing will happen until there is a source");
  expect(outlook({ sources: [source(3), { ...source(3), name: "other" }], targets: settled })).toBe("nothing will happen until that is resolved");
});

test("a set of which some targets are not selected is left as it is, even where an object is not as it should be", () => {
  const blocker: Blocker = { reason: "NotSelected", message: "it is outside" };
  const observation = { ...empty, records, sources: [source(3)] };
  expect(planRotation({ ...observation, targets: [first, drifted] }, 300 * minuteMs).writes).not.toEqual([]);
  expect(planRotation({ ...observation, targets: [{ ...first, blocker }, drifted] }, 300 * minuteMs)).toMatchObject({
    writes: [],
    setBlocker: { reason: "NotSelected" },
  });
});

describe("maintenance windows", () => {
  const maintenance = { ...parseMaintenanceWindows(["05:30-05:45"]), timeZone: "UTC" };
  const set = { sources: [source(3)], targets: [first, second], records, maintenance };

  test("what is due outside of them waits for the next one", () => {
    expect(coming(set, 300)).toEqual(["330 t2=v2", "1770 t1=v3"]);
    // At 340 a window is open, and closes in the moment in which the first of them is due.
    expect(coming(set, 340)).toEqual(["1770 t2=v2", "1770 t1=v3"]);
    const { targets, nextAtMs } = planRotation({ ...empty, ...set }, 310 * minuteMs);
    expect(targets.get("t2")?.pending).toEqual({ seq: 2, notBeforeMs: 330 * minuteMs, reason: "OutsideWindow" });
    expect(targets.get("t1")?.pending).toEqual({ seq: 3, notBeforeMs: 1770 * minuteMs, reason: "OutsideWindow" });
    expect(nextAtMs).toBe(330 * minuteMs);
  });

  test("a new set is filled at once, and what was edited is put back at once", () => {
    expect(coming({ sources: [source(1)], targets: [target(1, 60), target(2, 5)], maintenance }, 0)).toEqual(["0 t2=v1", "0 t1=v1"]);
    expect(coming({ ...set, sources: [source(2)], targets: [first, drifted] }, 300)).toEqual(["300 t2=v1"]);
  });
});
