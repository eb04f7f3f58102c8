// Pausing: while a namespace or one of its checksums is paused, nothing is published and nothing goes.
import { Namespace } from "@keyturn/runtime";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { SecretCheckSum, verifiedNamespace } from "../checksum/verified-namespace.ts";

const cluster = useSharedCluster();
const paused = "keyturn.io/paused";

test("a paused checksum stays the one that counts, says so, and what happened meanwhile is published afterwards", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "paused");
  const operator = await place.startOperator();
  await place.putSecret("site-1", 1);
  const { metadata } = await place.published(["1-1"]);
  await cluster().kubectl("wait", "--for=condition=Ready", `secretchecksum/${metadata.name}`, "-n", place.namespace, "--timeout=300s");
  const annotate = (text: string): Promise<string> => cluster().kubectl("annotate", "secretchecksum", metadata.name, text, "-n", place.namespace);
  await annotate(`${paused}=true`);
  await soon(async () => expect(await place.condition(metadata.name, "Current")).toBe("True Paused"));
  expect(await place.eventSays(metadata.name, "Paused")).toContain(paused);
  await place.putSecret("site-2", 1);
  // The operator knows of both, and publishes neither.
  await soon(async () => expect(await operator.metrics()).toMatch(/^keyturn_checksum_objects\{kind="SecretCheckSum",.*\} 2$/m));
  expect(await place.checksums()).toHaveLength(1);
  await annotate(`${paused}-`);
  await place.published(["1-1", "2-1"]);
});

test("a namespace that is chosen by its label can be paused itself, or skipped", { concurrent: true }, async () => {
  await using place = await verifiedNamespace(cluster(), "paused-namespace");
  await using other = await verifiedNamespace(cluster(), "skipped-namespace");
  const change = (namespace: string, metadata: object): Promise<unknown> => cluster().client.mergePatch(Namespace, { name: namespace }, { metadata });
  const labels = { "selection-test": place.namespace };
  await change(place.namespace, { labels });
  await change(other.namespace, { labels });
  await place.putSecret("site-1", 1);
  await other.putSecret("site-1", 1);
  await place.startClusterOperator({
    "checksum.namespace-selector": `selection-test=${place.namespace}`,
    "skip-namespaces": other.namespace,
  });
  const { metadata } = await place.published(["1-1"]);
  await change(place.namespace, { annotations: { [paused]: "true" } });
  await soon(async () => expect(await place.condition(metadata.name, "Current")).toBe("True Paused"));
  expect(await place.eventSays(metadata.name, "Paused")).toContain("its namespace");
  await place.putSecret("site-2", 1);
  await change(place.namespace, { annotations: { [paused]: null } });
  await place.published(["1-1", "2-1"]);
  expect(await other.checksums(SecretCheckSum)).toEqual([]);
});
