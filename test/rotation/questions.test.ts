// The guide's four questions, and the answers, on a real API server.
import { Secret } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { rotatingNamespace } from "./rotating-namespace.ts";
import { Witness } from "./witness.ts";

const cluster = useSharedCluster();

describe("fewer states than targets", { concurrent: true }, () => {
  test("the oldest state is in every target that has none of its own, so that pods can mount it", async () => {
    await using place = await rotatingNamespace(cluster(), "few");
    await place.startOperator();
    await place.putTargets(["0s", "0s", "0s"]);
    await place.putSource("one");
    await place.holds({ t1: "one", t2: "one", t3: "one" });
    await place.conditionSays("t1", "Filled", "True HasOwnVersion");
    for (const name of ["t2", "t3"]) await place.conditionSays(name, "Filled", "False InsufficientHistory");
    await place.putSource("two");
    await place.holds({ t1: "two", t2: "one", t3: "one" });
    await place.conditionSays("t2", "Filled", "True HasOwnVersion");
    await place.putSource("three");
    await place.holds({ t1: "three", t2: "two", t3: "one" });
    await place.conditionSays("t3", "Filled", "True HasOwnVersion");
  });

  test("or nothing, if that is what is wanted", async () => {
    await using place = await rotatingNamespace(cluster(), "absent");
    await place.startOperator();
    using witness = await Witness.of(place);
    await place.putTargets(["0s", "0s", "0s"], { whenUnfilled: "Absent" });
    await place.putSource("one");
    await place.holds({ t1: "one" });
    await place.conditionSays("t2", "Ready", "False InsufficientHistory");
    await place.putSource("two");
    await place.holds({ t1: "two", t2: "one", t3: "-" });
    await place.putSource("three");
    await place.holds({ t1: "three", t2: "two", t3: "one" });
    await witness.caughtUp();
    expect(witness.valuesOf("t3")).toEqual(["one"]);
  });
});

test(
  "a lower order with the smaller delay: the displaced content is kept, and the target says for how long it is nowhere",
  { concurrent: true },
  async () => {
    await using place = await rotatingNamespace(cluster(), "gap");
    await place.startOperator();
    using witness = await Witness.of(place);
    await place.putTargets(["1s", "5s"]);
    await place.putSource("one");
    await place.holds({ t1: "one", t2: "one" });
    expect(await place.conditionSays("t2", "VisibilityGap", "True DelayLongerThanBefore")).toContain("4s");
    await place.putSource("two");
    await place.holds({ t1: "two", t2: "one" });
    await place.putSource("three");
    await place.holds({ t1: "three", t2: "two" });
    await witness.caughtUp();
    expect(witness.valuesOf("t2")).toEqual(["one", "two"]);
    const [left, arrived] = [witness.firstOf("t1", "three").appliedAtMs, witness.firstOf("t2", "two").appliedAtMs];
    expect(arrived - left).toBeGreaterThanOrEqual(0);
    // "one" stays for its delay after "two" became live, and so does every other.
    expect(arrived - witness.firstOf("t1", "two").appliedAtMs).toBeGreaterThanOrEqual(5_000);
  },
);

describe("the source is deleted", { concurrent: true }, () => {
  test("keep keeps, cascade deletes after its delay and not before", async () => {
    await using place = await rotatingNamespace(cluster(), "deleted");
    await place.startOperator();
    await place.putTarget("t1", { rotationOrder: 1, rotationDelay: "2s", deletionMode: "keep" });
    await place.putTarget("t2", { rotationOrder: 2, rotationDelay: "2s", deletionMode: "cascade" });
    await place.putSource("one");
    await place.holds({ t1: "one", t2: "one" });
    const deletedAtMs = Date.now();
    await place.deleteSource();
    await place.holds({ t1: "one", t2: "-" });
    expect(Date.now() - deletedAtMs).toBeGreaterThanOrEqual(2_000);
    await place.conditionSays("t1", "Ready", "True NoSource");
    await place.conditionSays("t2", "Ready", "False Removed");
    await place.eventSays("t2", "TargetRemoved");
    // Back with the same content: what was deleted is there again.
    await place.putSource("one");
    await place.holds({ t1: "one", t2: "one" });
    await place.conditionSays("t2", "Ready", "True UpToDate");
  });

  test("and is back in time: with the same content nothing happened, with another it is a new version", async () => {
    await using place = await rotatingNamespace(cluster(), "back");
    await place.startOperator();
    await place.putTargets(["30s", "30s"], { deletionMode: "cascade" });
    await place.putSource("one");
    await place.holds({ t1: "one", t2: "one" });
    using witness = await Witness.of(place);
    await place.deleteSource();
    await place.conditionSays("t1", "Progressing", "False NoSource");
    await place.putSource("one");
    await place.conditionSays("t1", "Progressing", "True Progressing");
    await place.deleteSource();
    await place.conditionSays("t1", "Progressing", "False NoSource");
    const backAtMs = Date.now();
    await place.putSource("two");
    await place.holds({ t1: "two", t2: "one" });
    await witness.caughtUp();
    expect(witness.valuesOf("t1")).toEqual(["two"]);
    expect(witness.valuesOf("t2")).toEqual([]);
    expect(witness.firstOf("t1", "two").appliedAtMs - backAtMs).toBeGreaterThanOrEqual(30_000);
  });

  test("while the operator is down: it is made up for", async () => {
    await using place = await rotatingNamespace(cluster(), "down");
    const operator = await place.startOperator();
    await place.putTarget("t1", { rotationOrder: 1, deletionMode: "keep" });
    await place.putTarget("t2", { rotationOrder: 2, deletionMode: "cascade" });
    await place.putSource("one");
    await place.holds({ t1: "one", t2: "one" });
    await operator.stop();
    await place.deleteSource();
    await place.startOperator();
    await place.holds({ t1: "one", t2: "-" });
  });

  test("and every target with it: the history goes too, and a new source is a fresh start", async () => {
    await using place = await rotatingNamespace(cluster(), "fresh");
    await place.startOperator();
    await place.putTargets(["0s", "0s"], { deletionMode: "cascade" });
    await place.putSource("one");
    await place.holds({ t1: "one", t2: "one" });
    await place.deleteSource();
    await place.holds({ t1: "-", t2: "-" });
    await soon(async () => expect(await place.records()).toEqual([]));
    await place.putSource("other");
    await place.holds({ t1: "other", t2: "other" });
  });
});

