// The plan played forward: the timelines of the document's example and of the open questions, in minutes.
import { expect, test } from "vitest";
import { forecast } from "./forecast.ts";
import type { SetObservation, TargetObservation } from "./observation.ts";
import type { RotationLog } from "./rotation-log.ts";

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
    statusMark: undefined,
    objects: [],
    ...change,
  };
}

const held = (name: string, seq: number, atMs: number): Pick<TargetObservation, "objects"> => ({
  objects: [
    {
      resource: "secrets",
      name,
      uid: `o-${name}`,
      resourceVersion: "1",
      ours: true,
      applied: { seq, digest: `d${seq}`, atMs },
      digest: `d${seq}`,
      ownedByTarget: false,
    },
  ],
});

const owned = ({ objects }: Pick<TargetObservation, "objects">): Pick<TargetObservation, "objects"> => ({
  objects: objects.map((object) => ({ ...object, ownedByTarget: true })),
});

const source = (version: number) =>
  ({ resource: "secrets", name: "latest", uid: "s", content: { ok: true, watchDigest: `d${version}`, digest: `d${version}` } }) as const;

/** What is to come, as `minute target=version`. */
function coming(observation: Partial<SetObservation>, minute: number): readonly string[] {
  const whole: SetObservation = { namespace: "n", set: "s", sources: [], targets: [], records: [], takenSeqs: [], ...observation };
  return forecast(whole, minute * minuteMs).steps.map(
    ({ atMs, target: name, seq }) => `${atMs / minuteMs} ${name}=${seq === undefined ? "-" : `v${seq}`}`,
  );
}

test("nothing is there yet: all targets are filled at once, and then nothing happens", () => {
  expect(coming({ sources: [source(1)], targets: [target(1, 60), target(2, 5)] }, 0)).toEqual(["0 t2=v1", "0 t1=v1"]);
});

test("the document's example: v2 is live, and the source became v3 at 300", () => {
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
  const targets = [target(1, 60, held("t1", 2, 160 * minuteMs)), target(2, 5, held("t2", 1, 0))];
  const records = [record(1, undefined), record(2, log)];
  expect(coming({ sources: [source(3)], targets, records }, 300)).toEqual(["305 t2=v2", "360 t1=v3"]);
  expect(coming({ sources: [source(2)], targets, records }, 300)).toEqual([]);
  // The source is gone: only what cascades goes, in its time.
  expect(
    coming(
      { targets: [target(1, 60, held("t1", 2, 160 * minuteMs)), target(2, 5, { ...owned(held("t2", 1, 0)), deletionMode: "cascade" })], records },
      500,
    ),
  ).toEqual(["505 t2=-"]);
});
