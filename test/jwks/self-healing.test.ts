// What people do to the published objects by hand: it is put right, with all keys that are still to be published.
import { ConfigMap, Deployment, Service } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { makeCertificate } from "../../packages/keyturn/test/certificates.ts";
import { type PublishingNamespace, publishingNamespace } from "./publishing-namespace.ts";

const cluster = useSharedCluster();
const [first, second] = [makeCertificate(), makeCertificate()];

/** An object with an active and a retiring key. */
async function rotated(place: PublishingNamespace, spec: Readonly<Record<string, unknown>> = {}): Promise<void> {
  await place.putSecret("signer", first);
  await place.putConfig("site", spec);
  await place.published("site-jwks", [first]);
  await place.putSecret("signer", second);
  await place.published("site-jwks", [second, first]);
  // The second copy of the history follows the first one by a moment.
  await soon(async () => expect((await place.status("site")).keyCount).toBe(2));
}

const history = "keyturn.io/jwks-history";

describe("the published ConfigMap", { concurrent: true }, () => {
  test.each([
    ["its document was edited", { data: { "jwks.json": '{"keys":[]}' } }],
    ["its document was made into no JSON", { data: { "jwks.json": "oops" } }],
    ["its document was removed", { data: null }],
    ["its history was removed", { metadata: { annotations: { [history]: null } } }],
    ["its history was edited", { metadata: { annotations: { [history]: '{"revision":99,"keys":[]}' } } }],
    ["both were edited", { data: { "jwks.json": "{}" }, metadata: { annotations: { [history]: "{}" } } }],
  ])("is as it was after %s", async (_what, patch) => {
    await using place = await publishingNamespace(cluster(), "edited");
    await place.startOperator();
    await rotated(place);
    const before = await place.get(ConfigMap, "site-jwks");
    const { nextRemoval } = await place.status("site");
    const edited = await cluster().client.mergePatch(ConfigMap, { namespace: place.namespace, name: "site-jwks" }, patch);
    await soon(async () => expect((await place.get(ConfigMap, "site-jwks"))?.metadata.resourceVersion).not.toBe(edited.metadata.resourceVersion));
    await place.published("site-jwks", [second, first]);
    expect((await place.get(ConfigMap, "site-jwks"))?.data).toEqual(before?.data);
    expect((await place.status("site")).nextRemoval).toBe(nextRemoval);
  });

  test("is rebuilt with all its keys after it was deleted, also while the operator was down", async () => {
    await using place = await publishingNamespace(cluster(), "deleted");
    const operator = await place.startOperator();
    await rotated(place);
    const { nextRemoval } = await place.status("site");
    const name = { namespace: place.namespace, name: "site-jwks" };
    const uid = (await place.get(ConfigMap, "site-jwks"))?.metadata.uid;
    await cluster().client.delete(ConfigMap, name);
    await place.published("site-jwks", [second, first]);
    expect((await place.get(ConfigMap, "site-jwks"))?.metadata.uid).not.toBe(uid);

    await operator.stop();
    await cluster().client.delete(ConfigMap, name);
    await place.startOperator();
    await place.published("site-jwks", [second, first]);
    expect((await place.status("site")).nextRemoval).toBe(nextRemoval);
  });

  test("keeps what others added to it", async () => {
    await using place = await publishingNamespace(cluster(), "notes");
    await place.startOperator();
    await place.putSecret("signer", first);
    await place.putConfig("site");
    await place.published("site-jwks", [first]);
    const note = { metadata: { annotations: { "example.com/note": "mine" } }, data: { "other.json": "{}" } };
    await cluster().client.mergePatch(ConfigMap, { namespace: place.namespace, name: "site-jwks" }, note);
    await place.putSecret("signer", second);
    await place.published("site-jwks", [second, first]);
    expect(await place.get(ConfigMap, "site-jwks")).toMatchObject(note);
  });

  test("keeps old keys when the object is deleted and made again", async () => {
    await using place = await publishingNamespace(cluster(), "again");
    await place.startOperator();
    await rotated(place);
    await cluster().kubectl("delete", "jwksconfig", "site", "-n", place.namespace, "--timeout=300s");
    await place.published("site-jwks", [second, first]);
    await place.putConfig("site");
    await place.conditionSays("site", "Ready", "True Ready");
    await place.published("site-jwks", [second, first]);
    expect((await place.status("site")).keys).toMatchObject([{ state: "Active" }, { state: "Retiring" }]);
  });
});

describe("nginx's objects", { concurrent: true }, () => {
  test("come back when they were deleted, and are put right when they were edited", async () => {
    await using place = await publishingNamespace(cluster(), "nginx");
    await place.startOperator();
    await place.putSecret("signer", first);
    await place.putConfig("site", { nginxConfigMapName: "site-nginx" });
    await place.conditionSays("site", "Ready", "True Ready");
    const { client } = cluster();
    const site = { namespace: place.namespace, name: "site" };
    await client.delete(Service, site);
    await client.delete(ConfigMap, { ...site, name: "site-nginx" });
    await soon(async () => expect(await place.get(Service, "site")).toBeDefined());
    await soon(async () => expect((await place.get(ConfigMap, "site-nginx"))?.data?.["default.conf"]).toContain("server {"));
    await client.mergePatch(Deployment, site, { spec: { replicas: 5 } });
    await soon(async () => expect((await place.get(Deployment, "site"))?.spec?.replicas).toBe(1));
    await client.delete(Deployment, site);
    await soon(async () => expect(await place.get(Deployment, "site")).toBeDefined());
    await place.conditionSays("site", "Ready", "True Ready");
  });
});
