// Labels and annotations that somebody else has written, edited or taken away: they move, delete and rewrite nothing.
import { Buffer } from "node:buffer";
import { ConfigMap, type Kind, type KubeObject, Secret, type Stored } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { RotationTarget, rotationSetAnnotation, sourceAnnotation } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { digestOf, storedContent } from "../../packages/keyturn/src/controllers/rotation/content.ts";
import { rotatingNamespace, type RotatingNamespace } from "./rotating-namespace.ts";

const cluster = useSharedCluster();
const domain = "rotator.k8s.telekom.com";
const targets = ["t1", "t2"];

/** Two targets that hold version 1 and are a day from version 3. The operator has stopped. */
async function aDayBefore(place: RotatingNamespace): Promise<void> {
  await place.putTargets(["24h", "24h"]);
  await place.putSource("one");
  await using _operator = await place.startOperator();
  await place.holds({ t1: "one", t2: "one" });
  for (const [value, seq] of [
    ["two", 2],
    ["three", 3],
  ] as const) {
    await place.putSource(value);
    await soon(async () => expect((await place.status("t1")).pending?.seq).toBe(seq));
  }
}

/** All that must stay as it is: the targets' objects and the records to the byte, and which versions the statuses report. */
async function pictureOf(place: RotatingNamespace): Promise<object> {
  const objects = await Promise.all(targets.map((name) => place.get(Secret, name)));
  const statuses = await Promise.all(targets.map((name) => place.status(name)));
  return {
    objects,
    records: await place.records(),
    statuses: statuses.map(({ currentVersion, pending }) => ({ currentVersion, seq: pending?.seq })),
  };
}

/** Starts an operator that also sees the other namespace, and waits until it has looked at everything. */
async function looked(place: RotatingNamespace, other: string): Promise<void> {
  for (const [index, name] of targets.entries())
    await place.putTarget(name, { rotationOrder: index + 1, rotationDelay: "24h", deletionMode: "keep", whenUnfilled: "Absent" });
  const { adminKubeconfig } = cluster();
  await place.startOperator({ kubeconfig: adminKubeconfig, namespaces: [place.namespace, other] });
  await place.seen(...targets);
}

interface Forgery {
  readonly kind: Kind;
  readonly version: string;
  /** Default that of the forged object's own content. */
  readonly digest?: string;
}

function forge(place: RotatingNamespace, namespace: string, { kind, version, digest }: Forgery): Promise<readonly Stored<KubeObject>[]> {
  const data = { someKey: "Zm9yZ2Vk" };
  const own = digestOf(storedContent(kind === Secret ? "secrets" : "configmaps", { data }));
  const forged = targets.map((target) => ({
    apiVersion: "v1",
    kind: kind.kind,
    metadata: {
      namespace,
      name: `forged-${target}`,
      labels: { "app.kubernetes.io/managed-by": "keyturn" },
      annotations: {
        "keyturn.io/owner": `rotationtargets.${domain}/${place.namespace}/${target}`,
        [`${domain}/version`]: version,
        [`${domain}/digest`]: digest ?? own,
        [`${domain}/applied-at`]: "2026-01-01T00:00:00.000Z",
      },
    },
    data,
  }));
  return cluster().apply(forged);
}

const wrong = "00";

test.concurrent.each<readonly [string, "another" | "the same", Forgery]>([
  ["a ConfigMap with a recorded version and a wrong digest", "another", { kind: ConfigMap, version: "3", digest: wrong }],
  ["a Secret with a recorded version and a wrong digest", "another", { kind: Secret, version: "3", digest: wrong }],
  ["a Secret with a version beyond all records and the digest of its content", "another", { kind: Secret, version: "1000" }],
  ["a ConfigMap with a recorded version and a wrong digest", "the same", { kind: ConfigMap, version: "3", digest: wrong }],
  ["a Secret with a recorded version and a wrong digest", "the same", { kind: Secret, version: "3", digest: wrong }],
  ["a ConfigMap with a version beyond all records and the digest of its content", "the same", { kind: ConfigMap, version: "1000" }],
  ["a Secret with a version that cannot be counted on from", "the same", { kind: Secret, version: "9007199254740991" }],
])("%s in %s namespace changes nothing", async (_, where, forgery) => {
  await using place = await rotatingNamespace(cluster(), "victim");
  const other = await cluster().namespace("other");
  await aDayBefore(place);
  const before = await pictureOf(place);
  // The name after the last version: who counts on from the forged one meets it.
  await cluster().client.create(Secret, { metadata: { namespace: place.namespace, name: "my-key-9007199254740992" } });
  const forged = await forge(place, where === "another" ? other : place.namespace, forgery);
  await looked(place, other);
  expect(await pictureOf(place)).toEqual(before);
  for (const { metadata } of forged) {
    const still = await cluster().client.get(forgery.kind, { namespace: metadata.namespace ?? "", name: metadata.name });
    expect(still?.metadata.resourceVersion).toBe(metadata.resourceVersion);
  }
  // And rotation goes on.
  await place.putTargets(["0s", "0s"]);
  await place.holds({ t1: "three", t2: "one" });
});

