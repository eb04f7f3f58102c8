// How many ids one object takes, on a real etcd with its default limits.
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { checkSumObject, fitsObject, keepCheckSum } from "../../packages/keyturn/src/controllers/checksum/check-sum-object.ts";
import { checksumOf } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { IngressCheckSum, SecretCheckSum, verifiedNamespace } from "./verified-namespace.ts";

const cluster = useSharedCluster();
const sha1 = "0123456789abcdef0123456789abcdef01234567";
const secretIds = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `${100_000 + index}-4527-${sha1}`);

test("25,000 ids of Secrets fit; of 30,000 ids the checksum alone is stored, and both can be read back", async () => {
  await using place = await verifiedNamespace(cluster(), "large");
  for (const [count, isListed] of [
    [25_000, true],
    [30_000, false],
  ] as const) {
    const ids = secretIds(count);
    const state = { ids, checksum: checksumOf(ids), sha256: undefined };
    const object = checkSumObject(state, { namespace: place.namespace, prefix: "secret", timestampMs: Date.UTC(2026, 0) + count });
    const stored = await cluster().client.apply(SecretCheckSum, object, { fieldManager: "test" });
    expect(stored.spec).toMatchObject({ count, checksum: state.checksum });
    expect(stored.spec.ids?.length).toBe(isListed ? count : undefined);
    expect(keepCheckSum("secret")(stored)).toMatchObject({ intact: true, listsIds: isListed });
  }
});

test("a list just under the limit is stored, with a status beside it", async () => {
  await using place = await verifiedNamespace(cluster(), "limit");
  const ids = Array.from({ length: 107_000 }, (_, index) => `${100_000 + index}-100`);
  expect([fitsObject(ids), fitsObject([...ids, ...ids.slice(0, 1000)])]).toEqual([true, false]);
  const object = checkSumObject(
    { ids, checksum: checksumOf(ids), sha256: undefined },
    { namespace: place.namespace, prefix: "ingress-checksum", timestampMs: 0 },
  );
  const { metadata } = await cluster().client.apply(IngressCheckSum, object, { fieldManager: "test" });
  const problems = Array.from({ length: 100 }, (_, index) => ({ name: `${"x".repeat(240)}${index}`, reason: "CertificateInvalid" }));
  const reported = { metadata: { name: metadata.name, namespace: place.namespace }, status: { problemCount: 100, problems } };
  const name = { namespace: place.namespace, name: metadata.name };
  await cluster().client.mergePatch(IngressCheckSum, name, reported, { subresource: "status" });
  expect((await cluster().client.get(IngressCheckSum, name))?.status?.problems).toHaveLength(100);
});
