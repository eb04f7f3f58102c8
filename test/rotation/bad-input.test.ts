// Input that cannot be used: the object says so in a condition and an Event, nothing is lost, and it goes on by itself when it is put right.
import { Secret, systemClock } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { rotationSetAnnotation, sourceAnnotation } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { rotatingNamespace, valueIn } from "./rotating-namespace.ts";

const cluster = useSharedCluster();
const annotations = { [rotationSetAnnotation]: "my-key", [sourceAnnotation]: "true" };

test("two sources: neither is guessed to be the one, until one annotation is taken away", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "two-sources");
  await place.startOperator();
  await place.putTargets(["0s"]);
  await place.putSource("one");
  await place.holds({ t1: "one" });
  const second = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: place.namespace, name: "other", annotations },
    data: { someKey: "x" },
  };
  await cluster().apply(second);
  const message = await place.conditionSays("t1", "SourceConflict", "True SourceConflict");
  expect(message).toContain("configmaps/other and secrets/key-latest are all marked as the source");
  expect(await place.eventSays("t1", "SourceConflict")).toBe(message);
  await place.conditionSays("t1", "Ready", "False SourceConflict");
  await place.putSource("two");
  await cluster().kubectl("annotate", "configmap", "other", "-n", place.namespace, `${sourceAnnotation}-`);
  await place.holds({ t1: "two" });
  await place.conditionSays("t1", "Ready", "True UpToDate");
  expect(await place.condition("t1", "SourceConflict")).toBeUndefined();
});

test("a target's own object as the source: it is not written to", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "self");
  await place.startOperator();
  await place.putTarget("key-latest", { rotationOrder: 1 });
  await place.putSource("mine");
  await place.conditionSays("key-latest", "Ready", "False SourceConflict");
  const { metadata, ...rest } = (await place.get(Secret, "key-latest")) ?? { metadata: {} };
  expect(metadata.labels).toBeUndefined();
  expect(valueIn(rest)).toBe("mine");
});

test("a path that points at nothing is no deletion: cascade does not delete", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "path");
  await place.startOperator();
  await place.putTargets(["0s"], { deletionMode: "cascade" });
  await place.putSource("one");
  await place.holds({ t1: "one" });
  await place.putSource("two", { "rotator.k8s.telekom.com/watch-path": ".data.missing" });
  expect(await place.conditionSays("t1", "PathNotFound", "True PathNotFound")).toContain("nothing at .data.missing");
  expect(await place.eventSays("t1", "PathNotFound")).toContain(".data.missing");
  expect(await place.held("t1")).toBe("one");
  await place.putSource("two", { "rotator.k8s.telekom.com/watch-path": "data" });
  await place.conditionSays("t1", "PathNotFound", "True InvalidPath");
  await place.putSource("two", { "rotator.k8s.telekom.com/watch-path": ".data" });
  await place.holds({ t1: "two" });
  await soon(async () => expect(await place.condition("t1", "PathNotFound")).toBeUndefined());
});

test("an object of somebody else under the target's name is left alone, and the rank before goes on", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "foreign");
  const theirs = await cluster().client.create(Secret, { metadata: { namespace: place.namespace, name: "t2" }, data: { someKey: "dGhlaXJz" } });
  await place.startOperator();
  await place.putTargets(["0s", "0s"]);
  await place.putSource("one");
  await place.holds({ t1: "one", t2: "theirs" });
  expect(await place.conditionSays("t2", "NameConflict", "True NameConflict")).toContain("secrets/t2 exists and is not this target's");
  expect(await place.eventSays("t2", "NameConflict")).toContain("choose another targetName");
  await place.putSource("two");
  await place.holds({ t1: "two", t2: "theirs" });
  expect((await place.get(Secret, "t2"))?.metadata.resourceVersion).toBe(theirs.metadata.resourceVersion);
  await cluster().client.delete(Secret, { namespace: place.namespace, name: "t2" });
  // It never held anything, so it begins with the oldest version that is still there.
  await place.holds({ t1: "two", t2: "two" });
  await place.conditionSays("t2", "Ready", "True UpToDate");
});

test("a version record's name that is taken is passed over, whoever has it", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "record-name");
  const theirs = await cluster().client.create(Secret, { metadata: { namespace: place.namespace, name: "my-key-1" }, data: { x: "eA==" } });
  await place.startOperator();
  await place.putTarget("my-key-2", { rotationOrder: 1 });
  await place.putSource("one");
  await place.holds({ "my-key-2": "one" });
  expect((await place.records()).map(({ metadata }) => metadata.name)).toEqual(["my-key-3"]);
  expect((await place.get(Secret, "my-key-1"))?.metadata.resourceVersion).toBe(theirs.metadata.resourceVersion);
});

test("what the API server refuses for one target does not hold up the ranks before it", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "refused");
  await cluster().kubectl("create", "quota", "few", "--hard=count/secrets=4", "-n", place.namespace);
  await soon(async () =>
    expect(await cluster().kubectl("get", "quota", "few", "-n", place.namespace, "-o", "jsonpath={.status.hard}")).toContain("4"),
  );
  await place.startOperator();
  await place.putTargets(["0s", "0s"]);
  await place.putSource("one");
  // The source, a record, one of the targets, and the key of the installation.
  const message = await place.conditionSays("t1", "Ready", "False WriteRefused");
  expect(message).toContain("exceeded quota");
  expect(await place.held("t2")).toBe("one");
  expect(await place.eventSays("t1", "WriteRefused")).toContain("exceeded quota");
});

test("an odd name of a set is fine", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "odd-set");
  await place.startOperator();
  await place.putTarget("t1", { rotationSet: "My_Key.2", rotationOrder: 1 });
  await place.putSource("one", { [rotationSetAnnotation]: "My_Key.2" });
  await place.holds({ t1: "one" });
  expect((await place.records()).map(({ metadata }) => metadata.name)).toEqual([expect.stringMatching(/^my-key-2-[0-9a-f]{8}-1$/)]);
});

test("with a clock that disagrees with the API server's nothing moves, and what is held is repaired all the same", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "skewed");
  const sound = await place.startOperator();
  await place.putTargets(["0s"]);
  await place.putSource("one");
  await place.holds({ t1: "one" });
  await sound.stop();

  const fast = await place.startOperator({ clock: { ...systemClock, now: () => systemClock.now() + 60_000 } });
  await place.putSource("two");
  expect(await place.conditionSays("t1", "ClockSkew", "True ClockSkew")).toMatch(/the operator's clock is \d+ s ahead of the API server's/);
  await place.eventSays("t1", "ClockSkew");
  await cluster().client.delete(Secret, { namespace: place.namespace, name: "t1" });
  await place.holds({ t1: "one" });
  await fast.stop();

  await place.startOperator();
  await place.holds({ t1: "two" });
  await soon(async () => expect((await place.condition("t1", "Ready"))?.status).toBe("True"));
});
