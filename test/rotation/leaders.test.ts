// Two operators that both believe to lead, and a standby whose caches are behind: neither does harm.
import { startFaultProxy } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { rotatingNamespace } from "./rotating-namespace.ts";
import { Witness } from "./witness.ts";

const cluster = useSharedCluster();

test("two leaders at once: every version is recorded once, and every target gets each in its turn", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "leaders");
  await place.startOperator({ elects: false });
  await place.startOperator({ elects: false });
  using witness = await Witness.of(place);
  await place.putTargets(["1s", "1s", "0s"]);
  const values = Array.from({ length: 6 }, (_, index) => `v${index}`);
  for (const value of values) {
    await place.putSource(value);
    await place.holds({ t1: value });
  }
  await place.holds({ t1: "v5", t2: "v4", t3: "v3" });
  await soon(async () => expect((await place.records()).map(({ metadata }) => metadata.name)).toEqual(["my-key-4", "my-key-5", "my-key-6"]));
  await witness.caughtUp();
  expect(witness.valuesOf("t1")).toEqual(values);
  expect(witness.valuesOf("t2")).toEqual(values.slice(0, -1));
  expect(witness.valuesOf("t3")).toEqual(values.slice(0, -2));
  witness.expectOrder(["t1", "t2", "t3"]);
});

test("a standby that has seen nothing for a while takes over, and believes its caches in nothing", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "standby");
  await using proxy = await startFaultProxy(cluster());
  const leader = await place.startOperator({ elects: false });
  // Long enough for all that happens before "two" is due.
  await place.putTargets(["30s", "0s"]);
  await place.seen("t1", "t2");
  await place.putSource("one");
  await place.holds({ t1: "one", t2: "one" });
  // What is looked at below is counted: the leader has done what it has to do.
  await place.says({ t1: 1, t2: 1 });
  const standby = await place.startOperator({ elects: false, kubeconfig: proxy.through(place.kubeconfig) });
  const cachedSecrets = (): number | undefined => standby.started.watches().find(({ resource, synced }) => resource === "secrets" && synced)?.objects;
  const looked = (): number => proxy.requests({ path: /\/secrets\/key-latest/ }).length;
  // The source, a record, two targets and the key of the installation; then the record of "two" as well.
  await soon(() => expect([cachedSecrets(), looked()]).toEqual([5, 1]));
  await place.putSource("two");
  await soon(async () => expect((await place.status("t1")).pending?.seq).toBe(2));
  await soon(() => expect(cachedSecrets()).toBe(6));
  await soon(() => expect(looked()).toBeGreaterThan(1));
  using witness = await Witness.of(place);

  // It goes on believing that the source is "two", which becomes due; it hears neither of the change nor of what the leader does about it.
  await soon(() => expect(proxy.underWay({ path: /\/secrets\?/, watch: true })).toBeGreaterThan(0));
  const stalled = proxy.stall({ path: /\/secrets\?/, watch: true });
  const before = looked();
  await place.putSource("three");
  await soon(async () => expect((await place.status("t1")).pending?.seq).toBe(3));
  await leader.stop();
  await soon(() => expect(looked()).toBeGreaterThan(before));
  expect(await place.held("t1")).toBe("one");
  stalled.undo();
  await place.holds({ t1: "three", t2: "one" });
  await witness.caughtUp();
  expect(witness.valuesOf("t1")).toEqual(["three"]);
  witness.expectOrder(["t1", "t2"]);
});
