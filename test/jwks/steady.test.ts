// What stays as it is while keys change, or while another object's writes hang.
import { startFaultProxy } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { makeCertificate } from "../../packages/keyturn/test/certificates.ts";
import { publishingNamespace } from "./publishing-namespace.ts";

const cluster = useSharedCluster();

test("Ready stays as it is through rotations, and counts every key", async () => {
  await using place = await publishingNamespace(cluster(), "steady");
  await place.startOperator();
  const certificates = [makeCertificate(), makeCertificate(), makeCertificate()];
  const published: typeof certificates = [];
  let ready: unknown;
  for (const certificate of certificates) {
    await place.putSecret("signer", certificate);
    await place.putConfig("site", { nginxConfigMapName: "site-nginx" });
    published.unshift(certificate);
    await place.published("site-jwks", published);
    await place.conditionSays("site", "Ready", "True Ready");
    await soon(async () => expect((await place.status("site")).keyCount).toBe(published.length));
    const { lastTransitionTime, observedGeneration } = (await place.condition("site", "Ready")) ?? {};
    expect(observedGeneration).toBe(1);
    ready ??= lastTransitionTime;
    expect(lastTransitionTime).toBe(ready);
  }
});

test("an object whose writes hang holds up no other", async () => {
  await using place = await publishingNamespace(cluster(), "slow");
  await using proxy = await startFaultProxy(cluster());
  await place.startOperator({ kubeconfig: proxy.through(place.kubeconfig) });
  await place.putSecret("signer", makeCertificate());
  const stalled = proxy.stall({ path: /configmaps\/slow-jwks/ });
  await place.putConfig("slow");
  await soon(() => expect(proxy.underWay({ path: /configmaps\/slow-jwks/ })).toBe(1));
  const names = Array.from({ length: 10 }, (_, index) => `quick-${index}`);
  for (const name of names) await place.putConfig(name);
  for (const name of names) await place.conditionSays(name, "Ready", "True Ready");
  expect(await place.condition("slow", "Ready")).toBeUndefined();
  stalled.undo();
  await place.conditionSays("slow", "Ready", "True Ready");
});
