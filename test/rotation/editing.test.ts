// A set that is edited while it rotates, on a real API server: nothing is early, nothing is lost, and what keeps it from moving shows.
import { setTimeout as wait } from "node:timers/promises";
import { Secret } from "@keyturn/runtime";
import { answerWith, startFaultProxy } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { type RotatingNamespace, rotatingNamespace } from "./rotating-namespace.ts";
import { Witness } from "./witness.ts";

const cluster = useSharedCluster();
/** The first delay is longer than any two edits are apart. */
const [live, fallback] = [
  { rotationOrder: 1, rotationDelay: "20s" },
  { rotationOrder: 2, rotationDelay: "2s" },
];

/** Two targets that hold two and one. */
async function rotated(place: RotatingNamespace, { kubeconfig = place.kubeconfig, elects = true } = {}): Promise<void> {
  await place.putTarget("t1", live);
  await place.putTarget("t2", fallback);
  await place.putSource("one");
  await place.startOperator({ kubeconfig, elects });
  await place.holds({ t1: "one", t2: "one" });
  await place.putSource("two");
  await place.holds({ t1: "two", t2: "one" });
  // The log is noted after the targets are written.
  await place.says({ t1: 2, t2: 1 });
}

async function replaceTarget(place: RotatingNamespace, name: string, spec: Readonly<Record<string, unknown>>): Promise<void> {
  await cluster().client.delete(RotationTarget, { namespace: place.namespace, name });
  await place.putTarget(name, spec);
}

test("a first target that is deleted and made again gets nothing early, and what was live stays", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "replaced");
  await rotated(place);
  using witness = await Witness.of(place);
  const fromMs = Date.now();
  await place.putSource("three");
  await replaceTarget(place, "t1", live);
  await place.holds({ t1: "three", t2: "two" });
  await witness.caughtUp();
  expect(witness.firstOf("t1", "three").appliedAtMs - fromMs).toBeGreaterThanOrEqual(19_000);
  expect(witness.valuesOf("t2")).toEqual(["two"]);
});

test("a record that is deleted is made again, and the live version is not lost at the next rotation", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "lost-record");
  await rotated(place);
  await cluster().client.delete(Secret, { namespace: place.namespace, name: "my-key-2" });
  await place.putSource("three");
  await place.holds({ t1: "three", t2: "two" });
});

test("renumbering one by one, and a stage in front, drop nothing; meanwhile the set says that it was changed", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "renumbered");
  await rotated(place);
  using witness = await Witness.of(place);
  await place.putTarget("t1", { ...live, rotationOrder: 2 });
  await place.conditionSays("t2", "Ready", "True SetChanged");
  await place.putTarget("t2", { ...fallback, rotationOrder: 3 });
  await place.putTarget("canary", { rotationOrder: 1, rotationDelay: "21s" });
  await place.holds({ canary: "two", t1: "two", t2: "one" });
  await place.conditionSays("t2", "Ready", "True UpToDate");
  expect(await place.held("t2")).toBe("one");
  await witness.caughtUp();
  expect(witness.valuesOf("t2").filter((value) => value !== "one")).toEqual([]);
});

test("content that is nowhere stops the set, which goes on when it is given up", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "lost-version");
  await rotated(place);
  await place.putSource("three");
  await place.holds({ t1: "three", t2: "two" });
  const [operator] = place.operators;
  await operator?.stop();
  await cluster().client.delete(Secret, { namespace: place.namespace, name: "t2" });
  await cluster().client.delete(Secret, { namespace: place.namespace, name: "my-key-2" });
  await place.startOperator();
  expect(await place.conditionSays("t1", "Ready", "False VersionLost")).toContain("keyturn.io/give-up-versions");
  expect([await place.held("t1"), await place.held("t2")]).toEqual(["three", "-"]);
  await cluster().kubectl("annotate", "rotationtarget", "t1", "keyturn.io/give-up-versions=2", "-n", place.namespace);
  await place.holds({ t1: "three", t2: "three" });
});

test.concurrent.each([
  ["cannot read it", { path: /secrets\/key-latest/, write: false, watch: false }],
  ["cannot reach the API server", {}],
])("a source that is another for a while, when the operator %s, begins its delay anew", async (_, scope) => {
  await using place = await rotatingNamespace(cluster(), "unseen");
  await using proxy = await startFaultProxy(cluster());
  // It could not keep its Lease.
  await rotated(place, { kubeconfig: proxy.through(place.kubeconfig), elects: false });
  await place.putSource("three");
  await soon(async () => expect((await place.status("t1")).pending?.seq).toBe(3));
  const first = (await place.status("t1")).pending?.notBefore ?? "";
  using fault = proxy.inject(answerWith({ status: 503 }, scope));
  proxy.cut(scope);
  await place.putSource("four");
  // Until it is past what could be the resolution of times.
  await wait(4000);
  const backMs = Date.now();
  await place.putSource("three");
  fault.remove();
  using witness = await Witness.of(place);
  await soon(async () => expect(Date.parse((await place.status("t1")).pending?.notBefore ?? first)).toBeGreaterThan(Date.parse(first)));
  await place.holds({ t1: "three", t2: "two" });
  await witness.caughtUp();
  expect(witness.firstOf("t1", "three").appliedAtMs - backMs).toBeGreaterThanOrEqual(19_000);
});
