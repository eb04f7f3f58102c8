// A CRD that changes shows in the index of OpenAPI documents, to whoever is authenticated.
import { expect, it } from "vitest";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import * as z from "zod";
import { crdOf } from "../../src/schema/crd.ts";
import { defineCustomKind } from "../../src/schema/custom-kind.ts";
import { clientOf } from "../cluster/kubeconfig-client.ts";
import { schemaHashes } from "../../src/manager/schema-watch.ts";

const cluster = useSharedCluster();

function kind(status: z.ZodObject): ReturnType<typeof defineCustomKind> {
  return defineCustomKind({ group: "changing.example", kind: "Change", scope: "Namespaced", versions: [{ name: "v1", spec: z.object({}), status }] });
}

it("names another hash once a field was added, for an account without any right", async () => {
  const namespace = await cluster().namespace("changing");
  const nobody = await clientOf(await cluster().kubeconfigFor({ serviceAccount: { namespace, name: "nobody" }, rules: [] }));
  const hashOf = async (): Promise<string | undefined> => (await schemaHashes(nobody)).get("apis/changing.example/v1");
  await cluster().apply(crdOf(kind(z.object({ a: z.string().optional() }))));
  await soon(async () => expect(await hashOf()).toBeDefined());
  const before = await hashOf();
  expect(await hashOf()).toBe(before);
  await cluster().apply(crdOf(kind(z.object({ a: z.string().optional(), b: z.string().optional() }))));
  await soon(async () => expect(await hashOf()).not.toBe(before));
});
