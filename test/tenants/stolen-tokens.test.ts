// What a stolen token of each controller is worth, asked of a real API server with that very token: what the controller needs, and nothing of the others.
import { createClient, createHttpTransport, loadConfig } from "@keyturn/runtime";
import { useSharedApiServer } from "@keyturn/runtime/testing/vitest";
import { beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { features } from "../../packages/keyturn/src/registry.ts";
import { renderChart } from "../../tools/chart-rendering.ts";

const cluster = useSharedApiServer();
/** Of the processes with `split`: those that restart workloads are one. */
const names = features.map(({ name }) => name).filter((name) => name !== "consumers");
const reviewSchema = z.object({ status: z.object({ allowed: z.boolean() }) });

/** What thieves would like to do in somebody else's namespace, or in that of the installation. */
const wishes = {
  "read Secrets": ["", "secrets", "list"],
  "change Secrets": ["", "secrets", "update"],
  "change ConfigMaps": ["", "configmaps", "patch"],
  "run Deployments": ["apps", "deployments", "create"],
  "change workloads": ["apps", "deployments", "patch"],
  "run pods": ["", "pods", "create"],
  "enter pods": ["", "pods/exec", "create"],
  "get tokens": ["", "serviceaccounts/token", "create"],
  "give itself rights": ["rbac.authorization.k8s.io", "clusterrolebindings", "create"],
  "change webhooks": ["admissionregistration.k8s.io", "mutatingwebhookconfigurations", "update"],
  "change CRDs": ["apiextensions.k8s.io", "customresourcedefinitions", "update"],
  "be somebody else": ["", "users", "impersonate"],
} as const;

let tenant: string;
beforeAll(async () => {
  tenant = await cluster().namespace("tenant");
});

/** What is asked for, perhaps about one object alone. */
type Right = readonly [group: string, resource: string, verb: string, name?: string];

/** What the token of each controller can do where, with the chart's `split` and these values. */
async function worth(
  values: object,
  {
    installation,
    namespace = tenant,
    of = wishes,
  }: { readonly installation: string; readonly namespace?: string; readonly of?: Readonly<Record<string, Right>> },
): Promise<Readonly<Record<string, readonly string[]>>> {
  const controllers = Object.fromEntries(["eventingAuth", "rotation", "jwks", "checksum", "sidecars"].map((name) => [name, { enabled: true }]));
  const whole = { fullnameOverride: installation, split: true, controllers, crds: { enabled: false }, ...values };
  const objects = await renderChart(whole, { name: installation, namespace: installation });
  const rights = objects.filter(({ kind }) => /^(?:Cluster)?Role|^ServiceAccount$/.test(kind));
  const missing = new Set(rights.flatMap(({ metadata }) => metadata.namespace ?? []));
  await cluster().apply([...missing].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })));
  await cluster().apply(rights);
  const entries = names.map(async (name) => {
    const kubeconfig = await cluster().kubeconfigFor({ serviceAccount: { namespace: installation, name: `${installation}-${name}` } });
    const client = createClient(createHttpTransport(await loadConfig({ kubeconfig, env: {} })));
    const can = async ([group, resource, verb, name]: Right): Promise<boolean> => {
      const [plural = "", subresource] = resource.split("/");
      const resourceAttributes = {
        namespace,
        group,
        verb,
        resource: plural,
        ...(subresource !== undefined && { subresource }),
        ...(name !== undefined && { name }),
      };
      const body = JSON.stringify({ apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes } });
      const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
      const answer = await client.request({ method: "POST", path, headers: { "content-type": "application/json" }, body });
      return reviewSchema.parse(answer).status.allowed;
    };
    const granted = await Promise.all(Object.entries(of).map(async ([wish, right]) => ((await can(right)) ? [wish] : [])));
    return [name, granted.flat()] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

test("by default, in any namespace", async () => {
  const installation = await cluster().namespace("stolen");
  await expect
    .poll(() => worth({}, { installation }), { timeout: 300_000 })
    .toEqual({
      "eventing-auth": [],
      rotation: ["read Secrets", "change Secrets", "change ConfigMaps"],
      jwks: ["read Secrets", "change ConfigMaps"],
      checksum: ["read Secrets"],
      sidecars: ["change workloads", "run pods"],
    });
});

test("without the question before a restart, nobody runs pods; where documents are served, jwks runs Deployments", async () => {
  const values = {
    controllers: { sidecars: { enabled: true, checkAdmission: false }, jwks: { enabled: true, serving: true }, eventingAuth: { enabled: true } },
  };
  const installation = await cluster().namespace("stolen");
  await expect
    .poll(() => worth(values, { installation }), { timeout: 300_000 })
    .toMatchObject({
      jwks: ["read Secrets", "change ConfigMaps", "run Deployments", "change workloads"],
      sidecars: ["change workloads"],
    });
});

test("who restarts workloads for what they use reads Secrets too", async () => {
  const values = { controllers: { sidecars: { enabled: true }, consumers: { enabled: true }, eventingAuth: { enabled: true } } };
  const installation = await cluster().namespace("stolen");
  await expect
    .poll(() => worth(values, { installation }), { timeout: 300_000 })
    .toMatchObject({ sidecars: ["read Secrets", "change workloads", "run pods"] });
});

test("limited to namespaces, nothing anywhere else, and nothing in the installation's own", async () => {
  const installation = await cluster().namespace("stolen");
  const limited = { namespaces: [await cluster().namespace("shop")], rbac: { clusterRoles: true } };
  for (const namespace of [tenant, installation]) {
    await expect
      .poll(() => worth(limited, { installation, namespace }), { timeout: 300_000 })
      .toEqual(Object.fromEntries(names.map((name) => [name, []])));
  }
});

test("no controller's token takes the Lease of another, or what it remembers", async () => {
  const installation = await cluster().namespace("stolen");
  const leases = ["eventing-auth", "rotation", "jwks", "jwks-rieset", "checksum", "checksum-ingress", "sidecars", "restarts"];
  const of = Object.fromEntries(leases.map((name) => [name, ["coordination.k8s.io", "leases", "update", `keyturn-${name}`] as const]));
  await expect
    .poll(() => worth({}, { installation, namespace: installation, of }), { timeout: 300_000 })
    .toEqual({
      "eventing-auth": ["eventing-auth"],
      rotation: ["rotation"],
      jwks: ["jwks", "jwks-rieset"],
      checksum: ["checksum", "checksum-ingress"],
      sidecars: ["sidecars", "restarts"],
    });
});
