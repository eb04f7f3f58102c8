// Names that are taken: nothing of others is touched, the object says so, and goes on by itself when the name is free.
import { ConfigMap, Deployment, type Kind, type KubeObject, Service } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { JWKS, JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { makeCertificate } from "../../packages/keyturn/test/certificates.ts";
import { publishingNamespace } from "./publishing-namespace.ts";

const cluster = useSharedCluster();
const certificate = makeCertificate();
const pods = {
  selector: { matchLabels: { app: "shop" } },
  template: { metadata: { labels: { app: "shop" } }, spec: { containers: [{ name: "shop", image: "shop:1" }] } },
};

describe("an object of somebody else", { concurrent: true }, () => {
  test.each<{ readonly kind: Kind; readonly name: string; readonly content: object }>([
    { kind: ConfigMap, name: "site-jwks", content: { data: { "jwks.json": '{"keys":[{"kid":"theirs"}]}' } } },
    { kind: ConfigMap, name: "site-nginx", content: { data: { "default.conf": "theirs" } } },
    { kind: Deployment, name: "site", content: { spec: { replicas: 0, ...pods } } },
    { kind: Service, name: "site", content: { spec: { selector: { app: "shop" }, ports: [{ port: 80 }] } } },
  ])("$kind.kind $name is left alone: Conflict in the condition and an Event", async ({ kind, name, content }) => {
    await using place = await publishingNamespace(cluster(), "foreign");
    const metadata = { namespace: place.namespace, name };
    const theirs = await cluster().client.create<KubeObject>(kind, { metadata, ...content });
    await place.startOperator();
    await place.putSecret("signer", certificate);
    await place.putConfig("site", { nginxConfigMapName: "site-nginx" });
    const message = await place.conditionSays("site", "Ready", "False Conflict");
    expect(message).toContain(`${kind.kind} ${place.namespace}/${name} exists and it was not made by this operator`);
    expect(await place.eventSays("site", "Conflict")).toBe(message);
    // Whoever has nginx's names, keys are published.
    const made = name === "site-jwks" ? [] : [expect.stringMatching("ConfigMap site-jwks")];
    const ours = await cluster().kubectl(
      "get",
      "configmap,deployment,service",
      "-n",
      place.namespace,
      "-l",
      "app.kubernetes.io/managed-by=keyturn",
      "-o",
      "json",
    );
    const { items } = JSON.parse(ours) as { readonly items: readonly KubeObject[] };
    const names = items.map((item) => `${item.kind} ${item.metadata.name}`);
    expect(names).toEqual(expect.arrayContaining(made));
    expect(names).not.toContain(`${kind.kind} ${name}`);
    const untouched = async (): Promise<void> => {
      const { metadata, ...rest } = (await place.get(kind, name)) ?? {};
      const { metadata: before, ...content } = theirs;
      expect(metadata).toMatchObject({ uid: before.uid });
      expect(metadata?.labels).toEqual(before.labels);
      if (kind !== Deployment) expect(rest).toEqual(content);
    };
    await untouched();
    await cluster().kubectl("delete", "jwksconfig", "site", "-n", place.namespace, "--timeout=300s");
    await untouched();
  });

  test("that goes away makes room: it is looked at again", async () => {
    await using place = await publishingNamespace(cluster(), "makes-room");
    const name = { namespace: place.namespace, name: "site" };
    await cluster().client.create(ConfigMap, { metadata: { ...name, name: "site-jwks" } });
    await cluster().client.create(Service, { metadata: name, spec: { ports: [{ port: 80 }] } });
    await place.startOperator();
    await place.putSecret("signer", certificate);
    await place.putConfig("site", { nginxConfigMapName: "site-nginx" });
    await place.conditionSays("site", "Ready", "False Conflict");
    await cluster().client.delete(ConfigMap, { ...name, name: "site-jwks" });
    await soon(async () => expect((await place.condition("site", "Ready"))?.message).toContain("Service "));
    await place.published("site-jwks", [certificate]);
    await cluster().client.delete(Service, name);
    await place.conditionSays("site", "Ready", "True Ready");
  });

  test("that appears in our place, after ours was deleted, is left alone too", async () => {
    await using place = await publishingNamespace(cluster(), "in-place");
    const operator = await place.startOperator();
    await place.putSecret("signer", certificate);
    await place.putConfig("site");
    await place.conditionSays("site", "Ready", "True Ready");
    await operator.stop();
    const name = { namespace: place.namespace, name: "site-jwks" };
    await cluster().client.delete(ConfigMap, name);
    await cluster().client.create(ConfigMap, { metadata: name, data: { "jwks.json": "theirs" } });
    await place.startOperator();
    await place.conditionSays("site", "Ready", "False Conflict");
    expect((await place.get(ConfigMap, "site-jwks"))?.data).toEqual({ "jwks.json": "theirs" });
    await cluster().client.delete(ConfigMap, name);
    await place.published("site-jwks", [certificate]);
  });

  test("is taken over once it carries our label, which is how objects are handed over", async () => {
    await using place = await publishingNamespace(cluster(), "handed");
    const name = { namespace: place.namespace, name: "site-jwks" };
    await cluster().client.create(ConfigMap, { metadata: name, data: { other: "1" } });
    await place.startOperator();
    await place.putSecret("signer", certificate);
    await place.putConfig("site");
    await place.conditionSays("site", "Ready", "False Conflict");
    await cluster().client.mergePatch(ConfigMap, name, {
      metadata: {
        labels: { "app.kubernetes.io/managed-by": "keyturn" },
        annotations: { "keyturn.io/owner": `jwksconfigs.keyturn.io/${place.namespace}/site` },
      },
    });
    await place.published("site-jwks", [certificate]);
    await place.conditionSays("site", "Ready", "True Ready");
  });
});

describe("two objects with one configMapName", { concurrent: true }, () => {
  test("the first has it, the second says so, publishes nothing, and gets it when the first has gone with its ConfigMap", async () => {
    await using place = await publishingNamespace(cluster(), "two");
    await place.startOperator();
    const other = makeCertificate();
    await place.putSecret("signer", certificate);
    await place.putSecret("other", other);
    await place.putConfig("one", { configMapName: "shared", cleanupOnDelete: true });
    await place.published("shared", [certificate]);
    await place.putConfig("two", { configMapName: "shared", certificateSecret: "other" });
    expect(await place.conditionSays("two", "Ready", "False Conflict")).toContain("shared exists and it belongs to");
    await place.published("shared", [certificate]);
    await place.conditionSays("one", "Ready", "True Ready");
    await cluster().client.delete(JWKSConfig, { namespace: place.namespace, name: "one" });
    await place.published("shared", [other]);
    await place.conditionSays("two", "Ready", "True Ready");
  });

  test("made in the same moment: exactly one has it, and never both keys", async () => {
    await using place = await publishingNamespace(cluster(), "race");
    const other = makeCertificate();
    await place.putSecret("signer", certificate);
    await place.putSecret("other", other);
    await place.putConfig("one", { configMapName: "shared" });
    await place.putConfig("two", { configMapName: "shared", certificateSecret: "other" });
    await place.startOperator();
    await soon(async () => {
      const reasons = [await place.condition("one", "Ready"), await place.condition("two", "Ready")].map((condition) => condition?.reason);
      expect(new Set(reasons)).toEqual(new Set(["Conflict", "Ready"]));
    });
    expect(await place.kidsIn("shared")).toHaveLength(1);
  });

  test("one of them a JWKS: the same", async () => {
    await using place = await publishingNamespace(cluster(), "kinds");
    await place.startOperator();
    await place.putSecret("signer", certificate);
    await place.putConfig("one", { configMapName: "shared", cleanupOnDelete: true });
    await place.published("shared", [certificate]);
    await place.putJwks("two", { configMapName: "shared" });
    await place.conditionSays("two", "Ready", "False Conflict", JWKS);
    await cluster().client.delete(JWKSConfig, { namespace: place.namespace, name: "one" });
    await place.conditionSays("two", "Ready", "True Ready", JWKS);
    expect(await place.keysIn("shared")).toMatchObject([{ kid: expect.stringMatching(/^[0-9a-f]{16}$/) }]);
  });
});

test(
  "another configMapName moves the document there with all its keys, and the old one stays for those who still read it",
  { concurrent: true },
  async () => {
    await using place = await publishingNamespace(cluster(), "moved");
    await place.startOperator();
    const next = makeCertificate();
    await place.putSecret("signer", certificate);
    await place.putConfig("site");
    await place.published("site-jwks", [certificate]);
    await place.putSecret("signer", next);
    await place.published("site-jwks", [next, certificate]);
    await soon(async () => expect((await place.status("site")).keyCount).toBe(2));
    await place.putConfig("site", { configMapName: "elsewhere" });
    await place.published("elsewhere", [next, certificate]);
    await place.published("site-jwks", [next, certificate]);
  },
);
