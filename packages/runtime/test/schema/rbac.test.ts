// Declared access against a real authorizer: the generated RBAC gives exactly it, and what is missing is named.
import { afterAll, beforeAll, expect, test } from "vitest";
import { soon, useSharedApiServer } from "@keyturn/runtime/testing/vitest";
import { fixedCredentials } from "../../src/client/auth/credentials.ts";
import type { Client } from "../../src/client/client.ts";
import { ConfigMap, Namespace, Secret } from "../../src/client/builtin-kinds.ts";
import { createHttpTransport } from "../../src/client/http/http-transport.ts";
import { createClient } from "../../src/client/kube-client.ts";
import type { Transport } from "../../src/client/transport.ts";
import type { AccessRule } from "../../src/controller/controller.ts";
import { managerAccess, rbacObjects } from "../../src/schema/rbac.ts";
import { missingAccess, rightInWords } from "../../src/schema/missing-access.ts";

const why = "for the test";
const access: readonly AccessRule[] = [
  { kind: Secret, verbs: ["get", "list", "watch"], why },
  { kind: ConfigMap, verbs: ["create", "patch"], why },
  { kind: ConfigMap, verbs: ["delete"], resourceNames: ["old"], why },
  { kind: Namespace, verbs: ["get"], why },
];

const cluster = useSharedApiServer();
const transports: Transport[] = [];
beforeAll(async () => {
  const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  await cluster().apply([namespace("operator"), namespace("shop"), namespace("web")]);
});
afterAll(async () => {
  for (const transport of transports) transport.close();
});

async function serviceAccount(name: string): Promise<Client> {
  await cluster().apply([{ apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace: "operator", name } }]);
  const token = await cluster().tokenFor({ namespace: "operator", name });
  const credentials = fixedCredentials({ headers: { authorization: `Bearer ${token}` }, tls: { ca: cluster().ca } });
  const transport = createHttpTransport({ server: cluster().url, credentials });
  transports.push(transport);
  return createClient(transport);
}

const missing = async (client: Client, rules: readonly AccessRule[], namespaces: readonly string[] = []): Promise<readonly string[]> =>
  (await missingAccess(client, rules, { namespaces })).map(rightInWords);

test("a process without rights is told every one of them", async () => {
  const client = await serviceAccount("nobody");
  expect(await missing(client, access, ["shop"])).toEqual([
    "get secrets in namespace shop",
    "list secrets in namespace shop",
    "watch secrets in namespace shop",
    "create configmaps in namespace shop",
    "patch configmaps in namespace shop",
    "delete configmaps named old in namespace shop",
    "get namespaces in the cluster",
  ]);
});

test("the generated objects give an operator for the whole cluster all it declared", async () => {
  const client = await serviceAccount("everywhere");
  const own = managerAccess({ operatorNamespace: "operator", controllerAccess: access });
  await cluster().apply(
    rbacObjects({
      name: "everywhere",
      serviceAccount: { namespace: "operator", name: "everywhere" },
      access: [...access, ...own.access],
      accessIn: own.accessIn,
    }),
  );
  await soon(async () => expect(await missing(client, [...access, ...own.access])).toEqual([]));
  await soon(async () => expect(await missing(client, own.accessIn.operator ?? [], ["operator"])).toEqual([]));
  expect(await missing(client, [{ kind: Secret, verbs: ["delete"], why }])).toEqual(["delete secrets in the cluster"]);
});

test("and one that is limited to namespaces nothing beyond them", async () => {
  const client = await serviceAccount("limited");
  await cluster().apply(rbacObjects({ name: "limited", serviceAccount: { namespace: "operator", name: "limited" }, access, namespaces: ["shop"] }));
  await soon(async () => expect(await missing(client, access, ["shop"])).toEqual([]));
  expect(await missing(client, [{ kind: Secret, verbs: ["get"], why }], ["shop", "web"])).toEqual(["get secrets in namespace web"]);
  expect(await missing(client, [{ kind: Secret, verbs: ["list"], why }])).toEqual(["list secrets in the cluster"]);
});
