// What can be rotated: Secrets of any type, ConfigMaps, and by a flag any namespaced kind; and what of them is.
import { ConfigMap, crdOf, defineCustomKind, Secret } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import * as z from "zod";
import { rotationSetAnnotation, sourceAnnotation } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { keyturn } from "../../packages/keyturn/src/feature/feature.ts";
import { type RotatingNamespace, rotatingNamespace } from "./rotating-namespace.ts";

const cluster = useSharedCluster();
const sourceMetadata = { [rotationSetAnnotation]: "my-key", [sourceAnnotation]: "true" };

const Widget = defineCustomKind({
  group: "rotated.example",
  kind: "Widget",
  scope: "Namespaced",
  versions: [
    {
      name: "v1",
      spec: z.object({ size: z.int().optional(), colour: z.string().default("red"), parts: z.array(z.string()).optional() }),
      status: z.object({ phase: z.string().optional() }),
    },
  ],
});

/** Creates or changes a source, as its owner would. */
async function put(place: RotatingNamespace, source: object): Promise<void> {
  await cluster().apply({ metadata: { namespace: place.namespace, name: "latest", annotations: sourceMetadata }, ...source });
}

test("a ConfigMap is rotated with its binary data, and nothing of its metadata", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "configmap");
  await place.startOperator();
  await place.putTargets(["0s", "0s"]);
  const source = { apiVersion: "v1", kind: "ConfigMap", data: { text: "one" }, binaryData: { bytes: "AAEC" } };
  await cluster().apply({
    ...source,
    metadata: {
      namespace: place.namespace,
      name: "latest",
      labels: { ...sourceMetadata, "argocd.argoproj.io/instance": "shop" },
      finalizers: ["example.com/hold"],
    },
  });
  const target = await soon(async () => {
    const found = await place.get(ConfigMap, "t1");
    expect(found?.data).toEqual({ text: "one" });
    return found;
  });
  expect(target?.binaryData).toEqual({ bytes: "AAEC" });
  expect(target?.metadata.labels).toEqual({ "app.kubernetes.io/managed-by": keyturn.name });
  expect(target?.metadata.finalizers).toBeUndefined();
  expect(target?.metadata.ownerReferences).toBeUndefined();
  // A key that leaves the source leaves the target too.
  await cluster().kubectl(
    "patch",
    "configmap",
    "latest",
    "-n",
    place.namespace,
    "--type=merge",
    "-p",
    '{"data":{"text":null,"other":"two"},"metadata":{"finalizers":null}}',
  );
  await soon(async () => expect((await place.get(ConfigMap, "t1"))?.data).toEqual({ other: "two" }));
  await soon(async () => expect((await place.get(ConfigMap, "t2"))?.data).toEqual({ text: "one" }));
});

test("a Secret's type goes with it: a target of another type is made anew", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "type");
  await place.startOperator();
  await place.putTargets(["0s"]);
  await put(place, { apiVersion: "v1", kind: "Secret", type: "Opaque", data: { someKey: "b25l" } });
  await place.holds({ t1: "one" });
  const first = await place.get(Secret, "t1");
  await cluster().client.delete(Secret, { namespace: place.namespace, name: "latest" });
  await place.conditionSays("t1", "Ready", "True NoSource");
  await put(place, { apiVersion: "v1", kind: "Secret", type: "kubernetes.io/basic-auth", data: { username: "YQ==", password: "Yg==" } });
  const second = await soon(async () => {
    const found = await place.get(Secret, "t1");
    expect(found?.type).toBe("kubernetes.io/basic-auth");
    return found;
  });
  expect(second?.data).toEqual({ username: "YQ==", password: "Yg==" });
  expect(second?.metadata.uid).not.toBe(first?.metadata.uid);
  expect(await place.eventSays("t1", "VersionRotated")).toBe("version 2 has taken the place of version 1");
});

test("an immutable source makes immutable targets, which are made anew for the next version", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "immutable");
  await place.startOperator();
  await place.putTargets(["0s"]);
  await put(place, { apiVersion: "v1", kind: "ConfigMap", immutable: true, data: { text: "one" } });
  await soon(async () => expect(await place.get(ConfigMap, "t1")).toMatchObject({ immutable: true, data: { text: "one" } }));
  await cluster().client.delete(ConfigMap, { namespace: place.namespace, name: "latest" });
  await put(place, { apiVersion: "v1", kind: "ConfigMap", immutable: true, data: { text: "two" } });
  await soon(async () => expect(await place.get(ConfigMap, "t1")).toMatchObject({ immutable: true, data: { text: "two" } }));
});

test("a custom resource is rotated once its kind is named, with exactly the rights that this adds", { concurrent: true }, async () => {
  await cluster().apply(crdOf(Widget));
  await using place = await rotatingNamespace(cluster(), "custom", { "rotation.kinds": "widgets.v1.rotated.example" });
  await place.startOperator();
  await place.putTargets(["0s", "0s"]);
  await put(place, { apiVersion: "rotated.example/v1", kind: "Widget", spec: { size: 1, parts: ["a", "b"] } });
  await soon(async () => expect((await place.get(Widget, "t1"))?.spec).toEqual({ size: 1, colour: "red", parts: ["a", "b"] }));
  // Not by kubectl: it may hear of a new group later than everybody else.
  const patch = (name: string, change: object, options = {}): Promise<unknown> =>
    cluster().client.mergePatch(Widget, { namespace: place.namespace, name }, change, options);
  await patch("t1", { status: { phase: "Busy" } }, { subresource: "status" });
  await patch("latest", { spec: { size: 2, parts: ["c"] } });
  await soon(async () =>
    expect(await place.get(Widget, "t1")).toMatchObject({ spec: { size: 2, colour: "red", parts: ["c"] }, status: { phase: "Busy" } }),
  );
  await soon(async () => expect((await place.get(Widget, "t2"))?.spec).toEqual({ size: 1, colour: "red", parts: ["a", "b"] }));
  // Drift of a custom resource is repaired too; what the server adds by itself is none.
  await patch("t2", { spec: { size: 7 } });
  await soon(async () => expect((await place.get(Widget, "t2"))?.spec?.size).toBe(1));
});

test("a source may be known by labels, and the paths say what is watched and what is rotated", { concurrent: true }, async () => {
  await using place = await rotatingNamespace(cluster(), "paths");
  await place.startOperator();
  await place.putTargets(["0s"], { targetName: "current" });
  const metadata = {
    namespace: place.namespace,
    name: "latest",
    labels: sourceMetadata,
    annotations: { "rotator.k8s.telekom.com/watch-path": ".data['tls.crt']", "rotator.k8s.telekom.com/rotate-path": ".data" },
  };
  const source = { apiVersion: "v1", kind: "Secret", metadata };
  await put(place, { ...source, data: { "tls.crt": "YQ==", "tls.key": "Yg==" } });
  await soon(async () => expect((await place.get(Secret, "current"))?.data).toEqual({ "tls.crt": "YQ==", "tls.key": "Yg==" }));
  // Not watched: no version.
  await put(place, { ...source, data: { "tls.crt": "YQ==", "tls.key": "Yw==" } });
  await put(place, { ...source, data: { "tls.crt": "ZA==", "tls.key": "ZQ==" } });
  await soon(async () => expect((await place.get(Secret, "current"))?.data).toEqual({ "tls.crt": "ZA==", "tls.key": "ZQ==" }));
  await soon(async () => expect((await place.status("t1")).currentVersion?.seq).toBe(2));
  expect((await place.records()).map(({ metadata }) => metadata.name)).toEqual(["my-key-2"]);
});