const encoded = (value: string): string => Buffer.from(value).toString("base64");

/** Two targets that hold two and one, without any delay. */
async function rotated(place: RotatingNamespace): Promise<void> {
  await place.startOperator();
  await place.putTargets(["0s", "0s"]);
  for (const value of ["one", "two"]) {
    await place.putSource(value);
    await place.holds({ t1: value, t2: "one" });
  }
  // The log is noted after the targets are written.
  await place.says({ t1: 2, t2: 1 });
  await soon(async () => expect((await place.records()).map(({ metadata }) => metadata.name)).toEqual(["my-key-1", "my-key-2"]));
}

test("logs that cannot be read stop the set and delete nothing; it goes on when they are back", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "bad-log");
  await rotated(place);
  const before = await place.records();
  await cluster().kubectl("annotate", "secret", "my-key-1", "my-key-2", "--overwrite", `${domain}/log=x`, "-n", place.namespace);
  // One after the other, so that there is a moment with one of them.
  await soon(async () =>
    expect((await place.condition("t1", "Ready"))?.message).toContain(
      `the log of version record ${place.namespace}/my-key-1, ${place.namespace}/my-key-2 cannot be read`,
    ),
  );
  expect(await place.eventSays("t1", "HistoryDamaged")).toContain(`version record ${place.namespace}/my-key-1`);
  await place.putSource("three");
  expect((await place.records()).map(({ metadata }) => metadata.uid)).toEqual(before.map(({ metadata }) => metadata.uid));
  await place.holds({ t1: "two", t2: "one" });
  for (const { metadata } of before) {
    const annotations = { [`${domain}/log`]: metadata.annotations?.[`${domain}/log`] };
    await cluster().client.mergePatch(Secret, { namespace: place.namespace, name: metadata.name }, { metadata: { annotations } });
  }
  await place.holds({ t1: "three", t2: "two" });
});

test("a record that lost an annotation or a label stops the set and says so, and so does one that was made up", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "lost-annotation");
  await rotated(place);
  const [, newest] = await place.records();
  const lose = async (kind: "annotate" | "label", name: string): Promise<void> => {
    const kept = newest?.metadata[kind === "label" ? "labels" : "annotations"]?.[name];
    await cluster().kubectl(kind, "secret", "my-key-2", `${name}-`, "-n", place.namespace);
    const message = await place.conditionSays("t1", "Ready", "False HistoryDamaged");
    expect(message).toContain(`version record ${place.namespace}/my-key-2 has lost or changed a label or an annotation`);
    await cluster().kubectl(kind, "secret", "my-key-2", `${name}=${kept}`, "-n", place.namespace);
    await place.conditionSays("t1", "Ready", "True UpToDate");
  };
  await lose("annotate", `${domain}/seen-at`);
  await lose("label", "app.kubernetes.io/component");
  if (!newest) throw new Error("there is no second record");
  const { uid: _, resourceVersion: __, ...metadata } = newest.metadata;
  const annotations = { ...metadata.annotations, [`${domain}/version`]: "9", [`${domain}/log`]: "x" };
  await cluster().client.create(Secret, { ...newest, metadata: { ...metadata, name: "my-key-9", annotations } });
  expect(await place.conditionSays("t1", "Ready", "False HistoryDamaged")).toContain(`${place.namespace}/my-key-9 cannot be read`);
  expect(await place.records()).toHaveLength(3);
});

/** Two targets that hold two and one, and ten minutes from three. */
async function waiting(place: RotatingNamespace): Promise<Stored<Secret>> {
  await rotated(place);
  await place.putTargets(["10m", "10m"]);
  await place.seen("t1", "t2");
  await place.putSource("three");
  await soon(async () => expect((await place.status("t1")).pending?.seq).toBe(3));
  return (await place.records()).at(-1) ?? expect.fail();
}

/** The record's annotations with a log by which the source has been what it is since 1970. */
function withOldSource({ metadata: { annotations = {} } }: Stored<Secret>): Readonly<Record<string, string>> {
  const log = annotations[`${domain}/log`] ?? "";
  return { ...annotations, [`${domain}/log`]: log.replace(/("state":"present",.*?"sinceMs":)[\d.]+/, "$11") };
}

test("an edited log has nothing live early: the set stops, and goes on when it is as it was", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "edited-log");
  const newest = await waiting(place);
  const edit = (annotations: Readonly<Record<string, string>> | undefined): Promise<unknown> =>
    cluster().client.mergePatch(Secret, { namespace: place.namespace, name: newest.metadata.name }, { metadata: { annotations } });
  await edit(withOldSource(newest));
  expect(await place.conditionSays("t1", "Ready", "False HistoryDamaged")).toContain("version record");
  expect([await place.held("t1"), await place.held("t2")]).toEqual(["two", "one"]);
  await edit(newest.metadata.annotations);
  await place.conditionSays("t1", "Ready", "True Rotating");
});

