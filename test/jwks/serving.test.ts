// nginx in the cluster: its objects, when it counts as serving, what rolls its pods and what does not.
import { ConfigMap, Deployment, Namespace, Pod, ReplicaSet, Service } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { makeCertificate } from "../../packages/keyturn/test/certificates.ts";
import { kidOf, type PublishingNamespace, publishingNamespace } from "./publishing-namespace.ts";

const cluster = useSharedCluster();
const [first, second] = [makeCertificate(), makeCertificate()];
const nginxConfigMapName = "site-nginx";

const podsOf = async ({ namespace }: PublishingNamespace): Promise<readonly string[]> =>
  (await cluster().client.list(Pod, { namespace })).items.map(({ metadata: { uid } }) => uid);
const replicaSetsOf = async ({ namespace }: PublishingNamespace): Promise<number> =>
  (await cluster().client.list(ReplicaSet, { namespace })).items.length;

describe("nginx", { concurrent: true }, () => {
  test("runs under Pod Security restricted; the object is Published first and Ready when pods are available", async () => {
    await using place = await publishingNamespace(cluster(), "restricted");
    const enforce = { metadata: { labels: { "pod-security.kubernetes.io/enforce": "restricted" } } };
    await cluster().client.mergePatch(Namespace, { name: place.namespace }, enforce);
    await place.startOperator();
    await place.putSecret("signer", first);
    await place.putConfig("site", { nginxConfigMapName });
    await place.conditionSays("site", "Ready", "True Ready");
    await place.conditionSays("site", "Published", "True Published");
    expect(await place.conditionSays("site", "Served", "True Serving")).toBe("1 of 1 pods serve the document");
    expect((await place.get(Service, "site"))?.spec).toMatchObject({ type: "ClusterIP", ports: [{ port: 80, targetPort: "http" }] });
    expect((await place.status("site")).nginxConfigUpdated).toBeDefined();
  });

  test("without available pods: Published, not Served, not Ready", async () => {
    await using place = await publishingNamespace(cluster(), "unavailable");
    await place.startOperator();
    await place.putSecret("signer", first);
    await place.putConfig("site", { nginxConfigMapName, nginx: { replicas: 0 } });
    await place.conditionSays("site", "Published", "True Published");
    await place.conditionSays("site", "Served", "False PodsNotAvailable");
    await soon(async () =>
      expect(await place.condition("site", "Ready")).toMatchObject({ reason: "PodsNotAvailable", message: "Deployment site has no replicas" }),
    );
    await place.putConfig("site", { nginxConfigMapName, nginx: { replicas: 2 } });
    await soon(async () => expect((await place.condition("site", "Served"))?.message).toBe("2 of 2 pods serve the document"));
    await place.conditionSays("site", "Ready", "True Ready");
    await place.putConfig("site", { nginxConfigMapName, nginx: { replicas: 0 } });
    await place.conditionSays("site", "Ready", "False PodsNotAvailable");
  });

  test("a changed document rolls the pods once, a changed setting once more; Served says when that is over", async () => {
    await using place = await publishingNamespace(cluster(), "roll");
    await place.startOperator();
    await place.putSecret("signer", first);
    await place.putConfig("site", { nginxConfigMapName });
    await place.conditionSays("site", "Ready", "True Ready");
    const [pods, generation] = [await podsOf(place), (await place.get(Deployment, "site"))?.metadata.generation];
    const { nginxConfigUpdated } = await place.status("site");
    await place.putSecret("signer", second);
    await place.published("site-jwks", [second, first]);
    await soon(async () => expect((await place.status("site")).keyCount).toBe(2));
    await soon(async () => expect((await place.get(Deployment, "site"))?.metadata.generation).toBe((generation ?? 0) + 1));
    await soon(async () => {
      expect((await place.condition("site", "Served"))?.status).toBe("True");
      for (const key of (await place.status("site")).keys ?? []) expect(key.availableSince).toBeDefined();
    });
    const newPods = (old: readonly string[]): Promise<readonly string[]> =>
      soon(async () => {
        const now = await podsOf(place);
        expect(now).toHaveLength(1);
        expect(now).not.toEqual(old);
        return now;
      });
    const before = await newPods(pods);

    await place.putConfig("site", { nginxConfigMapName, nginx: { cacheSeconds: 60 } });
    await soon(async () => expect((await place.get(ConfigMap, nginxConfigMapName))?.data?.["default.conf"]).toContain("max-age=60"));
    await newPods(before);
    await place.conditionSays("site", "Ready", "True Ready");
    expect(await replicaSetsOf(place)).toBe(3);
    expect((await place.get(Deployment, "site"))?.metadata.generation).toBe((generation ?? 0) + 2);
    await soon(async () => expect((await place.status("site")).nginxConfigUpdated).not.toBe(nginxConfigUpdated));
  });

  test("image, replicas and resources reach the Deployment that exists", async () => {
    await using place = await publishingNamespace(cluster(), "settings");
    await place.startOperator({ flags: { "jwks.nginx-allowed-images": "registry.example/nginx:2", "jwks.reconcile-interval": "0" } });
    await place.putSecret("signer", first);
    await place.putConfig("site", { nginxConfigMapName });
    await soon(async () => expect(await place.get(Deployment, "site")).toBeDefined());
    const resources = { requests: { cpu: "10m" }, limits: { memory: "32Mi" } };
    await place.putConfig("site", { nginxConfigMapName, nginx: { image: "registry.example/nginx:2", replicas: 2, resources } });
    await soon(async () =>
      expect((await place.get(Deployment, "site"))?.spec).toMatchObject({
        replicas: 2,
        template: { spec: { containers: [expect.objectContaining({ image: "registry.example/nginx:2", resources })] } },
      }),
    );
  });

  test("is not asked for any more: its objects go, the document stays, and Served is no longer spoken of", async () => {
    await using place = await publishingNamespace(cluster(), "no-longer");
    await place.startOperator();
    await place.putSecret("signer", first);
    await place.putConfig("site", { nginxConfigMapName });
    await place.conditionSays("site", "Ready", "True Ready");
    await place.putConfig("site");
    await soon(async () => {
      expect(await place.get(Deployment, "site")).toBeUndefined();
      expect(await place.get(Service, "site")).toBeUndefined();
      expect(await place.get(ConfigMap, nginxConfigMapName)).toBeUndefined();
    });
    await place.published("site-jwks", [first]);
    await soon(async () => expect(await place.condition("site", "Served")).toBeUndefined());
  });

  test("does not start before there is a document to serve", async () => {
    await using place = await publishingNamespace(cluster(), "nothing-yet");
    await place.startOperator();
    await place.putConfig("site", { nginxConfigMapName });
    await place.conditionSays("site", "Served", "False PodsNotAvailable");
    await place.conditionSays("site", "Ready", "False SecretNotFound");
    expect(await place.get(Deployment, "site")).toBeUndefined();
    await place.putSecret("signer", first);
    await place.conditionSays("site", "Ready", "True Ready");
  });

  test.each([
    ["a name that no Service can have", "tokens.v1", {}],
    ["limits below the requests", "site", { resources: { requests: { memory: "64Mi" }, limits: { memory: "32Mi" } } }],
  ])("refused by the API server for %s: said so, while keys are published and removed as ever", async (_what, name, nginx) => {
    await using place = await publishingNamespace(cluster(), "refused");
    await place.startOperator();
    await place.putSecret("signer", first);
    const spec = { configMapName: "site-jwks", nginxConfigMapName, oldKeysTTL: "2s", nginx };
    await place.putConfig(name, spec);
    await place.conditionSays(name, "Published", "True Published");
    const message = await place.conditionSays(name, "Served", "False NginxRefused");
    expect(await place.conditionSays(name, "Ready", "False NginxRefused")).toBe(message);
    expect(await place.eventSays(name, "NginxRefused")).not.toBe("");
    // A watch: whoever asks now and then may ask too late.
    using seen = await place.witness();
    await place.putSecret("signer", second);
    const [old, young] = await Promise.all([first, second].map(kidOf));
    await soon(() => expect(seen.documents("site-jwks")).toEqual([[young, old], [young]]));
    await soon(async () => expect((await place.status(name)).keyCount).toBe(1));
    if (name === "site") {
      await place.putConfig(name, { ...spec, nginx: { replicas: 1 } });
      await place.conditionSays(name, "Ready", "True Ready");
    }
  });
});
