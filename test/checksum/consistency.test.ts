// A checksum is never computed from a cache that is behind, and two replicas, or one that takes over, do no harm.
import { cutAt, type RunningOperator, startFaultProxy } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { busyRequests, isLease } from "../support/busy-requests.ts";
import { IngressCheckSum, SecretCheckSum, verifiedNamespace } from "./verified-namespace.ts";

const cluster = useSharedCluster();

async function rechecks(operator: RunningOperator): Promise<number> {
  return Number(/^keyturn_checksum_rechecks_total\{kind="SecretCheckSum"\} (\d+)/m.exec(await operator.metrics())?.[1] ?? 0);
}

test("a cache that is behind publishes nothing, and the right state once it has caught up", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "behind");
  await using proxy = await startFaultProxy(cluster());
  const operator = await place.startOperator({ kubeconfig: proxy.through(place.kubeconfig) });
  await place.putSecret("shop-7", 1);
  const { metadata, spec } = await place.published(["7-1"]);
  const stalled = proxy.stall({ path: /\/secrets\?/, watch: true });
  await place.putSecret("shop-7", 2);
  // With its checksum gone the controller has to publish, and all it knows is the old state.
  await cluster().client.delete(SecretCheckSum, { namespace: place.namespace, name: metadata.name });
  await soon(async () => expect(await rechecks(operator)).toBeGreaterThan(3));
  expect(await place.checksums()).toEqual([]);
  stalled.undo();
  const after = await place.published(["7-2"]);
  expect(await place.checksums()).toHaveLength(1);
  expect(after.spec.checksum).not.toBe(spec.checksum);
});

test("a standby that has not seen the last changes publishes no old state when it takes over", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "takeover");
  await using proxy = await startFaultProxy(cluster());
  const leader = await place.startOperator();
  await place.putSecret("shop-7", 1);
  await place.published(["7-1"]);
  const standby = await place.startOperator({ kubeconfig: proxy.through(place.kubeconfig) });
  await soon(() => expect(standby.started.watches().every(({ synced }) => synced)).toBe(true));
  const stalled = proxy.stall({ path: /\/secrets\?/, watch: true });
  await place.putSecret("shop-7", 2);
  const { metadata } = await place.published(["7-2"]);
  await leader.stop();
  // It sees that the newest checksum is not of the state that it knows.
  await soon(async () => expect(await rechecks(standby)).toBeGreaterThan(2));
  expect((await place.checksums())[0]?.metadata.name).toBe(metadata.name);
  stalled.undo();
  await place.putSecret("shop-7", 3);
  await place.published(["7-3"]);
});

test("a restart in the middle of a burst, and a lost answer to the write, leave one checksum of the last state", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "restart");
  const first = await place.startOperator({ flags: { "checksum.settle": "10m" } });
  for (let index = 1; index <= 5; index++) await place.putSecret(`shop-${index}`, 1);
  await first.stop();
  for (let index = 6; index <= 7; index++) await place.putSecret(`shop-${index}`, 1);
  await using proxy = await startFaultProxy(cluster());
  const lost = proxy.inject(cutAt("after", { path: /\/secretchecksums\/secret-\w+\?/, method: "PATCH", times: 1 }));
  await place.startOperator({ kubeconfig: proxy.through(place.kubeconfig) });
  await place.published(["1-1", "2-1", "3-1", "4-1", "5-1", "6-1", "7-1"]);
  expect(lost.hits).toBe(1);
  expect(await place.checksums()).toHaveLength(1);
});

test("a restart writes nothing when nothing has changed, and reads no content twice to make sure", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "quiet");
  const before = await place.startOperator();
  await place.putSecret("shop-7", 1);
  await place.published(["7-1"]);
  await place.putSecret("shop-7", 2);
  await place.published(["7-2"]);
  await place.putIngress("shop-7", 1);
  await place.published(["7-1"], IngressCheckSum);
  await soon(async () => expect((await place.checksums()).map(({ status }) => status?.conditions?.[0]?.reason)).toEqual(["Published", "Superseded"]));
  await before.stop();
  const versions = async (): Promise<readonly string[]> => (await place.checksums()).map(({ metadata }) => metadata.resourceVersion);
  const seen = await versions();
  await using proxy = await startFaultProxy(cluster());
  const operator = await place.startOperator({ kubeconfig: proxy.through(place.kubeconfig) });
  await soon(async () =>
    expect(await operator.metrics()).toContain(`keyturn_checksum_objects{kind="SecretCheckSum",namespace="${place.namespace}"} 1`),
  );
  const renewals = proxy.requests({ path: isLease }).length;
  await soon(() => expect(proxy.requests({ path: isLease }).length).toBeGreaterThan(renewals + 4));
  expect(busyRequests(proxy)).toEqual([]);
  expect(await versions()).toEqual(seen);
});
