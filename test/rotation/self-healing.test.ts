// What somebody does to targets, their objects and the history by hand, and what becomes of it.
import { Buffer } from "node:buffer";
import { deflateRawSync } from "node:zlib";
import { Secret } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { giveUpAnnotation, RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { rotatingNamespace, type RotatingNamespace } from "./rotating-namespace.ts";
import { Witness } from "./witness.ts";

const cluster = useSharedCluster();
const encoded = (value: string): string => Buffer.from(value).toString("base64");

/** Three targets that hold three, two and one. */
async function filled(place: RotatingNamespace, spec: Readonly<Record<string, unknown>> = {}): Promise<void> {
  await place.putTargets(["0s", "0s", "0s"], spec);
  for (const value of ["one", "two", "three"]) {
    await place.putSource(value);
    await place.holds({ t1: value });
  }
  await place.holds({ t1: "three", t2: "two", t3: "one" });
}

describe("a target's object", { concurrent: true }, () => {
  test("that was edited or deleted is put back as it was: same version, same date", async () => {
    await using place = await rotatingNamespace(cluster(), "drift");
    await place.startOperator();
    await filled(place);
    // The status follows the object.
    const before = await soon(async () => {
      const status = await place.status("t2");
      expect(status.currentVersion?.seq).toBe(await place.versionOf("t2"));
      return status;
    });
    const name = { namespace: place.namespace, name: "t2" };
    await cluster().client.mergePatch(Secret, name, { data: { someKey: encoded("edited"), extra: encoded("key") } });
    await place.holds({ t2: "two" });
    await soon(async () => expect(Object.keys((await place.get(Secret, "t2"))?.data ?? {})).toEqual(["someKey"]));
    await place.eventSays("t2", "DriftRepaired");
    await cluster().client.delete(Secret, name);
    await place.holds({ t1: "three", t2: "two", t3: "one" });
    await soon(async () => expect((await place.status("t2")).currentVersion).toEqual(before.currentVersion));
  });

  test("that lost its annotations is written anew with the version that it holds", async () => {
    await using place = await rotatingNamespace(cluster(), "bare");
    await place.startOperator();
    await filled(place);
    const version = await place.versionOf("t3");
    const annotations = Object.fromEntries(["version", "digest", "applied-at"].map((name) => [`rotator.k8s.telekom.com/${name}`, null]));
    await cluster().client.mergePatch(Secret, { namespace: place.namespace, name: "t3" }, { metadata: { annotations } });
    await soon(async () => expect(await place.versionOf("t3")).toBe(version));
    await place.holds({ t1: "three", t2: "two", t3: "one" });
  });

  test("of somebody else is left alone; the target says so, and gets its own when the name is free", async () => {
    await using place = await rotatingNamespace(cluster(), "foreign");
    await place.startOperator();
    const theirs = { namespace: place.namespace, name: "t2" };
    await cluster().client.create(Secret, { metadata: theirs, data: { someKey: encoded("theirs") } });
    const before = await place.get(Secret, "t2");
    await place.putTargets(["0s", "0s"]);
    await place.putSource("one");
    await place.holds({ t1: "one", t2: "theirs" });
    expect(await place.conditionSays("t2", "Ready", "False NameConflict")).toContain("t2");
    await place.eventSays("t2", "NameConflict");
    await place.putSource("two");
    await place.holds({ t1: "two", t2: "theirs" });
    expect(await place.get(Secret, "t2")).toEqual(before);
    await cluster().client.delete(Secret, theirs);
    // It never held anything, so it is filled with the oldest version there is, and goes on from there.
    await place.holds({ t1: "two", t2: "two" });
    await place.conditionSays("t2", "Ready", "True UpToDate");
    await place.putSource("three");
    await place.holds({ t1: "three", t2: "two" });
  });
});

describe("targets edited at run time", { concurrent: true }, () => {
  test("one added to the end holds the oldest version there is; one taken out of the middle lets the next move up", async () => {
    await using place = await rotatingNamespace(cluster(), "edited");
    await place.startOperator();
    await filled(place);
    using witness = await Witness.of(place);
    await place.putTarget("t4", { rotationOrder: 4 });
    await place.holds({ t1: "three", t2: "two", t3: "one", t4: "one" });
    await cluster().client.delete(RotationTarget, { namespace: place.namespace, name: "t2" });
    await place.holds({ t1: "three", t3: "two", t4: "one" });
    // Its object is kept, as deletionMode says.
    expect(await place.held("t2")).toBe("two");
    await witness.caughtUp();
    witness.expectOrder(["t1", "t3", "t4"]);
  });

  test("a longer delay holds back what is on its way, a shorter one lets it go", async () => {
    await using place = await rotatingNamespace(cluster(), "delays");
    await place.startOperator();
    await place.putTargets(["1h"]);
    await place.putSource("one");
    await place.holds({ t1: "one" });
    await place.putSource("two");
    await soon(async () => expect((await place.status("t1")).pending?.seq).toBe(2));
    await place.putTarget("t1", { rotationOrder: 1, rotationDelay: "2h" });
    await soon(async () => expect(Date.parse((await place.status("t1")).pending?.notBefore ?? "")).toBeGreaterThan(Date.now() + 3_600_000));
    expect(await place.held("t1")).toBe("one");
    await place.putTarget("t1", { rotationOrder: 1, rotationDelay: "0s" });
    await place.holds({ t1: "two" });
  });

  test("orders exchanged: no target goes back to an older version", async () => {
    await using place = await rotatingNamespace(cluster(), "orders");
    await place.startOperator();
    await place.putTargets(["0s", "0s"]);
    for (const value of ["one", "two"]) {
      await place.putSource(value);
      await place.holds({ t1: value });
    }
    await place.holds({ t1: "two", t2: "one" });
    await place.putTarget("t1", { rotationOrder: 3 });
    await place.holds({ t1: "two", t2: "two" });
    await place.putSource("three");
    await place.holds({ t2: "three", t1: "two" });
  });

  test("cascade deletes a target's object with its RotationTarget", async () => {
    await using place = await rotatingNamespace(cluster(), "owned");
    await place.startOperator();
    await filled(place, { deletionMode: "cascade" });
    await cluster().client.delete(RotationTarget, { namespace: place.namespace, name: "t3" });
    // The garbage collector takes its time.
    await place.holds({ t1: "three", t2: "two", t3: "-" });
  });
});

describe("the history", { concurrent: true }, () => {
  test("that somebody deletes costs no target its content, and rotation goes on", async () => {
    await using place = await rotatingNamespace(cluster(), "amnesia");
    await place.startOperator();
    await filled(place);
    for (const { metadata } of await place.records()) await cluster().client.delete(Secret, { namespace: place.namespace, name: metadata.name });
    await soon(async () => expect(await place.records()).not.toHaveLength(0));
    await place.putSource("four");
    await place.holds({ t1: "four" });
    await place.putSource("five");
    await place.holds({ t1: "five", t2: "four" });
  });

  test("with a record that unpacks to a hundred megabytes stops the set and says so; deleted, its version is lost, until that is given up", async () => {
    await using place = await rotatingNamespace(cluster(), "bomb");
    const operator = await place.startOperator();
    await filled(place);
    await operator.stop();
    const [record] = await place.records();
    if (!record) throw new Error("there is no record");
    const { uid: _, resourceVersion: __, ...metadata } = record.metadata;
    const name = { namespace: place.namespace, name: metadata.name };
    const content = deflateRawSync(Buffer.alloc(100_000_000)).toString("base64");
    await cluster().client.delete(Secret, name);
    await cluster().client.create(Secret, { ...record, metadata, data: { content } });
    await cluster().client.delete(Secret, { ...name, name: "t3" });
    await place.startOperator();
    const message = await place.conditionSays("t3", "Ready", "False HistoryDamaged");
    expect(message).toBe(
      `version record ${name.namespace}/${name.name} cannot be read: delete it, and it is made again from an object that has its content, if there is one`,
    );
    expect(await place.eventSays("t3", "HistoryDamaged")).toBe(message);
    expect([await place.held("t1"), await place.held("t2"), await place.held("t3")]).toEqual(["three", "two", "-"]);
    await cluster().client.delete(Secret, name);
    expect(await place.conditionSays("t3", "Ready", "False VersionLost")).toContain(`restore Secret ${name.namespace}/${name.name} from a backup`);
    expect([await place.held("t1"), await place.held("t2"), await place.held("t3")]).toEqual(["three", "two", "-"]);
    const target = { namespace: place.namespace, name: "t3" };
    await cluster().client.mergePatch(RotationTarget, target, { metadata: { annotations: { [giveUpAnnotation]: "1" } } });
    await place.holds({ t1: "three", t2: "two", t3: "two" });
    await place.conditionSays("t3", "Ready", "True UpToDate");
  });

  test("is immutable, belongs to the targets and goes with the last of them", async () => {
    await using place = await rotatingNamespace(cluster(), "owners");
    const operator = await place.startOperator();
    await filled(place);
    await soon(async () => {
      for (const record of await place.records()) {
        expect(record.immutable).toBe(true);
        expect(record.metadata.ownerReferences?.map(({ name }) => name).toSorted()).toEqual(["t1", "t2", "t3"]);
      }
    });
    await operator.stop();
    for (const name of ["t1", "t2", "t3"]) await cluster().client.delete(RotationTarget, { namespace: place.namespace, name });
    await soon(async () => expect(await place.records()).toEqual([]));
    expect([await place.held("t1"), await place.held("t2"), await place.held("t3")]).toEqual(["three", "two", "one"]);
    // Made again, the targets go on from what their objects say.
    using witness = await Witness.of(place);
    await place.putTargets(["0s", "0s", "0s"]);
    await place.startOperator();
    await place.conditionSays("t1", "Ready", "True UpToDate");
    expect([await place.held("t1"), await place.held("t2"), await place.held("t3")]).toEqual(["three", "two", "one"]);
    await place.putSource("four");
    await place.holds({ t1: "four" });
    await witness.caughtUp();
    witness.expectOrder(["t1", "t2", "t3"]);
    expect(witness.valuesOf("t1")).toEqual(["four"]);
  });
});

test("an edit of the source that changes nothing watched makes no version and no write", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "metadata");
  await place.startOperator();
  await place.putTargets(["0s", "0s"]);
  await place.putSource("one", { "rotator.k8s.telekom.com/watch-path": ".data.someKey", "rotator.k8s.telekom.com/rotate-path": ".data" });
  await place.holds({ t1: "one", t2: "one" });
  const source = { namespace: place.namespace, name: "key-latest" };
  await cluster().client.mergePatch(Secret, source, { metadata: { labels: { touched: "yes" } }, data: { other: encoded("unwatched") } });
  // Whatever comes after it has been seen shows that it was nothing.
  await place.putSource("two", { "rotator.k8s.telekom.com/watch-path": ".data.someKey", "rotator.k8s.telekom.com/rotate-path": ".data" });
  await place.holds({ t1: "two", t2: "one" });
  expect(await place.versionOf("t1")).toBe(2);
  // What rotate-path covers is taken along with the watched change.
  expect((await place.get(Secret, "t1"))?.data).toEqual({ someKey: encoded("two"), other: encoded("unwatched") });
});
