// The local cluster: several at once, faults of its servers, kubeconfigs with exact rights.
import { X509Certificate } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { ConfigMap, createClient, createHttpTransport, Deployment, loadConfig, Pod, Secret } from "@keyturn/runtime";
import { startCluster, withWatchList } from "@keyturn/runtime/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { soon, useCluster, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { isRunning } from "../../src/testing/cluster/server-process.ts";
import { clientOf } from "./kubeconfig-client.ts";

const configMap = (name: string, value: string): ConfigMap => ({ metadata: { namespace: "default", name }, data: { value } });

describe("clusters side by side", () => {
  it("know nothing of each other and leave nothing behind", async () => {
    const [one, two] = await Promise.all([startCluster(), startCluster()]);
    const pids = [one, two].flatMap(({ servers }) => servers.map(({ pid }) => pid ?? 0));
    expect(pids.every(isRunning)).toBe(true);
    expect(new Set([one.url, two.url]).size).toBe(2);
    await one.client.create(ConfigMap, configMap("whose", "one"));
    await two.client.create(ConfigMap, configMap("whose", "two"));
    expect((await one.client.get(ConfigMap, { namespace: "default", name: "whose" }))?.data).toEqual({ value: "one" });
    expect(one.ca).not.toBe(two.ca);
    const withTheOtherCa = createClient(
      createHttpTransport({ ...(await loadConfig({ kubeconfig: one.adminKubeconfig, env: {} })), server: two.url }),
    );
    await expect(withTheOtherCa.create(ConfigMap, configMap("x", "y"))).rejects.toMatchObject({ code: "Connection" });
    await Promise.all([one.stop(), two.stop()]);
    expect(pids.some(isRunning)).toBe(false);
    expect(existsSync(one.folder) || existsSync(two.folder)).toBe(false);
  });
});

describe("a cluster", () => {
  const cluster = useCluster(withWatchList);
  const whole = { namespace: "default", name: "kept" };

  it("keeps its files to its owner", () => {
    expect(statSync(cluster().folder).mode & 0o077).toBe(0);
    expect(statSync(cluster().adminKubeconfig).mode & 0o077).toBe(0);
    expect(new X509Certificate(cluster().ca).ca).toBe(true);
  });

  it("keeps data and address when its API server is stopped, and when it is killed", async () => {
    const { apiServer, client } = cluster();
    onTestFinished(() => apiServer.start());
    const { metadata } = await client.create(ConfigMap, configMap("kept", "api server"));
    for (const end of [() => apiServer.stop(), () => apiServer.kill()]) {
      const before = apiServer.pid;
      await end();
      expect(apiServer.pid).toBeUndefined();
      await expect(client.create(ConfigMap, configMap("lost", "x"))).rejects.toMatchObject({ code: "Connection" });
      await apiServer.start();
      expect(apiServer.pid).not.toBe(before);
      expect((await client.get(ConfigMap, whole))?.metadata).toMatchObject({ uid: metadata.uid, resourceVersion: metadata.resourceVersion });
    }
    expect(await apiServer.logs(5)).not.toBe("");
  });

  it("keeps data when etcd is stopped, and when it is killed", async () => {
    const { etcd, client } = cluster();
    onTestFinished(() => etcd.start());
    await client.apply(ConfigMap, configMap("kept", "etcd"), { fieldManager: "test", force: true });
    for (const end of [() => etcd.stop(), () => etcd.kill()]) {
      await end();
      expect(etcd.pid).toBeUndefined();
      await etcd.start();
      await soon(async () => expect((await client.get(ConfigMap, whole))?.data).toEqual({ value: "etcd" }));
    }
  });

  it("answers nothing while its API server is paused, and goes on after", async () => {
    const { apiServer, client } = cluster();
    await apiServer.pause();
    const path = "/api/v1/namespaces/default/configmaps/kept";
    try {
      await expect(client.request({ method: "GET", path, timeoutMs: 300 })).rejects.toMatchObject({ code: "Connection" });
    } finally {
      apiServer.resume();
    }
    await soon(() => client.request({ method: "GET", path }));
  });

  it("gives a ServiceAccount exactly the rights asked for", async () => {
    const kubeconfig = await cluster().kubeconfigFor({
      serviceAccount: { namespace: "team-a", name: "robot" },
      rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] }],
      namespacedRules: { "team-a": [{ apiGroups: [""], resources: ["secrets"], verbs: ["create"] }] },
    });
    expect(statSync(kubeconfig).mode & 0o077).toBe(0);
    const robot = await clientOf(kubeconfig);
    expect((await robot.list(ConfigMap)).items.length).toBeGreaterThan(0);
    await robot.create(Secret, { metadata: { namespace: "team-a", name: "made" } });
    await expect(robot.create(Secret, { metadata: { namespace: "default", name: "made" } })).rejects.toMatchObject({ code: "Forbidden" });
    await expect(robot.get(Secret, { namespace: "team-a", name: "made" })).rejects.toMatchObject({
      code: "Forbidden",
      message: expect.stringContaining('User "system:serviceaccount:team-a:robot" cannot get resource "secrets"'),
    });
    await expect(robot.create(ConfigMap, configMap("x", "y"))).rejects.toMatchObject({ code: "Forbidden" });
  });

  it("gives a user with a client certificate exactly the rights asked for", async () => {
    const kubeconfig = await cluster().kubeconfigFor({
      user: "jane@example.org",
      groups: ["dev"],
      rules: [{ apiGroups: [""], resources: ["configmaps"], resourceNames: ["kept"], verbs: ["get"] }],
    });
    const jane = await clientOf(kubeconfig);
    expect(await jane.get(ConfigMap, whole)).toBeDefined();
    await expect(jane.get(ConfigMap, { ...whole, name: "other" })).rejects.toMatchObject({ code: "Forbidden" });
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    const answer = await jane.request({ method: "POST", path, headers: { "content-type": "application/json" }, body: JSON.stringify(review) });
    expect(answer).toMatchObject({ status: { userInfo: { username: "jane@example.org", groups: ["dev", "system:authenticated"] } } });
  });

  it("applies YAML of kinds that the same YAML defines", async () => {
    const stored = await cluster().apply(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.org }
spec:
  group: example.org
  scope: Namespaced
  names: { kind: Widget, plural: widgets, singular: widget }
  versions:
    - { name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object, properties: { spec: { type: object, x-kubernetes-preserve-unknown-fields: true } } } } }
