// `keyturn plan sidecars`: the operator's plan, made with a person's own rights, without an operator.
import { Deployment, Lease, StatefulSet } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { sidecarsFeature } from "../../packages/keyturn/src/controllers/sidecars/feature.ts";
import type { Flag } from "../../packages/keyturn/src/feature/flag.ts";
import { consentLabel } from "../../packages/keyturn/src/controllers/sidecars/labels.ts";
import { restartedAtAnnotation, rolloutLabel, rolloutLabelValue } from "../../packages/keyturn/src/workloads/annotations.ts";
import { meshNamespace } from "./mesh-namespace.ts";

const cluster = useSharedCluster();

test("says what would be restarted, what waits for what, and what is left alone", async () => {
  await using place = await meshNamespace(cluster(), "plan");
  await Promise.all([
    place.put(Deployment, "a"),
    place.put(Deployment, "b", { labels: { [consentLabel]: "disabled" } }),
    place.put(StatefulSet, "c", { replicas: 1 }),
  ]);
  const query = { client: cluster().client, namespace: place.namespace, nowMs: Date.now(), signal: new AbortController().signal };
  const report = () => {
    const given: Readonly<Record<string, string>> = { "sidecars.max-rollouts": "1", "operator-namespace": place.istiod.settings.namespace };
    const asked = { name: "", allNamespaces: false, flag: <T>(flag: Flag<T>) => flag.parse(given[flag.name]) };
    return sidecarsFeature.queries?.plan?.answer(query, asked) ?? Promise.reject(new Error("sidecars plan nothing"));
  };
  expect((await report()).text).toBe("every pod has the sidecar that a new one would get");

  await place.upgrade({ tag: "1.27.0" });
  const { text, data } = await report();
  const { namespace } = place;
  expect(data).toMatchObject({
    workloads: [
      { kind: "Deployment", namespace, name: "a", decision: "restart", outdated: "ImageDiffers" },
      { kind: "Deployment", namespace, name: "b", decision: "skip", reason: "OptedOut" },
      { kind: "StatefulSet", namespace, name: "c", decision: "wait", reason: "RolloutLimit" },
    ],
  });
  expect(text.split("\n").map((line) => line.split(/ {3,}/).slice(1, 3))).toEqual([
    ["WORKLOAD", "DECISION"],
    ["deployment/a", "restart"],
    ["deployment/b", "leave: restarts are disabled by label"],
    ["statefulset/c", "wait: RolloutLimit"],
  ]);
  expect(text).toMatch(/pod c-0 has the sidecar docker.io\/istio\/proxyv2:1.26.0; a new pod would get docker.io\/istio\/proxyv2:1.27.0/);
  expect(await place.restartedAt(Deployment, "a")).toBeUndefined();
});

test("says what the operator says, which goes by what it remembers and not by what is written on workloads", async () => {
  await using place = await meshNamespace(cluster(), "recalled");
  const { client } = cluster();
  const { namespace } = place;
  await Promise.all(["a", "b"].map((name) => place.put(Deployment, name, { replicas: 1 })));
  await place.upgrade({ tag: "1.27.0" });
  const template = { metadata: { annotations: { [restartedAtAnnotation]: "2020-01-01T00:00:00Z" } } };
  const forged = {
    metadata: { labels: { [rolloutLabel]: rolloutLabelValue } },
    spec: { minReadySeconds: 600, progressDeadlineSeconds: 900, template },
  };
  await client.mergePatch(Deployment, { namespace, name: "a" }, forged);
  await soon(async () => expect(await place.isRolledOut(Deployment, "a")).toBe(false));
  const operatorNamespace = place.istiod.settings.namespace;
  const report = async (given: Readonly<Record<string, string>>) => {
    const query = { client, namespace, nowMs: Date.now(), signal: new AbortController().signal };
    const asked = { name: "", allNamespaces: false, flag: <T>(flag: Flag<T>) => flag.parse(given[flag.name]) };
    return sidecarsFeature.queries?.plan?.answer(query, asked);
  };
  const of = (decision: object) => ({
    workloads: [
      { name: "a", decision: "rolling" },
      { name: "b", ...decision },
    ],
  });
  // Without anything remembered, a label is somebody else's.
  const known = await report({ "operator-namespace": operatorNamespace });
  expect(known?.data).toMatchObject({ remembered: true, ...of({ decision: "restart" }) });
  // Whose is believed, if there are several? Nobody's.
  for (const place of [namespace, operatorNamespace]) await client.create(Lease, { metadata: { namespace: place, name: "keyturn-restarts" } });
  const unknown = await report({});
  expect(unknown?.data).toMatchObject({ remembered: false, ...of({ decision: "wait", reason: "RolloutStuck" }) });
  expect(unknown?.text).toContain("name its namespace with --operator-namespace");
});
