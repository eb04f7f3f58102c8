// Which requests a change costs a set of three targets, in virtual time, with and without an API server that refuses some.
import { Secret, type TransportRequest } from "@keyturn/runtime";
import { objectOr, stringOr } from "@keyturn/runtime/testing";
import { beforeEach, expect, test } from "vitest";
import { RotationTarget, rotationSetAnnotation, sourceAnnotation } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { rotationFeature } from "../../packages/keyturn/src/controllers/rotation/feature.ts";
import { type Refusal, SimulatedOperator } from "../support/simulated-operator.ts";

const targets = ["a", "b", "c"];
/** Longer than all three delays together. */
const roundMs = 100_000;

let world: SimulatedOperator;

function putTargets(): void {
  for (const [index, name] of targets.entries()) {
    const defaults = { deletionMode: "keep", whenUnfilled: "Backfill", changePolicy: "Settled" };
    world.put(RotationTarget, name, { spec: { ...defaults, rotationSet: "keys", rotationOrder: index + 1, rotationDelay: "10s" } });
  }
}

function putSource(value: string): void {
  world.put(Secret, "source", { annotations: { [rotationSetAnnotation]: "keys", [sourceAnnotation]: "true" }, data: { value } });
}

/** What the targets hold. */
const held = (): readonly string[] => targets.map((name) => stringOr(objectOr(world.stored(Secret, name)["data"])["value"], ""));

/** What the targets' Ready says. */
const ready = (): readonly string[] => targets.map((name) => world.ready(RotationTarget, name));

const isWrite = ({ path, method }: TransportRequest, to: string): boolean => method !== "GET" && path.replace(/\?.*/, "").endsWith(to);
const refusals = (requests: readonly string[]): number => requests.filter((request) => / \d+$/.test(request)).length;
const upToDate = ["True UpToDate", "True UpToDate", "True UpToDate"];
const forbidden: Refusal = { status: 403, reason: "Forbidden" };

beforeEach(async () => {
  world = new SimulatedOperator(
    rotationFeature.controllers((flag) => flag.parse(undefined)),
    [RotationTarget],
  );
  await world.during(20_000);
});

/** Each target has a version of its own: a is v3, b is v2, c is v1. */
async function fill(): Promise<void> {
  putTargets();
  for (const version of ["v1", "v2", "v3"]) {
    putSource(version);
    await world.during(roundMs);
  }
  expect(held()).toEqual(["v3", "v2", "v1"]);
}

test("a new set, its first version and the next cost what they must, and then nothing", async () => {
  putTargets();
  expect(await world.during(20_000)).toHaveLength(6);
  putSource("v1");
  expect(await world.during(roundMs)).toHaveLength(12);
  expect(world.events.toSorted()).toEqual(["VersionFilled a", "VersionFilled b", "VersionFilled c"]);
  putSource("v2");
  expect(await world.during(roundMs)).toHaveLength(9);
  expect(world.events).toEqual(["VersionRotated a"]);
  expect(ready()).toEqual(upToDate);
  expect(await world.during(3_600_000)).toEqual([]);
});

test("a conflict costs a note and a try, and no Event is lost", async () => {
  await fill();
  putSource("v4");
  const plain = (await world.during(roundMs)).length;
  const rotated = ["VersionRotated a", "VersionRotated b", "VersionRotated c"];
  expect(world.events.toSorted()).toEqual(rotated);
  let left = 1;
  world.refuse = (request) => (isWrite(request, "/secrets/a") && left-- > 0 ? { status: 409, reason: "Conflict" } : undefined);
  putSource("v5");
  const requests = await world.during(roundMs);
  expect(refusals(requests)).toBe(1);
  expect(requests.length).toBeLessThanOrEqual(plain + 3);
  expect(world.events.toSorted()).toEqual(rotated);
  expect(held()).toEqual(["v5", "v4", "v3"]);
});

test("a target that is refused is set aside; the rest goes as far as it can and says that it waits, until the version is taken", async () => {
  await fill();
  world.refuse = (request) => (isWrite(request, "/secrets/a") ? forbidden : undefined);
  putSource("v4");
  const requests = await world.during(roundMs);
  expect(requests.length).toBeLessThanOrEqual(21);
  expect(refusals(requests)).toBe(1);
  expect(world.events.toSorted()).toEqual(["VersionRotated b", "VersionRotated c", "WaitingForTarget b", "WaitingForTarget c", "WriteRefused a"]);
  expect(held()).toEqual(["v3", "v3", "v2"]);
  expect(ready()).toEqual(["False WriteRefused", "True WaitingForTarget", "True WaitingForTarget"]);
  // Another version is tried at once.
  putSource("v5");
  expect(refusals(await world.during(roundMs))).toBe(1);
  world.refuse = () => undefined;
  await world.during(600_000);
  expect(world.events).toEqual(["VersionRotated a"]);
  expect(held()).toEqual(["v5", "v3", "v2"]);
  expect(ready()).toEqual(upToDate);
});

test("a history that cannot be written stops the set, and costs little", async () => {
  await fill();
  world.refuse = (request) => (isWrite(request, "/secrets") ? forbidden : undefined);
  putSource("v4");
  expect((await world.during(60_000)).length).toBeLessThanOrEqual(16);
  expect(world.events.toSorted()).toEqual(["WriteRefused a", "WriteRefused b", "WriteRefused c"]);
  expect(ready()).toEqual(Array(3).fill("False WriteRefused"));
  expect(held()).toEqual(["v3", "v2", "v1"]);
  expect(refusals(await world.during(3_600_000))).toBeLessThanOrEqual(18);
  world.refuse = () => undefined;
  await world.during(600_000 + roundMs);
  expect(held()).toEqual(["v4", "v3", "v2"]);
  expect(ready()).toEqual(upToDate);
});

test("old records that cannot be deleted show, and versions move all the same", async () => {
  await fill();
  world.refuse = ({ method, path }) => (method === "DELETE" && path.includes("/secrets/keys-") ? forbidden : undefined);
  for (const version of ["v4", "v5"]) {
    putSource(version);
    await world.during(roundMs);
  }
  expect(held()).toEqual(["v5", "v4", "v3"]);
  expect(ready()).toEqual(Array(3).fill("False WriteRefused"));
  world.refuse = () => undefined;
  await world.during(600_000);
  expect(ready()).toEqual(upToDate);
});

test.each([
  [500, "InternalError", "ServerError"],
  [503, "ServiceUnavailable", "ServerError"],
  [429, "TooManyRequests", "TooManyRequests"],
])("a failure with status %s shows within a minute, in every target", async (status, reason, shown) => {
  await fill();
  world.refuse = ({ method, path }) => (method !== "GET" && path.includes("/secrets") ? { status, reason } : undefined);
  putSource("v4");
  await world.during(60_000);
  expect(ready()).toEqual(Array(3).fill(`False ${shown}`));
  expect(world.events.toSorted()).toEqual(targets.map((name) => `${shown} ${name}`));
  world.refuse = () => undefined;
  await world.during(300_000 + roundMs);
  expect(held()).toEqual(["v4", "v3", "v2"]);
  expect(ready()).toEqual(upToDate);
});
