// The operator dies before and after every request to the identity provider and every write of creation, rotation and deletion; another one takes over.
import { Secret } from "@keyturn/runtime";
import { useCluster, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { CrashPoints } from "./crash-points.ts";
import { type Flags, type IssuingPlace, issuingPlace, soon } from "./issuing-place.ts";

const controlPlane = useSharedCluster();
const target = useCluster();

/** Old secrets go at once, so that what is left at the end can be counted. */
const flags: Flags = { "eventing-auth.rotate-after": "24h", "eventing-auth.rotation-overlap": "0" };

interface Phase {
  /** Brings the place to where the phase begins, without crashes. */
  readonly prepare: (place: IssuingPlace, points: CrashPoints) => Promise<void>;
  /** Waits until everything is as it should be in the end. */
  readonly isDone: (place: IssuingPlace) => Promise<void>;
  /** Holds at every moment. */
  readonly always?: (place: IssuingPlace) => Promise<void>;
}

/** Goes through a phase with a crash at its `n`-th point. Resolves to that point's name; undefined if there is no such point. */
async function crashAt(n: number, { prepare, isDone, always }: Phase): Promise<string | undefined> {
  await using place = await issuingPlace(controlPlane(), target());
  await using points = await CrashPoints.around(place, controlPlane(), target());
  await prepare(place, points);
  const crash = points.arm(n);
  const first = await points.startOperator(flags);
  const point = await Promise.race([crash, isDone(place).then(() => undefined)]);
  if (point === undefined) return undefined;
  try {
    await points.bury(first);
    await always?.(place);
    await points.startOperator(flags);
    await isDone(place);
    await always?.(place);
  } catch (cause) {
    throw new Error(`after a crash ${point}`, { cause });
  }
  return point;
}

/** Crashes everywhere, a few at a time, until a run gets by without. */
async function crashEverywhere(phase: Phase): Promise<readonly string[]> {
  const atOnce = 3;
  const met: string[] = [];
  for (let n = 1; ; n += atOnce) {
    const points = await Promise.all(Array.from({ length: atOnce }, (_, index) => crashAt(n + index, phase)));
    met.push(...points.filter((point) => point !== undefined));
    if (points.includes(undefined)) return met;
  }
}

/** One application with one client secret, which is the one in the runtime's Secret; nothing else was left behind. */
async function isWhole(place: IssuingPlace): Promise<void> {
  await place.isWhole();
  await soon(() => expect(place.tenant.applications().map(({ secrets }) => secrets.length)).toEqual([1]));
  await place.isReady();
}

const creation: Phase = {
  prepare: (place) => place.putKyma(),
  isDone: isWhole,
};

/** A runtime that has everything, and an operator that is gone in peace. */
async function prepareWhole(place: IssuingPlace, points: CrashPoints): Promise<void> {
  await place.putKyma();
  const operator = await points.startOperator(flags);
  await isWhole(place);
  await operator.stop();
}

const longAgo = "2020-01-01T00:00:00Z";

const rotation: Phase = {
  async prepare(place, points) {
    await prepareWhole(place, points);
    await place.parts.target.mergePatch(Secret, place.targetName, { metadata: { annotations: { "keyturn.io/issued-at": longAgo } } });
  },
  async isDone(place) {
    await soon(async () => expect((await place.targetSecret())?.metadata.annotations?.["keyturn.io/issued-at"]).not.toBe(longAgo));
    await isWhole(place);
    expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0 });
  },
  always: async (place) => expect(await place.tokenStatus()).toBe(200),
};

const deletion: Phase = {
  async prepare(place, points) {
    await prepareWhole(place, points);
    await place.deleteKyma();
  },
  async isDone(place) {
    await place.isGone();
    expect(place.tenant.applications()).toEqual([]);
    expect(await place.targetSecret()).toBeUndefined();
  },
};

test("a crash anywhere in the creation leaves one application with one secret, and one Secret that works", { timeout: 600_000 }, async () => {
  const points = await crashEverywhere(creation);
  for (const step of ["find", "create", "read", "create-secret"]) {
    expect(points).toContain(`before ${step} at the identity provider`);
    expect(points).toContain(`after ${step} at the identity provider`);
  }
  expect(points.filter((point) => point.endsWith("at the target")).length).toBeGreaterThanOrEqual(2);
});

test(
  "a crash anywhere in a rotation leaves the same application with one secret, and credentials that work all the time",
  { timeout: 600_000 },
  async () => {
    const points = await crashEverywhere(rotation);
    for (const step of ["create-secret", "delete-secret"]) {
      expect(points).toContain(`before ${step} at the identity provider`);
      expect(points).toContain(`after ${step} at the identity provider`);
    }
  },
);

test("a crash anywhere in the deletion leaves nothing", { timeout: 600_000 }, async () => {
  const points = await crashEverywhere(deletion);
  expect(points).toContain("before delete at the identity provider");
  expect(points).toContain("after delete at the identity provider");
  expect(points.filter((point) => point.endsWith("at the target")).length).toBeGreaterThanOrEqual(2);
});
