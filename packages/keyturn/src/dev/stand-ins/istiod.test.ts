import type { Pod } from "@keyturn/runtime";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { request as requestHttps } from "node:https";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { createWebhookCaller } from "../../controllers/sidecars/injection/webhook.ts";
import { type Istiod, startIstiod } from "./istiod.ts";

const app = { name: "app", image: "app:1", ports: [{ containerPort: 8080 }] };
const pod: Pod = { metadata: { namespace: "shop", generateName: "web-" }, spec: { containers: [app] } };

/** The pod as the control plane makes it. */
async function injected(istiod: Istiod, of: Pod, path = "/inject"): Promise<Pod> {
  const caller = createWebhookCaller();
  const [webhook] = istiod.revisionConfiguration({ path }).webhooks ?? [];
  if (!webhook) throw new Error("a control plane has webhooks");
  const outcome = await caller.review(webhook, of);
  caller.close();
  if (outcome.type !== "allowed") throw new Error(outcome.message);
  return outcome.pod;
}

function names(containers: readonly { readonly name: string }[] = []): readonly string[] {
  return containers.map(({ name }) => name);
}

describe("injection", () => {
  test("adds the proxy last, the redirection as an init container, and a status with the revision", async () => {
    await using istiod = await startIstiod({ revision: "canary", tag: "1.27.0" });
    const { metadata, spec } = await injected(istiod, pod);
    expect(names(spec?.containers)).toEqual(["app", "istio-proxy"]);
    expect(names(spec?.initContainers)).toEqual(["istio-init"]);
    expect(spec?.containers[1]?.image).toBe("docker.io/istio/proxyv2:1.27.0");
    expect(JSON.parse(metadata.annotations?.["sidecar.istio.io/status"] ?? "")).toMatchObject({ revision: "canary", containers: ["istio-proxy"] });
    expect(metadata.labels).toMatchObject({ "security.istio.io/tlsMode": "istio" });
  });

  test("puts native sidecars among the init containers, right after the redirection", async () => {
    await using istiod = await startIstiod({ nativeSidecars: true });
    const { spec } = await injected(istiod, { ...pod, spec: { containers: [app], initContainers: [{ name: "own", image: "own:1" }] } });
    expect(names(spec?.containers)).toEqual(["app"]);
    expect(names(spec?.initContainers)).toEqual(["istio-init", "istio-proxy", "own"]);
    expect(spec?.initContainers?.[1]).toMatchObject({ restartPolicy: "Always" });
  });

  test("of a pod that was injected before gives the same", async () => {
    await using istiod = await startIstiod();
    const once = await injected(istiod, pod);
    expect(await injected(istiod, once)).toEqual(once);
  });

  test("merges a proxy of the template's own over the injected one", async () => {
    await using istiod = await startIstiod({ tag: "1.27.0" });
    const own = Object.assign({ name: "istio-proxy", image: "auto", volumeMounts: [{ name: "own", mountPath: "/own" }] }, { resources: {} });
    const proxy = (await injected(istiod, { ...pod, spec: { containers: [app, own] } })).spec?.containers[1];
    expect(proxy).toMatchObject({ image: "docker.io/istio/proxyv2:1.27.0", resources: istiod.settings.resources });
    expect(proxy?.volumeMounts?.map(({ mountPath }) => mountPath)).toEqual(expect.arrayContaining(["/own", "/etc/istio/proxy"]));
  });

  test("knows the workload behind a ReplicaSet, and the cluster from the path", async () => {
    await using istiod = await startIstiod();
    const ownerReferences = [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-abc", uid: "u", controller: true }];
    const labels = { "pod-template-hash": "abc" };
    const { metadata, spec } = await injected(
      istiod,
      { ...pod, metadata: { ...pod.metadata, labels, ownerReferences } },
      "/inject/cluster/east/net/one",
    );
    expect(spec?.containers[1]?.env).toEqual(
      expect.arrayContaining([
        { name: "ISTIO_META_WORKLOAD_NAME", value: "web" },
        { name: "ISTIO_META_OWNER", value: "kubernetes://apis/apps/v1/namespaces/shop/deployments/web" },
        { name: "ISTIO_META_CLUSTER_ID", value: "east" },
        { name: "ISTIO_META_NETWORK", value: "one" },
      ]),
    );
    expect(metadata.labels).toMatchObject({ "topology.istio.io/network": "one" });
  });

  test.each<readonly [string, Partial<Pod>, boolean]>([
    ["hostNetwork", { spec: Object.assign({ containers: [app] }, { hostNetwork: true }) }, false],
    ["the label", { metadata: { ...pod.metadata, labels: { "sidecar.istio.io/inject": "false" } } }, false],
    ["the annotation", { metadata: { ...pod.metadata, annotations: { "sidecar.istio.io/inject": "False" } } }, false],
    [
      "the annotation, but for the label",
      { metadata: { ...pod.metadata, labels: { "sidecar.istio.io/inject": "true" }, annotations: { "sidecar.istio.io/inject": "false" } } },
      true,
    ],
    ["the namespace", { metadata: { ...pod.metadata, namespace: "kube-system" } }, false],
  ])("is declined by %s", async (_name, change, expected) => {
    await using istiod = await startIstiod();
    expect(names((await injected(istiod, { ...pod, ...change })).spec?.containers).includes("istio-proxy")).toBe(expected);
  });

  test("follows its settings, which its ConfigMap has", async () => {
    await using istiod = await startIstiod();
    istiod.configure({ tag: "1.28.0", hub: "reg:5000/istio" });
    expect((await injected(istiod, pod)).spec?.containers[1]?.image).toBe("reg:5000/istio/proxyv2:1.28.0");
    const { metadata, data } = istiod.configMap();
    expect(metadata).toMatchObject({ namespace: "istio-system", name: "istio-sidecar-injector", labels: { "istio.io/rev": "default" } });
    expect(JSON.parse(data?.["values"] ?? "")).toMatchObject({ global: { hub: "reg:5000/istio", tag: "1.28.0" } });
  });
});

describe("the server", () => {
  const post = async (
    istiod: Istiod,
    path: string,
    { body = "{}", type = "application/json" } = {},
  ): Promise<readonly [number | undefined, string]> => {
    const outgoing = requestHttps(`${istiod.url}${path}`, { method: "POST", ca: istiod.authority, headers: { "content-type": type } });
    outgoing.end(body);
    const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
    return [incoming.statusCode, await text(incoming)];
  };

  test("answers as istiod does what is no question", async () => {
    await using istiod = await startIstiod();
    expect(await post(istiod, "/inject", { type: "text/plain" })).toEqual([415, expect.stringContaining("application/json")]);
    expect(await post(istiod, "/inject", { body: "" })).toEqual([400, expect.stringContaining("no body")]);
    expect(await post(istiod, "/validate")).toEqual([404, expect.any(String)]);
    expect(await post(istiod, "/inject")).toEqual([200, expect.stringContaining('"allowed":false')]);
    expect(istiod.calls).toEqual([]);
  });

  test("speaks TLS only", async () => {
    await using istiod = await startIstiod();
    const outgoing = request({ port: istiod.port, host: "127.0.0.1", method: "POST", path: "/inject" });
    outgoing.end();
    await expect(once(outgoing, "response")).rejects.toThrow("socket hang up");
  });

  test("gives a real istiod's answers where there is one", async () => {
    await using real = await startIstiod({ revision: "real", tag: "9.9.9" });
    await using front = await startIstiod({}, { url: `${real.url}/inject`, authority: real.authority });
    expect((await injected(front, pod)).spec?.containers[1]?.image).toBe("docker.io/istio/proxyv2:9.9.9");
    expect([front.calls.length, real.calls.length]).toEqual([1, 1]);
  });
});

describe("webhook configurations", () => {
  test("of revisions, tags and install namespaces have Istio's names and labels", async () => {
    await using plain = await startIstiod();
    await using canary = await startIstiod({ revision: "canary", namespace: "mesh" });
    expect(plain.revisionConfiguration().metadata).toEqual({
      name: "istio-sidecar-injector",
      labels: { app: "sidecar-injector", "istio.io/rev": "default" },
    });
    expect(canary.revisionConfiguration().metadata.name).toBe("istio-sidecar-injector-canary-mesh");
    expect(canary.tagConfiguration("stable").metadata).toMatchObject({
      name: "istio-revision-tag-stable-mesh",
      labels: { "istio.io/tag": "stable", "istio.io/rev": "canary" },
    });
    const prefixes = (configuration: ReturnType<Istiod["revisionConfiguration"]>): readonly string[] =>
      (configuration.webhooks ?? []).map(({ name }) => name.replace(".sidecar-injector.istio.io", ""));
    expect(prefixes(plain.revisionConfiguration())).toEqual(["rev.namespace", "rev.object", "namespace", "object"]);
    expect(prefixes(plain.revisionConfiguration({ everywhere: true }))).toEqual(["rev.namespace", "rev.object", "namespace", "object", "auto"]);
    expect(prefixes(canary.revisionConfiguration())).toEqual(["rev.namespace", "rev.object"]);
    expect(prefixes(canary.tagConfiguration("default"))).toEqual(["rev.namespace", "rev.object", "namespace", "object"]);
  });

  test("lead to the address on this machine, or to the Service", async () => {
    await using canary = await startIstiod({ revision: "canary", namespace: "mesh" });
    const caBundle = Buffer.from(canary.authority).toString("base64");
    expect(canary.revisionConfiguration({ path: "/inject/net/n" }).webhooks?.[0]?.clientConfig).toEqual({
      url: `${canary.url}/inject/net/n`,
      caBundle,
    });
    expect(canary.revisionConfiguration({ byService: true }).webhooks?.[0]?.clientConfig).toEqual({
      service: { namespace: "mesh", name: "istiod-canary", path: "/inject", port: 443 },
      caBundle,
    });
  });
});
