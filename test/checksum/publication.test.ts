// The control plane on a real API server, as Tengine's reader sees it.
import { startFaultProxy } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { checksumOf } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { startTengineReader } from "./tengine-reader.ts";
import { certificate, IngressCheckSum, verifiedNamespace } from "./verified-namespace.ts";

const cluster = useSharedCluster();

test("a reader with Tengine's rules passes after every change, and what was published is never changed", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "every-change");
  using reader = await startTengineReader(cluster(), place.namespace);
  const specs = new Map<string, string>();
  const accepts = async (wanted: readonly string[]): Promise<void> => {
    await soon(async () => {
      const { metadata, spec } = await place.published(wanted);
      // Each change has its own, also where the ids are the same.
      expect(specs.has(metadata.uid)).toBe(false);
      expect(spec.checksum).toBe(checksumOf(spec.ids ?? []));
      expect([reader.check(), reader.ids().toSorted()]).toEqual(["pass", spec.ids]);
    });
    for (const { metadata, spec: each } of await place.checksums()) {
      expect(specs.get(metadata.uid) ?? JSON.stringify(each)).toBe(JSON.stringify(each));
      specs.set(metadata.uid, JSON.stringify(each));
    }
  };
  await place.putSecret("shop-7", 1, certificate(0));
  await soon(() => expect(reader.ids()).toHaveLength(1));
  await place.startOperator({ flags: { "checksum.keep": "2" } });
  await accepts(["7-1"]);
  await place.putSecret("bank-10", 4, certificate(1));
  await accepts(["10-4", "7-1"]);
  await place.putSecret("shop-7", 2, certificate(2));
  await accepts(["10-4", "7-2"]);
  await place.putSecret("shop-7", 2, certificate(3));
  await accepts(["10-4", "7-2"]);
  await place.removeSecret("bank-10");
  await accepts(["7-2"]);
  await place.putSecret("plain", undefined);
  await place.putSecret("minus-9", -3);
  await accepts(["7-2", "9--3"]);
  expect(specs.size).toBeGreaterThanOrEqual(6);
  expect(reader.verdicts).not.toContain("undecided");
});

test("the new checksum exists before an old one goes, and old ones go by number", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "number");
  await place.startOperator({ flags: { "checksum.keep": "2" } });
  const names: string[] = [];
  for (const version of [1, 2, 3, 4, 5]) {
    await place.putSecret("shop-7", version);
    const { metadata } = await place.published([`7-${version}`]);
    names.unshift(metadata.name);
    const left = (await place.checksums()).map((checksum) => checksum.metadata.name);
    expect(left).toEqual(names.slice(0, left.length));
    expect(left.length).toBeGreaterThan(Math.min(1, version - 1));
  }
  await soon(async () => expect((await place.checksums()).map(({ metadata }) => metadata.name)).toEqual(names.slice(0, 3)));
  for (const old of names.slice(1, 3)) await soon(async () => expect(await place.condition(old, "Current")).toBe("False Superseded"));
});

test("old checksums go by age, so that a stale state does not pass for ever", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "age");
  using reader = await startTengineReader(cluster(), place.namespace);
  await place.startOperator({ flags: { "checksum.keep-for": "3s" } });
  await place.putSecret("shop-7", 1);
  await place.published(["7-1"]);
  await place.putSecret("shop-7", 2);
  const { metadata } = await place.published(["7-2"]);
  await soon(async () => expect((await place.checksums()).map((checksum) => checksum.metadata.name)).toEqual([metadata.name]));
  await soon(() => expect(reader.check()).toBe("pass"));
});

test("a state that comes back is published anew, later than what it takes the place of", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "back");
  await place.startOperator();
  await place.putSecret("shop-7", 1);
  const first = await place.published(["7-1"]);
  await place.putSecret("shop-7", 2);
  const second = await place.published(["7-2"]);
  await place.putSecret("shop-7", 1);
  const third = await place.published(["7-1"]);
  expect(third.spec.checksum).toBe(first.spec.checksum);
  expect(third.metadata.name).not.toBe(first.metadata.name);
  expect(Date.parse(third.spec.timestamp)).toBeGreaterThan(Date.parse(second.spec.timestamp));
});

test("a chain that changes under the same version is another state", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "chain");
  await place.startOperator();
  await place.putSecret("shop-7", 1);
  const before = await place.published(["7-1"]);
  const longer = { ...certificate(0), certificate: certificate(0).certificate + certificate(1).certificate };
  await place.putSecret("shop-7", 1, longer);
  const after = await soon(async () => {
    const [newest] = await place.checksums();
    expect(newest?.spec.sha256).not.toBe(before.spec.sha256);
    return newest;
  });
  expect(after?.spec.checksum).toBe(before.spec.checksum);
});

test("Ingresses have checksums of their own", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "ingresses");
  await place.startOperator();
  await place.putIngress("shop-27524", 1);
  await place.putIngress("bank-123992", 2);
  const { spec, metadata } = await place.published(["123992-2", "27524-1"], IngressCheckSum);
  expect(metadata.name).toMatch(/^ingress-checksum-[0-9a-z]{10}$/);
  expect(spec).toMatchObject({ checksum: checksumOf(["27524-1", "123992-2"]), count: 2 });
  expect(await place.checksums()).toEqual([]);
});

test("a burst of changes is published once", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "burst");
  await using proxy = await startFaultProxy(cluster());
  const operator = await place.startOperator({ kubeconfig: proxy.through(place.kubeconfig) });
  await soon(() => expect(operator.started.watches().every(({ synced }) => synced)).toBe(true));
  // However long they take to be written: it hears of all of them at the same time.
  const stalled = proxy.stall({ path: /\/secrets\?/, watch: true });
  await Promise.all(Array.from({ length: 20 }, (_, index) => place.putSecret(`shop-${index + 10}`, 1, certificate(index))));
  stalled.undo();
  const { spec } = await place.published(Array.from({ length: 20 }, (_, index) => `${index + 10}-1`));
  expect(spec.count).toBe(20);
  expect(await place.checksums()).toHaveLength(1);
  await soon(async () => expect(await operator.metrics()).toContain('keyturn_checksum_published_total{kind="SecretCheckSum"} 1\n'));
});

test("one changed Secret is one more that is read and hashed, whatever the number of the others", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "one-hash");
  const operator = await place.startOperator();
  for (let index = 1; index <= 30; index++) await place.putSecret(`shop-${index}`, 1, certificate(index));
  const versions = (changed: number, version: number): string[] =>
    Array.from({ length: 30 }, (_, index) => `${index + 1}-${index + 1 === changed ? version : 1}`).sort();
  await place.published(versions(0, 0));
  const readCount = async (): Promise<number> =>
    Number(/^keyturn_checksum_objects_read_total\{kind="SecretCheckSum"\} (\d+)/m.exec(await operator.metrics())?.[1]);
  const before = await readCount();
  await place.putSecret("shop-17", 2);
  await place.published(versions(17, 2));
  expect((await readCount()) - before).toBe(1);
});
