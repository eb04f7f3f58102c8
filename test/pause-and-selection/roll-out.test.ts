// Pausing and selecting: paused workloads and those of others are not restarted.
import { Deployment } from "@keyturn/runtime";
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { meshNamespace } from "../sidecars/mesh-namespace.ts";

const cluster = useSharedCluster();
const [oldImage, newImage] = ["docker.io/istio/proxyv2:1.26.0", "docker.io/istio/proxyv2:1.27.0"];

test("a paused workload is restarted when it is resumed", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "held");
  const annotate = (text: string): Promise<string> => cluster().kubectl("annotate", "deployment", "held", text, "-n", place.namespace);
  await Promise.all([place.put(Deployment, "held"), place.put(Deployment, "web")]);
  await annotate("keyturn.io/paused=true");
  await place.startOperator();
  await place.upgrade({ tag: "1.27.0" });
  await place.hasSidecar(Deployment, "web", newImage);
  expect(await place.eventSays("held", "Paused")).toContain("keyturn.io/paused");
  expect(await place.sidecars("held")).toEqual([oldImage]);
  expect(await place.restartedAt(Deployment, "held")).toBeUndefined();
  await annotate("keyturn.io/paused-");
  await place.hasSidecar(Deployment, "held", newImage);
});

test("with a selector, others are neither restarted nor told about", { concurrent: true }, async () => {
  await using place = await meshNamespace(cluster(), "chosen");
  await Promise.all([place.put(Deployment, "ours", { labels: { team: "a" } }), place.put(Deployment, "theirs")]);
  await place.startOperator({ selector: "team=a" });
  await place.upgrade({ tag: "1.27.0" });
  await place.hasSidecar(Deployment, "ours", newImage);
  expect(await place.sidecars("theirs")).toEqual([oldImage]);
  expect(await place.events("theirs")).toEqual([]);
  await cluster().kubectl("label", "deployment", "theirs", "team=a", "-n", place.namespace);
  await place.hasSidecar(Deployment, "theirs", newImage);
});
