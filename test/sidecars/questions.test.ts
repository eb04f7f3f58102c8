// How much istiod is asked: once per template and configuration, and not because of noise.
import { ConfigMap, Deployment, Namespace } from "@keyturn/runtime";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { everything } from "@keyturn/runtime/testing";
import { expect, test } from "vitest";
import { meshNamespace, metric } from "./mesh-namespace.ts";

// A cluster of its own: the webhooks of other tests are configurations too.
const cluster = useCluster(everything);
const newImage = "docker.io/istio/proxyv2:1.27.0";

test("one question per template and configuration, however many pods there are, and one more before a restart", async () => {
  await using place = await meshNamespace(cluster(), "questions");
  await Promise.all([place.put(Deployment, "a", { replicas: 5 }), place.put(Deployment, "b", { replicas: 5 })]);
  const operator = await place.startOperator();
  await soon(() => expect(place.questions).toHaveLength(2));
  await place.upgrade({ tag: "1.27.0" });
  await place.hasSidecar(Deployment, "a", newImage);
  await place.hasSidecar(Deployment, "b", newImage);
  // Not again for the restarted template, which differs only in when it was restarted.
  await soon(async () => expect(await metric(operator, "keyturn_sidecars_rolling_workloads")).toBe(0));
  // Each of two was asked about, after the upgrade and before its restart by us, and then by the API server.
  expect(place.questions).toHaveLength(8);

  // Nor because of what changes nothing.
  const { client } = cluster();
  const { namespace } = place;
  const configMap = place.istiod.configMap();
  const name = configMap.metadata.name ?? "";
  await client.mergePatch(Namespace, { name: namespace }, { metadata: { annotations: { note: "1" }, labels: { team: "shop" } } });
  await client.mergePatch(ConfigMap, { namespace: place.istiod.settings.namespace, name }, { metadata: { annotations: { note: "1" } } });
  await cluster().kubectl("-n", namespace, "scale", "deployment", "a", "--replicas=7");
  await place.hasSidecar(Deployment, "a", newImage);
  await place.put(Deployment, "c");
  await soon(() => expect(place.questions).toHaveLength(9));
  expect(place.questions.map(({ pod }) => pod.metadata.labels?.["app"])).toEqual(expect.arrayContaining(["a", "b", "c"]));
});

test("the whole sidecar is compared if that is asked for", async () => {
  await using place = await meshNamespace(cluster(), "whole");
  await place.put(Deployment, "web", { replicas: 1 });
  const images = await place.startOperator();
  await soon(() => expect(place.questions).toHaveLength(1));
  await place.upgrade({ resources: { requests: { cpu: "200m" } } });
  await soon(() => expect(place.questions).toHaveLength(2));
  await soon(async () => expect(await metric(images, "keyturn_sidecars_rolling_workloads")).toBe(0));
  expect(await place.restartedAt(Deployment, "web")).toBeUndefined();
  await images.stop();
  await place.startOperator({ "sidecars.compare-whole": "true" });
  expect(await place.eventSays("web", "SidecarRestart")).toContain("resources");
});

test("what istiod no longer asks to change when it is asked once more, and the log says so", async () => {
  await using place = await meshNamespace(cluster(), "changed-mind");
  await Promise.all(["a", "b"].map((name) => place.put(Deployment, name, { replicas: 1 })));
  const operator = await place.startOperator({ "sidecars.restart-delay": "30s" });
  await place.upgrade({ tag: "1.27.0" });
  await soon(async () => expect(await place.restartedAt(Deployment, "a")).toBeDefined());
  // Without a change of its ConfigMap, by which everybody would be asked anew.
  place.istiod.configure({ tag: "1.26.0" });
  await soon(() =>
    expect(operator.logLines).toContainEqual(
      expect.objectContaining({
        level: "info",
        msg: "not restarted: on a last look there is no reason for it any more",
        workload: `Deployment/${place.namespace}/b`,
      }),
    ),
  );
  expect(await place.restartedAt(Deployment, "b")).toBeUndefined();
});
