// Pausing and selecting: what publishes keys leaves paused objects and those of others as they are.
import { ConfigMap } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { makeCertificate } from "../../packages/keyturn/test/certificates.ts";
import { publishingNamespace } from "../jwks/publishing-namespace.ts";

const cluster = useSharedCluster();
const [first, second] = [makeCertificate(), makeCertificate()];
const limitsOff = { "jwks.reconcile-interval": "0", "jwks.reconciles-per-minute": "0", "jwks.configmap-interval": "0" };

test("a paused object stays as it is, says so, and catches up when it is resumed", { concurrent: true }, async () => {
  await using place = await publishingNamespace(cluster(), "paused");
  const annotate = (text: string): Promise<string> => cluster().kubectl("annotate", "jwksconfig", "site", text, "--overwrite", "-n", place.namespace);
  await place.startOperator();
  await place.putSecret("signer", first);
  await place.putConfig("site");
  await place.putConfig("twin");
  await place.published("site-jwks", [first]);
  await annotate("keyturn.io/paused=true");
  expect(await place.conditionSays("site", "Ready", "True Paused")).toContain("keyturn.io/paused");
  await place.eventSays("site", "Paused");

  await place.putSecret("signer", second);
  await place.published("twin-jwks", [second, first]);
  await place.published("site-jwks", [first]);
  await cluster().client.delete(ConfigMap, { namespace: place.namespace, name: "site-jwks" });
  await cluster().client.delete(ConfigMap, { namespace: place.namespace, name: "twin-jwks" });
  await place.published("twin-jwks", [second, first]);
  expect(await place.get(ConfigMap, "site-jwks")).toBeUndefined();

  await annotate("keyturn.io/paused-");
  await place.published("site-jwks", [second, first]);
  await place.conditionSays("site", "Ready", "True Ready");
});

test("a pause with an end is over by itself", { concurrent: true }, async () => {
  await using place = await publishingNamespace(cluster(), "paused-until");
  await place.startOperator();
  await place.putSecret("signer", first);
  await place.putConfig("site", {}, { "keyturn.io/paused": "2199-12-31T23:59:59Z" });
  expect(await place.conditionSays("site", "Ready", "Unknown Paused")).toContain("until 2199-12-31");
  await place.putConfig("site", {}, { "keyturn.io/paused": new Date(Date.now() + 2000).toISOString() });
  await place.published("site-jwks", [first]);
  await place.conditionSays("site", "Ready", "True Ready");
});

test("the deletion of a paused object waits", { concurrent: true }, async () => {
  await using place = await publishingNamespace(cluster(), "paused-deletion");
  await place.startOperator();
  await place.putSecret("signer", first);
  await place.putConfig("site", { cleanupOnDelete: true });
  await place.putConfig("twin", { cleanupOnDelete: true });
  await place.published("site-jwks", [first]);
  await place.published("twin-jwks", [first]);
  await place.putConfig("site", { cleanupOnDelete: true }, { "keyturn.io/paused": "true" });
  await place.conditionSays("site", "Ready", "True Paused");
  for (const name of ["site", "twin"]) await cluster().client.delete(JWKSConfig, { namespace: place.namespace, name });
  await soon(async () => expect(await place.get(JWKSConfig, "twin")).toBeUndefined());
  await place.published("site-jwks", [first]);
  expect((await place.get(JWKSConfig, "site"))?.metadata.deletionTimestamp).toBeDefined();
  await cluster().kubectl("annotate", "jwksconfig", "site", "keyturn.io/paused-", "-n", place.namespace);
  await soon(async () => expect(await place.get(JWKSConfig, "site")).toBeUndefined());
  await soon(async () => expect(await place.get(ConfigMap, "site-jwks")).toBeUndefined());
});

test("only what is selected is looked after; what leaves the selection stays as it is", { concurrent: true }, async () => {
  await using place = await publishingNamespace(cluster(), "selected");
  const label = (name: string, text: string): Promise<string> => cluster().kubectl("label", "jwksconfig", name, text, "-n", place.namespace);
  await place.putSecret("signer", first);
  for (const name of ["ours", "theirs"]) await place.putConfig(name);
  await label("ours", "team=a");
  const operator = await place.startOperator({ flags: { ...limitsOff, selector: "team=a" } });
  await place.published("ours-jwks", [first]);
  await label("theirs", "team=a");
  await place.published("theirs-jwks", [first]);
  await place.conditionSays("theirs", "Ready", "True Ready");

  await label("theirs", "team-");
  // Its numbers go when the operator has seen that.
  await soon(async () => expect(await operator.metrics()).not.toMatch(/^keyturn_jwks_keys\{.*name="theirs"/m));
  await place.putSecret("signer", second);
  await place.published("ours-jwks", [second, first]);
  await place.published("theirs-jwks", [first]);
  await place.conditionSays("theirs", "Ready", "True Ready");
});

test("nothing is done in namespaces that are skipped", { concurrent: true }, async () => {
  await using place = await publishingNamespace(cluster(), "skipped");
  await place.putSecret("signer", first);
  await place.putConfig("site");
  const operator = await place.startOperator({ flags: { ...limitsOff, "skip-namespaces": place.namespace } });
  // The object has been looked at, and nothing was written.
  await soon(async () =>
    expect(await operator.metrics()).toMatch(/^controller_runtime_reconcile_total\{controller="jwks",result="success"\} [1-9]/m),
  );
  expect(await place.get(ConfigMap, "site-jwks")).toBeUndefined();
  expect((await place.get(JWKSConfig, "site"))?.metadata.finalizers).toBeUndefined();
});
