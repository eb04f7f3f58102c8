// Marks that somebody else has written: they move, delete and rewrite nothing.
import { ConfigMap, type Kind, type KubeObject, Secret, type Stored } from "@keyturn/runtime";
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { digestOf, storedContent } from "../../packages/keyturn/src/controllers/rotation/content.ts";
import { rotatingNamespace, type RotatingNamespace, soon } from "./rotating-namespace.ts";

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

/** All that must stay as it is: the targets' objects and the records to the byte, and which versions the statuses tell of. */
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
  const generations = new Map<string, number | undefined>();
  for (const [index, name] of targets.entries()) {
    await place.putTarget(name, { rotationOrder: index + 1, rotationDelay: "25h" });
    generations.set(name, (await place.get<KubeObject>(RotationTarget, name))?.metadata.generation);
  }
  const { adminKubeconfig } = cluster();
  await place.startOperator({ kubeconfig: adminKubeconfig, namespaces: [place.namespace, other] });
  for (const [name, generation] of generations) await soon(async () => expect((await place.status(name)).observedGeneration).toBe(generation));
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

test.each<readonly [string, "another" | "the same", Forgery]>([
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
