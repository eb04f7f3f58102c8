// What is covered, what is left out and why, and what is never touched.
import { Ingress, Namespace, Secret } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { describe, expect, test } from "vitest";
import { checksumFeature } from "../../packages/keyturn/src/controllers/checksum/feature.ts";
import { certificate, IngressCheckSum, SecretCheckSum, verifiedNamespace } from "./verified-namespace.ts";

const cluster = useSharedCluster();

describe("objects that are left out", { concurrent: true }, () => {
  test("are in the status and the metrics, each with its reason, and nothing of them is anywhere else", async () => {
    await using place = await verifiedNamespace(cluster(), "left-out");
    const operator = await place.startOperator();
    const [good, other] = [certificate(0), certificate(1)];
    await place.putSecret("shop-7", 1, good);
    await place.putSecret("twin-007", 1, good);
    await place.putSecret("wild", 1, good);
    await place.putSecret("plain-1", undefined, good);
    await place.putSecret("zero-2", 0, good);
    await place.putSecret("words-3", "latest", good);
    await place.put({ ...place.secret("torn-4", 1, good), data: { "tls.crt": "AAAA", "tls.key": "" } });
    await place.put({ ...place.secret("empty-5", 1, good), data: { "tls.crt": "", "tls.key": "" } });
    await place.putSecret("mixed-6", 1, { ...good, privateKey: other.privateKey });
    const { status, spec } = await soon(async () => {
      const newest = await place.published(["7-1", "7-1"]);
      expect(newest.status?.problemCount).toBe(8);
      return newest;
    });
    expect(spec.count).toBe(2);
    expect(status?.problems?.map(({ name, reason }) => `${name} ${reason}`)).toEqual([
      "empty-5 CertificateMissing",
      "mixed-6 KeyMismatch",
      "plain-1 VersionMissing",
      "torn-4 CertificateInvalid",
      "twin-007 DuplicateId",
      "wild NumberMissing",
      "words-3 VersionInvalid",
      "zero-2 VersionInvalid",
    ]);
    const labels = `kind="SecretCheckSum",namespace="${place.namespace}"`;
    const metrics = await soon(async () => {
      const text = await operator.metrics();
      expect(text).toContain(`keyturn_checksum_objects{${labels}} 2\n`);
      expect(text).toContain(`keyturn_checksum_problem_objects{${labels},reason="VersionInvalid"} 2\n`);
      expect(text).toContain(`keyturn_checksum_problem_objects{${labels},reason="DuplicateId"} 1\n`);
      return text;
    });
    const everything = JSON.stringify([operator.logLines, metrics, await place.checksums()]);
    const key = place.secret("shop-7", 1, good).data?.["tls.key"] ?? expect.fail();
    expect(everything).not.toContain(key.slice(40, 80));
    expect(everything).not.toContain("PRIVATE KEY");
    await place.putSecret("zero-2", 5, certificate(2));
    await soon(async () => expect(await operator.metrics()).toContain(`keyturn_checksum_problem_objects{${labels},reason="VersionInvalid"} 1\n`));
  });

  test("alone do not make a checksum", async () => {
    await using place = await verifiedNamespace(cluster(), "alone");
    const operator = await place.startOperator();
    await place.putSecret("wild", 1);
    await soon(async () => expect(await operator.metrics()).toContain('reason="NumberMissing"} 1'));
    expect(await place.checksums()).toEqual([]);
  });
});

test("when no object counts any more the last checksum stays and says so, unless a flag says otherwise", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "empty");
  const careful = await place.startOperator();
  await place.putSecret("shop-7", 1);
  const { metadata } = await place.published(["7-1"]);
  await place.removeSecret("shop-7");
  await soon(async () => expect(await place.condition(metadata.name, "Current")).toBe("False EmptySet"));
  expect(await place.checksums()).toHaveLength(1);
  await careful.stop();
  await place.startOperator({ flags: { "checksum.publish-empty": "true" } });
  const { spec } = await place.published([]);
  expect(spec).toMatchObject({ checksum: "d41d8cd98f00b204e9800998ecf8427e", count: 0 });
});

describe("checksums of others", { concurrent: true }, () => {
  const foreign = (namespace: string) => ({
    apiVersion: "tengine.taobao.org/v1alpha1",
    kind: "SecretCheckSum",
    metadata: { namespace, name: "secret-aii2kzb9gl" },
    spec: {
      checksum: "50d00d896e16a82a5fe3e9b741abf04e",
      ids: ["118-5792-8c0483a291c2252a455c95084d98ccc2d0e14ae7"],
      timestamp: "2023-05-01T00:00:00Z",
    },
  });

  test("are never touched, however old they are, and in either version of the API", async () => {
    await using place = await verifiedNamespace(cluster(), "foreign");
    await cluster().apply(foreign(place.namespace));
    const name = { namespace: place.namespace, name: "secret-aii2kzb9gl" };
    const before = await cluster().client.get(SecretCheckSum, name);
    await place.startOperator({ flags: { "checksum.keep": "1", "checksum.keep-for": "1s" } });
    for (const version of [1, 2, 3]) {
      await place.putSecret("shop-7", version);
      await place.published([`7-${version}`]);
    }
    await soon(async () => expect(await place.checksums()).toHaveLength(2));
    expect(await cluster().client.get(SecretCheckSum, name)).toEqual(before);
    expect(await cluster().kubectl("get", "secretchecksums.v1alpha1.tengine.taobao.org", "-n", place.namespace, "-o", "name")).toContain(name.name);
  });
});

