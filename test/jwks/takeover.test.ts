// Two replicas: a standby takes over, with caches that are behind.
import { ConfigMap } from "@keyturn/runtime";
import { type FaultProxy, startFaultProxy } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { makeCertificate } from "../../packages/keyturn/test/certificates.ts";
import { publishingNamespace } from "./publishing-namespace.ts";

const cluster = useSharedCluster();

test("a standby that has not seen the last rotation loses no key when it takes over", { concurrent: true }, async () => {
  await using place = await publishingNamespace(cluster(), "takeover");
  await using proxy = await startFaultProxy(cluster());
  const [first, second, third] = [makeCertificate(), makeCertificate(), makeCertificate()];
  const leader = await place.startOperator();
  await place.putSecret("signer", first);
  await place.putConfig("site");
  await place.conditionSays("site", "Ready", "True Ready");
  const standby = await place.startOperator({ kubeconfig: proxy.through(place.kubeconfig) });
  await soon(() => expect(standby.started.watches().every(({ synced }) => synced)).toBe(true));

  // The standby hears of Secrets only: not of what the leader publishes, nor of what it reports.
  const stalled = proxy.stall({ path: /configmaps|jwksconfigs\?/, watch: true });
  await place.putSecret("signer", second);
  await place.published("site-jwks", [second, first]);
  await place.putSecret("signer", third);
  await place.published("site-jwks", [third, second, first]);
  const written = (await place.get(ConfigMap, "site-jwks"))?.metadata.resourceVersion;
  await leader.stop();
  // It believes that the first key is the only one, and tries to publish accordingly.
  await soon(() => expect(refusals(proxy)).not.toHaveLength(0));
  expect((await place.get(ConfigMap, "site-jwks"))?.metadata.resourceVersion).toBe(written);
  stalled.undo();
  const fourth = makeCertificate();
  await place.putSecret("signer", fourth);
  await place.published("site-jwks", [fourth, third, second, first]);
  await place.conditionSays("site", "Ready", "True Ready");
});

test("a standby that has not seen the first document does not write another in its place", { concurrent: true }, async () => {
  await using place = await publishingNamespace(cluster(), "takeover-first");
  await using proxy = await startFaultProxy(cluster());
  const [first, second] = [makeCertificate(), makeCertificate()];
  const leader = await place.startOperator();
  await place.putConfig("site");
  await place.conditionSays("site", "Ready", "False SecretNotFound");
  const standby = await place.startOperator({ kubeconfig: proxy.through(place.kubeconfig) });
  await soon(() => expect(standby.started.watches().every(({ synced }) => synced)).toBe(true));

  const stalled = proxy.stall({ path: /configmaps|jwksconfigs\?/, watch: true });
  await place.putSecret("signer", first);
  await place.published("site-jwks", [first]);
  await place.putSecret("signer", second);
  await place.published("site-jwks", [second, first]);
  const written = (await place.get(ConfigMap, "site-jwks"))?.metadata.resourceVersion;
  await leader.stop();
  // It believes that nothing was ever published.
  await soon(() => expect(refusals(proxy)).not.toHaveLength(0));
  expect((await place.get(ConfigMap, "site-jwks"))?.metadata.resourceVersion).toBe(written);
  stalled.undo();
  const third = makeCertificate();
  await place.putSecret("signer", third);
  await place.published("site-jwks", [third, second, first]);
  await place.conditionSays("site", "Ready", "True Ready");
});

/** Writes of the document, or of the status that goes before it, that the API server refused because there was another than they took for granted. */
function refusals(proxy: FaultProxy): readonly unknown[] {
  return proxy.requests({ method: "PATCH", path: /configmaps\/site-jwks|jwksconfigs\/site\/status/ }).filter(({ status }) => status === 409);
}