test("keys that left the source leave its copies", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "keys");
  await place.startOperator();
  await place.putTargets(["0s"]);
  await place.putSource("one");
  const source = { namespace: place.namespace, name: "key-latest" };
  await cluster().client.mergePatch(Secret, source, { data: { passing: "cGFzc2luZw==" } });
  await soon(async () => expect(Object.keys((await place.get(Secret, "t1"))?.data ?? {})).toEqual(["passing", "someKey"]));
  await cluster().client.mergePatch(Secret, source, { data: { passing: null } });
  await soon(async () => expect(Object.keys((await place.get(Secret, "t1"))?.data ?? {})).toEqual(["someKey"]));
});

describe("the source changes faster than the delays", { concurrent: true }, () => {
  test("what did not stay is never live, and the last one is; what was live is the fallback", async () => {
    await using place = await rotatingNamespace(cluster(), "fast");
    await place.startOperator();
    // Long enough for three changes, each of which is waited for.
    await place.putTargets(["20s", "1s"]);
    await place.putSource("one");
    await place.holds({ t1: "one", t2: "one" });
    using witness = await Witness.of(place);
    for (const value of ["two", "three", "four"]) {
      await place.putSource(value);
      await soon(async () =>
        expect((await place.records()).map(({ metadata }) => metadata.name)).toContain(
          `my-key-${["one", "two", "three", "four"].indexOf(value) + 1}`,
        ),
      );
    }
    const lastAtMs = Date.now();
    await place.holds({ t1: "four", t2: "one" });
    await witness.caughtUp();
    expect(witness.valuesOf("t1")).toEqual(["four"]);
    expect(witness.valuesOf("t2")).toEqual([]);
    // The last change was a moment before it was seen.
    expect(witness.firstOf("t1", "four").appliedAtMs).toBeGreaterThanOrEqual(lastAtMs);
    await soon(async () => expect(await place.records()).toHaveLength(2));
  });

  test("a source that flaps and returns in time causes no write to any target", async () => {
    await using place = await rotatingNamespace(cluster(), "flap");
    await place.startOperator();
    await place.putTargets(["30s", "30s"]);
    await place.putSource("one");
    await place.holds({ t1: "one", t2: "one" });
    const before = [await place.get(Secret, "t1"), await place.get(Secret, "t2")];
    await place.putSource("two");
    await soon(async () => expect((await place.status("t1")).pending?.seq).toBe(2));
    await place.putSource("one");
    await soon(async () => expect((await place.status("t1")).pending).toBeUndefined());
    expect([await place.get(Secret, "t1"), await place.get(Secret, "t2")]).toEqual(before);
  });

  test("Queue passes every version on, each when its delay is over", async () => {
    await using place = await rotatingNamespace(cluster(), "queue");
    await place.startOperator();
    await place.putTargets(["3s", "0s"], { changePolicy: "Queue" });
    await place.putSource("one");
    await place.holds({ t1: "one", t2: "one" });
    using witness = await Witness.of(place);
    const startedAtMs = Date.now();
    for (const [index, value] of ["two", "three", "four"].entries()) {
      await place.putSource(value);
      await soon(async () => expect((await place.records()).some(({ metadata }) => metadata.name === `my-key-${index + 2}`)).toBe(true));
    }
    await place.holds({ t1: "four", t2: "three" });
    await witness.caughtUp();
    expect(witness.valuesOf("t1")).toEqual(["two", "three", "four"]);
    expect(witness.firstOf("t1", "two").appliedAtMs - startedAtMs).toBeGreaterThanOrEqual(3_000);
    witness.expectOrder(["t1", "t2"]);
  });
});
