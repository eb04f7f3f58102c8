// The operator dies before and after every request to the identity provider and every write of creation, repair, rotation and deletion; another one takes over.
import { Secret } from "@keyturn/runtime";
import { soon, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { crashEverywhere, type CrashWorld, type Phase } from "./crash-everywhere.ts";
import { CrashPoints } from "./crash-points.ts";
import { type Flags, issuingPlace } from "./issuing-place.ts";

const controlPlane = useSharedCluster();
const target = useSharedApiServer();

/** Old secrets go at once, so that what is left at the end can be counted. */
const flags: Flags = { "eventing-auth.rotate-after": "24h", "eventing-auth.rotation-overlap": "0" };

/** The provider counts. */
interface CountingWorld extends CrashWorld {
  /** How many applications there ever were at once. */
  readonly maxAtOnce: () => number;
}

async function openWorld(): Promise<CountingWorld> {
  const place = await issuingPlace(controlPlane(), target());
  let most = 0;
  place.tenant.onStep((_step, moment) => {
    if (moment === "after") most = Math.max(most, place.tenant.applications().length);
  });
  const points = await CrashPoints.around(place, { controlPlane: controlPlane(), target: target() }, place.tenant);
  return {
    place,
    points,
    maxAtOnce: () => most,
    async [Symbol.asyncDispose]() {
      await place[Symbol.asyncDispose]();
      await points[Symbol.asyncDispose]();
    },
  };
}

/** One application with one client secret, which is the one in the runtime's Secret; nothing else was left behind. */
async function isWhole({ place, maxAtOnce }: CountingWorld): Promise<void> {
  await place.isWhole();
  await soon(() => expect(place.tenant.applications().map(({ secrets }) => secrets.length)).toEqual([1]));
  await place.isReady();
  expect(maxAtOnce()).toBe(1);
}

const creation: Phase<CountingWorld> = {
  flags,
  prepare: ({ place }) => place.putKyma(),
  isDone: isWhole,
};

/** A runtime that has everything, and an operator that is gone in peace. */
async function prepareWhole(world: CountingWorld): Promise<void> {
  await world.place.putKyma();
  const operator = await world.points.startOperator(flags);
  await isWhole(world);
  await operator.stop();
}

const longAgo = "2020-01-01T00:00:00Z";

const rotation: Phase<CountingWorld> = {
  flags,
  async prepare(world) {
    await prepareWhole(world);
    await world.place.parts.target.mergePatch(Secret, world.place.targetName, { metadata: { annotations: { "keyturn.io/issued-at": longAgo } } });
  },
  async isDone(world) {
    const { place } = world;
    await soon(async () => expect((await place.targetSecret())?.metadata.annotations?.["keyturn.io/issued-at"]).not.toBe(longAgo));
    await isWhole(world);
    expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0 });
  },
  always: async ({ place }) => expect(await place.tokenStatus()).toBe(200),
};

const repair: Phase<CountingWorld> = {
  flags,
  async prepare(world) {
    await prepareWhole(world);
    await world.place.parts.target.delete(Secret, world.place.targetName);
  },
  async isDone(world) {
    const { place } = world;
    await isWhole(world);
    expect(place.tenant.counters).toMatchObject({ created: 1, deleted: 0 });
  },
};

const deletion: Phase<CountingWorld> = {
  flags,
  async prepare(world) {
    await prepareWhole(world);
    await world.place.deleteKyma();
    // Every run begins at the same point, so that the n-th write is the same one in all of them.
    await soon(async () => expect((await world.place.auth())?.metadata.deletionTimestamp).toBeDefined());
  },
  async isDone({ place, maxAtOnce }) {
    await place.isGone();
    expect(maxAtOnce()).toBe(1);
    expect(place.tenant.applications()).toEqual([]);
    expect(await place.targetSecret()).toBeUndefined();
  },
};

test(
  "a crash anywhere in the creation leaves one application with one secret, and one Secret that works",
  { concurrent: true, timeout: 1_200_000 },
  async () => {
    const points = await crashEverywhere(openWorld, creation);
    for (const step of ["find", "create", "read", "create-secret"]) {
      expect(points).toContain(`before ${step} at the identity provider`);
      expect(points).toContain(`after ${step} at the identity provider`);
    }
    expect(points.filter((point) => point.endsWith("at the target")).length).toBeGreaterThanOrEqual(2);
  },
);

test(
  "a crash anywhere in a rotation leaves the same application with one secret, and credentials that work all the time",
  { concurrent: true, timeout: 1_200_000 },
  async () => {
    const points = await crashEverywhere(openWorld, rotation);
    for (const step of ["create-secret", "delete-secret"]) {
      expect(points).toContain(`before ${step} at the identity provider`);
      expect(points).toContain(`after ${step} at the identity provider`);
    }
  },
);

test(
  "a crash anywhere in a repair leaves the same application with one secret, and a Secret that works",
  { concurrent: true, timeout: 1_200_000 },
  async () => {
    const points = await crashEverywhere(openWorld, repair);
    expect(points).toContain("after create-secret at the identity provider");
    expect(points.filter((point) => point.endsWith("at the target")).length).toBeGreaterThanOrEqual(2);
  },
);

test("a crash anywhere in the deletion leaves nothing", { concurrent: true, timeout: 1_200_000 }, async () => {
  const points = await crashEverywhere(openWorld, deletion);
  expect(points).toContain("before delete at the identity provider");
  expect(points).toContain("after delete at the identity provider");
  expect(points.filter((point) => point.endsWith("at the target")).length).toBeGreaterThanOrEqual(2);
});
