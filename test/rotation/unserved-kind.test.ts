// A kind of --rotation.kinds whose CRD is not installed: the others are rotated without it, and it joins and leaves by itself.
import { crdOf, defineCustomKind, resourceOf } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import * as z from "zod";
import { rotationSetAnnotation, sourceAnnotation } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { type RotatingNamespace, rotatingNamespace } from "./rotating-namespace.ts";

const cluster = useSharedCluster();
const Gear = defineCustomKind({
  group: "unserved.example",
  kind: "Gear",
  scope: "Namespaced",
  versions: [{ name: "v1", spec: z.object({ teeth: z.int().optional() }) }],
});
const resource = resourceOf(Gear);

/** Makes a Gear the source of a set with one target, both of the set's name. */
async function putGears(place: RotatingNamespace, set: string, teeth: number): Promise<void> {
  const { namespace } = place;
  await place.putTarget(set, { rotationSet: set, rotationOrder: 1, rotationDelay: "0s" });
  const annotations = { [rotationSetAnnotation]: set, [sourceAnnotation]: "true" };
  const gear = { apiVersion: "unserved.example/v1", kind: "Gear", metadata: { namespace, name: `${set}-latest`, annotations }, spec: { teeth } };
  await cluster().apply(gear);
}

test("the other kinds are rotated while a CRD is missing; it is rotated when it appears; and without it again when it goes", async () => {
  await using place = await rotatingNamespace(cluster(), "unserved", { "rotation.kinds": "gears.v1.unserved.example" });
  const operator = await place.startOperator();
  const state = (): string | undefined => operator.started.controllers()[0]?.state;
  const stateIs = (wanted: string): Promise<void> => soon(async () => expect(state()).toBe(wanted));

  // Missing: Secrets are rotated all the same, and what is missing is reported.
  await place.putTargets(["0s"]);
  await place.putSource("one");
  await place.holds({ t1: "one" });
  await stateIs(`active, without ${resource}`);
  await soon(async () => {
    expect(await operator.metrics()).toContain(`runtime_watch_state{resource="${resource}",namespace="${place.namespace}",state="missing"} 1`);
    const { status, text } = await operator.readyz();
    expect(status).toBe(200);
    expect(text).toContain(`[~] watch ${resource} in ${place.namespace}: the API server does not serve this kind; install its CRD`);
  });
  const logged = expect.objectContaining({ msg: "controller state", state: `active, without ${resource}` });
  await soon(async () => expect(operator.logLines).toContainEqual(logged));

  // Appears: it is rotated without anybody doing anything.
  await cluster().apply(crdOf(Gear));
  await putGears(place, "small", 12);
  await soon(async () => expect((await place.get(Gear, "small"))?.spec).toEqual({ teeth: 12 }));
  await stateIs("active");

  // Goes: Secrets go on.
  await cluster().kubectl("delete", "crd", resource);
  await stateIs(`active, without ${resource}`);
  await place.putSource("two");
  await place.holds({ t1: "two" });

  // Comes back: it is rotated again. A target that was refused while the CRD was going has to wait for its next try, so this is another one.
  await cluster().apply(crdOf(Gear));
  await putGears(place, "large", 48);
  await soon(async () => expect((await place.get(Gear, "large"))?.spec).toEqual({ teeth: 48 }));
  await stateIs("active");
  await cluster().kubectl("delete", "crd", resource);
});
