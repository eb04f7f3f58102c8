// The operator dies everywhere while it works with an OpenID server. Exactly two windows may leave a client behind: the protocol has neither a list of
// clients nor a name that a client chooses, so what is in an answer that nobody has kept cannot be asked for again. Nobody has its credentials.
import { Secret } from "@keyturn/runtime";
import { soon, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { crashEverywhere, type CrashWorld, type Phase } from "./crash-everywhere.ts";
import { CrashPoints } from "./crash-points.ts";
import { isWhole, openid, type OpenidPlace, openidPlace } from "./identity/openid-place.ts";

const controlPlane = useSharedCluster();
const target = useSharedApiServer();

interface World extends CrashWorld, OpenidPlace {
  /** How many updates the server has made, and how many it had made when the operator died. */
  readonly updates: { made: number; madeAtCrash?: number };
}

async function openWorld(): Promise<World> {
  const opened = await openidPlace(controlPlane(), target());
  const updates: World["updates"] = { made: 0 };
  opened.server.onStep((step, moment) => {
    if (step === "PUT /reg" && moment === "after") updates.made++;
  });
  const points = await CrashPoints.around(opened.place, { controlPlane: controlPlane(), target: target() }, opened.server);
  return {
    ...opened,
    points,
    updates,
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]();
      await points[Symbol.asyncDispose]();
    },
  };
}

const flags = { ...openid, "eventing-auth.rotate-after": "24h", "eventing-auth.rotation-overlap": "0" };

/** From the server's having done it to the grant's being kept: what the server handed out then is lost. */
function isInWindow(point: string | undefined, request: string): boolean {
  return (
    point === `after ${request} at the identity provider` ||
    /^before (?:POST|PATCH) .*\/secrets(?:\/eventing-auth-grant-\w+)? at the control plane$/.test(point ?? "")
  );
}

async function prepareWhole(world: World): Promise<void> {
  await world.place.putKyma();
  const operator = await world.points.startOperator(flags);
  await isWhole(world);
  await operator.stop();
}

const creation: Phase<World> = {
  flags,
  prepare: ({ place }) => place.putKyma(),
  async isDone(world, point) {
    const isLeft = isInWindow(point, "POST /reg");
    await isWhole(world, isLeft ? 1 : 0);
    if (isLeft) expect(await world.place.eventSays("ApplicationMayBeLeft")).toContain(world.place.runtime);
  },
};

const longAgo = "2020-01-01T00:00:00Z";

const rotation: Phase<World> = {
  flags,
  async prepare(world) {
    await prepareWhole(world);
    const { place } = world;
    await place.parts.target.mergePatch(Secret, place.targetName, { metadata: { annotations: { "keyturn.io/issued-at": longAgo } } });
  },
  async isDone(world, point) {
    await soon(async () => expect((await world.place.targetSecret())?.metadata.annotations?.["keyturn.io/issued-at"]).not.toBe(longAgo));
    // The grant is also written before an update, which costs nothing.
    const isLeft = isInWindow(point, "PUT /reg") && world.updates.madeAtCrash === 1;
    await isWhole(world, isLeft ? 1 : 0);
    if (isLeft) expect(await world.place.eventSays("ApplicationGone")).toContain("is left there");
  },
  always({ updates }) {
    updates.madeAtCrash ??= updates.made;
    return Promise.resolve();
  },
};

const deletion: Phase<World> = {
  flags,
  async prepare(world) {
    await prepareWhole(world);
    await world.place.deleteKyma();
    // Every run begins at the same point, so that the n-th write is the same one in all of them.
    await soon(async () => expect((await world.place.auth())?.metadata.deletionTimestamp).toBeDefined());
  },
  async isDone({ place, server }) {
    await place.isGone();
    expect(server.clients()).toEqual([]);
    expect(await place.targetSecret()).toBeUndefined();
  },
};

test(
  "a crash in the creation leaves one client that works, and one more, of which an Event tells, only between registering it and keeping its grant",
  { concurrent: true, timeout: 1_200_000 },
  async () => {
    const points = await crashEverywhere(openWorld, creation);
    expect(points).toContain("before POST /reg at the identity provider");
    expect(points.filter((point) => isInWindow(point, "POST /reg")).length).toBeGreaterThanOrEqual(2);
  },
);

test(
  "a crash in a rotation leaves the client, and another one, of which an Event tells, only between the update and keeping its grant",
  { concurrent: true, timeout: 1_200_000 },
  async () => {
    const points = await crashEverywhere(openWorld, rotation);
    expect(points).toContain("before PUT /reg at the identity provider");
    expect(points.filter((point) => isInWindow(point, "PUT /reg")).length).toBeGreaterThanOrEqual(3);
  },
);

test("a crash in the deletion leaves nothing", { concurrent: true, timeout: 1_200_000 }, async () => {
  const points = await crashEverywhere(openWorld, deletion);
  expect(points).toContain("before DELETE /reg at the identity provider");
  expect(points).toContain("after DELETE /reg at the identity provider");
});