---
# nothing here
---
apiVersion: v1
kind: List
items:
  - { apiVersion: example.org/v1, kind: Widget, metadata: { name: a }, spec: { size: 1 } }
  - { apiVersion: v1, kind: Namespace, metadata: { name: for-widgets } }
`);
    expect(stored.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ""}/${metadata.name}`)).toEqual([
      "CustomResourceDefinition /widgets.example.org",
      "Widget default/a",
      "Namespace /for-widgets",
    ]);
  });

  it("streams the initial state on request (WatchList)", async () => {
    const abort = new AbortController();
    const transport = createHttpTransport(await loadConfig({ kubeconfig: cluster().adminKubeconfig, env: {} }));
    const path = "/api/v1/configmaps?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    const { status, body } = await transport.send({ method: "GET", path, lane: "watch" }, abort.signal);
    expect(status).toBe(200);
    let text = "";
    for await (const chunk of body) {
      text += Buffer.from(chunk).toString();
      if (text.includes("k8s.io/initial-events-end")) break;
    }
    abort.abort();
    transport.close();
    expect(text).toContain('"name":"kept"');
  });

  it("runs kubectl, which keeps its cache in the cluster's folder", async () => {
    expect(await cluster().kubectl("get", "configmap", "kept", "-o", "name")).toBe("configmap/kept\n");
    expect(existsSync(join(cluster().folder, ".kube", "cache"))).toBe(true);
  });
});

describe("a cluster with everything", () => {
  const cluster = useSharedCluster();

  it("runs a Deployment's pods to Ready and removes them with it", async () => {
    const namespace = await cluster().namespace("web");
    const labels = { app: "web" };
    const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } };
    await cluster().client.create(Deployment, {
      metadata: { namespace, name: "web" },
      spec: { replicas: 4, selector: { matchLabels: labels }, template },
    });
    await cluster().kubectl("-n", namespace, "rollout", "status", "deployment/web", "--timeout=300s");
    const selection = { namespace, labels: "app=web" };
    expect((await cluster().client.list(Pod, selection)).items).toHaveLength(4);
    await cluster().client.delete(Deployment, { namespace, name: "web" });
    await soon(async () => expect((await cluster().client.list(Pod, selection)).items).toEqual([]));
  });

  it("removes a namespace with all that is in it", async () => {
    const name = await cluster().namespace("going");
    await cluster().client.create(ConfigMap, { metadata: { namespace: name, name: "inside" } });
    await cluster().kubectl("delete", "namespace", name, "--timeout=300s");
    expect(await cluster().client.get(ConfigMap, { namespace: name, name: "inside" })).toBeUndefined();
  });
});
