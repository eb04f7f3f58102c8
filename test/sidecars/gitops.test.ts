// What is in Git is applied again and again: the annotation of a restart stays, and nothing is rolled out twice.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Deployment } from "@keyturn/runtime";
import { soon, temporaryFolder, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { meshNamespace } from "./mesh-namespace.ts";

const cluster = useSharedCluster();
const newImage = "docker.io/istio/proxyv2:1.27.0";

test.each([
  ["server-side apply with force, as Flux does it", ["apply", "--server-side", "--force-conflicts", "--field-manager=kustomize-controller"]],
  ["client-side apply, as Argo CD does it by default", ["apply"]],
])("%s", async (_, apply) => {
  await using place = await meshNamespace(cluster(), "gitops");
  const file = join(await temporaryFolder(), "web.json");
  const inGit = (replicas: number): string =>
    JSON.stringify({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { namespace: place.namespace, name: "web", labels: { app: "web" } },
      spec: {
        replicas,
        selector: { matchLabels: { app: "web" } },
        template: {
          metadata: { labels: { app: "web" }, annotations: { "example.com/config": "1" } },
          spec: { containers: [{ name: "app", image: "example.com/app:1" }] },
        },
      },
    });
  const sync = async (replicas: number): Promise<void> => {
    await writeFile(file, inGit(replicas));
    await cluster().kubectl(...apply, "-f", file);
    await soon(async () => expect(await place.isRolledOut(Deployment, "web")).toBe(true));
  };
  await sync(1);
  await place.startOperator();
  await place.upgrade({ tag: "1.27.0" });
  await place.hasSidecar(Deployment, "web", newImage);
  const restartedAt = await place.restartedAt(Deployment, "web");
  const pods = (await place.pods("web")).map(({ metadata }) => metadata.uid);

  await sync(1);
  expect(await place.restartedAt(Deployment, "web")).toBe(restartedAt);
  await sync(2);
  expect(await place.restartedAt(Deployment, "web")).toBe(restartedAt);
  // The pod of before is still there: a change of something else has rolled nothing out.
  expect((await place.pods("web")).map(({ metadata }) => metadata.uid)).toEqual(expect.arrayContaining(pods));
});