describe("what people do to a checksum of ours", { concurrent: true }, () => {
  test("one that is deleted is published anew", async () => {
    await using place = await verifiedNamespace(cluster(), "deleted");
    await place.startOperator();
    await place.putSecret("shop-7", 1);
    const { metadata } = await place.published(["7-1"]);
    await cluster().client.delete(SecretCheckSum, { namespace: place.namespace, name: metadata.name });
    const again = await place.published(["7-1"]);
    expect(again.metadata.uid).not.toBe(metadata.uid);
  });

  test("one that is edited goes, once what holds is published anew", async () => {
    await using place = await verifiedNamespace(cluster(), "edited");
    await place.startOperator();
    await place.putSecret("shop-7", 1);
    const { metadata } = await place.published(["7-1"]);
    await cluster().client.mergePatch(SecretCheckSum, { namespace: place.namespace, name: metadata.name }, { spec: { ids: ["7-9-x"] } });
    await soon(async () => expect((await place.checksums()).map((checksum) => checksum.metadata.name)).not.toContain(metadata.name));
    await place.published(["7-1"]);
    expect(await place.eventSays(metadata.name, "ChecksumDamaged")).toContain("no longer says what was published");
  });
});

describe("what flags choose", { concurrent: true }, () => {
  test("another annotation for the version", async () => {
    await using place = await verifiedNamespace(cluster(), "annotation");
    await place.startOperator({ flags: { "checksum.version-annotations": "example.com/version" } });
    await place.putSecret("shop-7", 1);
    const { metadata, ...rest } = place.secret("bank-8", undefined, certificate(0));
    await place.put({ ...rest, metadata: { ...metadata, annotations: { "example.com/version": "2" } } });
    await place.published(["8-2"]);
  });

  test("only Secrets with certain labels, and of every type", async () => {
    await using place = await verifiedNamespace(cluster(), "selector");
    await place.startOperator({ flags: { "checksum.secret-selector": "gateway=tao", "checksum.secret-types": "all" } });
    const { metadata, ...rest } = place.secret("shop-7", 1, certificate(0));
    await place.put({ ...rest, metadata });
    await place.put({ ...rest, type: "Opaque", metadata: { ...metadata, name: "bank-8", labels: { gateway: "tao" } } });
    const authority = { "ca.crt": rest.data?.["tls.crt"] ?? "" };
    await place.put({ ...rest, type: "Opaque", data: authority, metadata: { ...metadata, name: "ca-9", labels: { gateway: "tao" } } });
    const { spec } = await place.published(["8-1", "9-1"]);
    expect(spec.ids?.[1]).toBe("9-1-");
  });

  test("only Ingresses of certain classes", async () => {
    await using place = await verifiedNamespace(cluster(), "classes");
    await place.startOperator({ flags: { "checksum.ingress-classes": "tengine" } });
    await place.putIngress("shop-7", 1);
    await place.putIngress("bank-8", 1);
    await cluster().client.mergePatch(Ingress, { namespace: place.namespace, name: "bank-8" }, { spec: { ingressClassName: "tengine" } });
    await place.published(["8-1"], IngressCheckSum);
  });

  test("only one kind: no rights are asked for the other", () => {
    const controllers = checksumFeature.controllers((flag) => flag.parse(flag.name === "checksum.kinds" ? "ingresses" : undefined));
    expect(controllers.map(({ name }) => name)).toEqual(["checksum-ingress"]);
    expect(controllers.flatMap(({ access }) => access).filter(({ kind }) => kind.plural === Secret.plural)).toEqual([]);
    expect(() => checksumFeature.controllers((flag) => flag.parse(flag.name === "checksum.kinds" ? "pods" : undefined))).toThrow(
      '"pods" is not one of',
    );
  });

  test("namespaces by label: from the moment they have it, and not after they have lost it; nothing elsewhere is read", async () => {
    await using place = await verifiedNamespace(cluster(), "labelled");
    const { namespace } = place;
    await place.putSecret("shop-7", 1);
    const operator = await place.startClusterOperator({ "checksum.namespace-selector": `verified=${namespace}` });
    await soon(async () => expect((await operator.readyz()).status).toBe(200));
    expect(await place.checksums()).toEqual([]);
    expect(await operator.metrics()).not.toMatch(/^keyturn_checksum_objects_read_total\{.*\} [1-9]/m);
    await cluster().client.mergePatch(Namespace, { name: namespace }, { metadata: { labels: { verified: namespace } } });
    const { metadata } = await place.published(["7-1"]);
    await cluster().client.mergePatch(Namespace, { name: namespace }, { metadata: { labels: { verified: null } } });
    await soon(async () =>
      expect(await operator.metrics()).not.toContain(`keyturn_checksum_objects{kind="SecretCheckSum",namespace="${namespace}"}`),
    );
    await place.putSecret("shop-7", 2);
    await cluster().client.mergePatch(Namespace, { name: namespace }, { metadata: { labels: { verified: namespace } } });
    await place.published(["7-2"]);
    expect((await place.checksums()).map((checksum) => checksum.metadata.name)).toContain(metadata.name);
  });
});

test("the sample Secrets of Tengine's documentation count without any flag", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "samples");
  await place.startOperator();
  const samples = [
    ["alibaba-com-ecc-118", "5792"],
    ["alibaba-com-rsa-119", "5793"],
  ] as const;
  for (const [index, [name, version]] of samples.entries()) {
    const { metadata, ...rest } = place.secret(name, undefined, certificate(index));
    await place.put({ ...rest, metadata: { ...metadata, annotations: { "fs.ingress.alibaba/version": version } } });
  }
  await place.published(["118-5792", "119-5793"]);
});
