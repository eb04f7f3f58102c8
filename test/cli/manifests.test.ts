// What `keyturn crds` and `keyturn rbac` print, given to a real API server: checked strictly, stored nowhere.
import { parseAllDocuments } from "yaml";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import {
  apiVersionOf,
  ClusterRole,
  ClusterRoleBinding,
  CustomResourceDefinition,
  type Kind,
  type KubeObject,
  Role,
  RoleBinding,
} from "@keyturn/runtime";
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { runKeyturn } from "../support/keyturn-process.ts";

const cluster = useSharedCluster();
const kinds: readonly Kind[] = [CustomResourceDefinition, ClusterRole, ClusterRoleBinding, Role, RoleBinding];

async function printed(...command: readonly string[]): Promise<readonly KubeObject[]> {
  const { code, out } = await runKeyturn(...command);
  expect(code).toBe(0);
  return parseAllDocuments(out).map((document) => document.toJS() as KubeObject);
}

describe.each([
  ["crds", ["crds"]],
  ["rbac", ["rbac", "--namespace=default"]],
  ["rbac, limited to namespaces", ["rbac", "--namespace=default", "--namespaces=default,kube-public", "--controllers=jwks"]],
])("keyturn %s", (_name, command) => {
  it("prints manifests that a server-side dry run with strict validation accepts as they are", async () => {
    const objects = await printed(...command);
    expect(objects.length).toBeGreaterThan(0);
    for (const object of objects) {
      const kind = kinds.find((known) => known.kind === object.kind && apiVersionOf(known) === object.apiVersion);
      if (!kind) throw new Error(`a ${object.kind} was not expected`);
      const stored = await cluster().client.apply(kind, object, { fieldManager: "test", force: true, dryRun: true });
      expect(stored.metadata.name).toBe(object.metadata.name);
    }
  });
});

it("keyturn rbac, limited to namespaces, asks for nothing in the whole cluster but to see what belongs to no namespace", async () => {
  const objects = await printed("rbac", "--namespace=ops", "--namespaces=shop", "--metrics-secure=false", "--controllers=jwks,rotation");
  expect(objects.map(({ kind, metadata }) => `${kind} in ${metadata.namespace}`).sort((left, right) => (left < right ? -1 : 1))).toEqual([
    "Role in ops",
    "Role in shop",
    "RoleBinding in ops",
    "RoleBinding in shop",
  ]);
  const all = await printed("rbac", "--namespace=ops", "--namespaces=shop");
  const [wide, ...others] = all.filter(({ kind }) => kind === "ClusterRole").map((object) => (object as ClusterRole).rules ?? []);
  expect(others).toEqual([]);
  expect(wide?.map(({ resources, verbs }) => [resources, verbs])).toEqual([
    [["namespaces"], ["list", "watch"]],
    [["mutatingwebhookconfigurations"], ["list", "watch"]],
    [["tokenreviews"], ["create"]],
    [["subjectaccessreviews"], ["create"]],
  ]);
});

it("keyturn rbac --agent grants what an agent needs in one namespace, and nothing elsewhere", async () => {
  const objects = await printed("rbac", "--agent", "--namespace=gateway", "--service-account=gateway");
  expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.name} in ${metadata.namespace}`)).toEqual([
    "Role keyturn-agent in gateway",
    "RoleBinding keyturn-agent in gateway",
  ]);
});

it("every kind has the category keyturn, a short name, a status, and columns that say how it fares, why, and how old it is", async () => {
  for (const object of await printed("crds")) {
    const crd = object as CustomResourceDefinition;
    expect(crd.spec.names.categories).toContain("keyturn");
    expect(crd.spec.names.shortNames).toHaveLength(1);
    for (const version of crd.spec.versions) {
      expect(version.subresources?.status).toEqual({});
      const columns = z
        .array(z.object({ name: z.string() }))
        .parse(version.additionalPrinterColumns)
        .map(({ name }) => name);
      // eventing-auth-manager's column is called State.
      expect(columns.filter((name) => ["Ready", "State"].includes(name))).toHaveLength(1);
      expect(columns).toContain("Reason");
      expect(columns.at(-1)).toBe("Age");
    }
  }
});
