// The guide's example on a real API server: with delays cut to seconds, everything happens as it says.
import { Secret } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { rotatingNamespace } from "./rotating-namespace.ts";
import { Witness } from "./witness.ts";

const cluster = useSharedCluster();

/** As in the guide, but for hours and minutes cut to seconds. */
const documented = (namespace: string): string => `
apiVersion: v1
kind: Secret
metadata:
  name: key-latest
  namespace: ${namespace}
  annotations:
    rotator.k8s.telekom.com/rotation-set: my-key
    rotator.k8s.telekom.com/source: "true"
data:
  someKey: Zmlyc3Q=
---
# example target 1
apiVersion: rotator.k8s.telekom.com/v1
kind: RotationTarget
metadata:
  name: key-live
  namespace: ${namespace}
spec:
  rotationSet: my-key
  rotationOrder: 1
  rotationDelay: 6s
  deletionMode: keep
---
# example target 2
apiVersion: rotator.k8s.telekom.com/v1
kind: RotationTarget
metadata:
  name: key-fallback
  namespace: ${namespace}
spec:
  rotationSet: my-key
  rotationOrder: 2
  rotationDelay: 1s
  deletionMode: cascade
`;

test(
  "the guide's example: the fallback gets the live content one delay after a change, and live the source's after the other",
  { concurrent: true },
  async () => {
    await using place = await rotatingNamespace(cluster(), "document");
    await place.startOperator();
    using witness = await Witness.of(place);
    await cluster().apply(documented(place.namespace));
    await place.holds({ "key-live": "first", "key-fallback": "first" });
    await place.conditionSays("key-fallback", "Filled", "False InsufficientHistory");

    const secondAtMs = Date.now();
    await place.putSource("second");
    await place.holds({ "key-live": "second", "key-fallback": "first" });
    const thirdAtMs = Date.now();
    await place.putSource("third");
    await place.holds({ "key-live": "third", "key-fallback": "second" });
    await place.conditionSays("key-fallback", "Filled", "True HasOwnVersion");
    await place.conditionSays("key-live", "Ready", "True UpToDate");

    await witness.caughtUp();
    expect(witness.valuesOf("key-live")).toEqual(["first", "second", "third"]);
    expect(witness.valuesOf("key-fallback")).toEqual(["first", "second"]);
    witness.expectOrder(["key-live", "key-fallback"]);
    expect(witness.firstOf("key-live", "second").appliedAtMs).toBeGreaterThanOrEqual(secondAtMs + 6_000);
    expect(witness.firstOf("key-live", "third").appliedAtMs).toBeGreaterThanOrEqual(thirdAtMs + 6_000);
    expect(witness.firstOf("key-fallback", "second").appliedAtMs).toBeGreaterThanOrEqual(thirdAtMs + 1_000);
    expect(witness.firstOf("key-fallback", "second").appliedAtMs).toBeLessThanOrEqual(witness.firstOf("key-live", "third").appliedAtMs);
    // "first" is in no target any more, and so not in the history either.
    await soon(async () => expect(await place.records()).toHaveLength(2));
  },
);

test("a target's object is like the source, and has none of its labels, annotations and owners", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "copies");
  await place.startOperator();
  await cluster().apply(documented(place.namespace));
  const patch = { metadata: { labels: { "argocd.argoproj.io/instance": "shop" }, annotations: { note: "private" } }, type: "Opaque" };
  await cluster().client.mergePatch(Secret, { namespace: place.namespace, name: "key-latest" }, patch);
  await place.holds({ "key-live": "first", "key-fallback": "first" });
  const live = await place.get(Secret, "key-live");
  expect(live?.type).toBe("Opaque");
  expect(live?.data).toEqual({ someKey: "Zmlyc3Q=" });
  expect(Object.keys(live?.metadata.labels ?? {})).toEqual(["app.kubernetes.io/managed-by"]);
  expect(Object.keys(live?.metadata.annotations ?? {})).not.toContain("note");
  expect(Object.keys(live?.metadata.annotations ?? {})).not.toContain("rotator.k8s.telekom.com/source");
  expect(live?.metadata.ownerReferences).toBeUndefined();
});

test("a label does what an annotation does", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "labels");
  await place.startOperator();
  await cluster().apply(documented(place.namespace).replace("  annotations:\n", "  labels:\n"));
  await place.holds({ "key-live": "first", "key-fallback": "first" });
});
