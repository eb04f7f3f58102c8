// Pausing and selecting: what rotates leaves paused targets, paused sources and the sets of others as they are.
import { Secret } from "@keyturn/runtime";
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { rotatingNamespace } from "../rotation/rotating-namespace.ts";

const cluster = useSharedCluster();
const paused = "keyturn.io/paused";

test("a paused target keeps what it holds, is not repaired either, and catches up", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "paused");
  const annotate = (text: string): Promise<string> => cluster().kubectl("annotate", "rotationtarget", "t2", text, "-n", place.namespace);
  await place.startOperator();
  await place.putSource("v1");
  await place.putTargets(["0s", "0s"]);
  await place.holds({ t1: "v1", t2: "v1" });
  await annotate(`${paused}=true`);
  expect(await place.conditionSays("t2", "Ready", "True Paused")).toContain(paused);
  expect(await place.eventSays("t2", "Paused")).toContain(paused);
  await cluster().client.delete(Secret, { namespace: place.namespace, name: "t2" });
  await place.putSource("v2");
  await place.holds({ t1: "v2", t2: "-" });
  await annotate(`${paused}-`);
  await place.holds({ t1: "v2", t2: "v1" });
  await place.conditionSays("t2", "Ready", "True UpToDate");
});

test("a paused source stops its set; on resuming, what it is then counts", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "paused-source");
  await place.startOperator();
  await place.putSource("v1");
  await place.putTargets(["0s", "0s"]);
  await place.holds({ t1: "v1", t2: "v1" });
  await place.putSource("v2", { [paused]: "true" });
  expect(await place.conditionSays("t1", "Ready", "True Paused")).toContain("secrets/key-latest");
  await place.putSource("v3", { [paused]: "true" });
  // What targets hold is still looked after: this repair comes after the change of the source has been seen.
  await cluster().client.delete(Secret, { namespace: place.namespace, name: "t1" });
  await place.holds({ t1: "v1", t2: "v1" });
  await place.putSource("v3", { [paused]: "false" });
  await place.holds({ t1: "v3", t2: "v1" });
  await place.conditionSays("t1", "Ready", "True UpToDate");
});

test("a set is rotated when all of its targets are selected, and otherwise left as it is", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "selected", { selector: "team=a" });
  const label = (name: string, text: string): Promise<string> => cluster().kubectl("label", "rotationtarget", name, text, "-n", place.namespace);
  await place.putSource("v1");
  await place.putTargets(["0s", "0s"]);
  await label("t1", "team=a");
  await place.startOperator();
  expect(await place.conditionSays("t1", "Ready", "False NotSelected")).toContain("t2");
  expect(await place.status("t2")).toEqual({});
  await label("t2", "team=a");
  await place.holds({ t1: "v1", t2: "v1" });
  await place.conditionSays("t2", "Ready", "True UpToDate");
  const before = await place.records();

  await label("t2", "team-");
  await place.conditionSays("t1", "Ready", "False NotSelected");
  await place.putSource("v2");
  await place.holds({ t1: "v1", t2: "v1" });
  expect((await place.records()).map(({ metadata }) => metadata.name)).toEqual(before.map(({ metadata }) => metadata.name));
  expect(await place.condition("t2", "Ready")).toMatchObject({ reason: "UpToDate" });
  await label("t2", "team=a");
  await place.holds({ t1: "v2", t2: "v1" });
});