test.concurrent.each([
  ["no proof", undefined],
  ["a made-up proof", "00"],
])("a record that is newer than all, with a log to its maker's liking and %s, stops the set", async (_, proof) => {
  await using place = await rotatingNamespace(cluster(), "newer-record");
  const newest = await waiting(place);
  const { uid: _uid, resourceVersion: _version, ...metadata } = newest.metadata;
  const { [`${domain}/proof`]: _proof, ...annotations } = withOldSource(newest);
  const forged = { ...annotations, [`${domain}/version`]: "9", ...(proof !== undefined && { [`${domain}/proof`]: proof }) };
  await cluster().client.create(Secret, { ...newest, metadata: { ...metadata, name: "my-key-9", annotations: forged } });
  expect(await place.conditionSays("t1", "Ready", "False HistoryDamaged")).toContain(`${place.namespace}/my-key-9`);
  expect([await place.held("t1"), await place.held("t2")]).toEqual(["two", "one"]);
  await cluster().client.delete(Secret, { namespace: place.namespace, name: "my-key-9" });
  await place.conditionSays("t1", "Ready", "True Rotating");
});

test("an installation whose key was lost goes on with what the records say, and proves it anew", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "lost-key");
  await rotated(place);
  await place.operators[0]?.stop();
  await cluster().client.delete(Secret, { namespace: place.namespace, name: "keyturn-installation-key" });
  await place.startOperator();
  for (const [value, before] of [
    ["three", "two"],
    ["four", "three"],
  ] as const) {
    await place.putSource(value);
    await place.holds({ t1: value, t2: before });
  }
  await place.conditionSays("t1", "Ready", "True UpToDate");
});

test(
  "a made-up version on a target's own object, of a time to come, is put back, and the next change comes in time",
  { concurrent: true },
  async () => {
    await using place = await rotatingNamespace(cluster(), "made-up");
    await rotated(place);
    const data = { someKey: encoded("evil") };
    const annotations = {
      [`${domain}/version`]: "500",
      [`${domain}/digest`]: digestOf(storedContent("secrets", { data })),
      [`${domain}/applied-at`]: "9899-01-01T00:00:00.000Z",
    };
    await cluster().client.mergePatch(Secret, { namespace: place.namespace, name: "t1" }, { metadata: { annotations }, data });
    await place.holds({ t1: "two", t2: "one" });
    await soon(async () => expect(await place.versionOf("t1")).toBe(2));
    await place.putSource("three");
    await place.holds({ t1: "three", t2: "two" });
  },
);

test("a copy of a target's object, with its labels and annotations, is left alone", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "copy");
  await rotated(place);
  const { metadata, data } = (await place.get(Secret, "t1")) ?? {};
  const { labels = {}, annotations = {} } = metadata ?? {};
  const copy = await cluster().client.create(Secret, {
    metadata: { namespace: place.namespace, name: "t1-backup", labels, annotations },
    ...(data && { data }),
  });
  await place.putSource("three");
  await place.holds({ t1: "three", t2: "two", "t1-backup": "two" });
  await place.conditionSays("t1", "Ready", "True UpToDate");
  expect((await place.get(Secret, "t1-backup"))?.metadata.resourceVersion).toBe(copy.metadata.resourceVersion);
});

test("a target that is made again in another set brings no content of its former one with it", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "moved");
  await rotated(place);
  const annotations = { [rotationSetAnnotation]: "other", [sourceAnnotation]: "true" };
  await cluster().client.create(Secret, {
    metadata: { namespace: place.namespace, name: "other-latest", annotations },
    data: { someKey: Buffer.from("other").toString("base64") },
  });
  await place.putTarget("o1", { rotationSet: "other", rotationOrder: 1 });
  await place.holds({ o1: "other" });
  await cluster().client.delete(RotationTarget, { namespace: place.namespace, name: "t2" });
  await place.putTarget("t2", { rotationSet: "other", rotationOrder: 2 });
  await place.holds({ t1: "two", t2: "other" });
});

test("nor does it into a set without any history: that gets its first version when there is one", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "moved-first");
  await rotated(place);
  await cluster().client.delete(RotationTarget, { namespace: place.namespace, name: "t2" });
  await place.putTarget("t2", { rotationSet: "other", rotationOrder: 1 });
  await place.conditionSays("t2", "Ready", "False NoSource");
  const annotations = { [rotationSetAnnotation]: "other", [sourceAnnotation]: "true" };
  await cluster().client.create(Secret, {
    metadata: { namespace: place.namespace, name: "other-latest", annotations },
    data: { someKey: encoded("other") },
  });
  await place.holds({ t1: "two", t2: "other" });
  await place.conditionSays("t2", "Ready", "True UpToDate");
});

test("a target named constructor is rotated like any other", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "constructor");
  await place.startOperator();
  await place.putTarget("constructor", { rotationOrder: 1 });
  await place.putTarget("prototype", { rotationOrder: 2 });
  for (const value of ["one", "two"]) {
    await place.putSource(value);
    await place.holds({ constructor: value, prototype: "one" });
  }
});
