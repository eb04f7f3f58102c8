// Values that a real API server refuses, and quotes while doing so: they reach neither log, condition, Event nor metric.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:https";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import {
  type Client,
  conditionsSchema,
  defineCustomKind,
  defineKind,
  Event,
  findCondition,
  type Kind,
  type KubeObject,
  type ObjectOf,
  TransientError,
} from "@keyturn/runtime";
import { createAuthority, issueCertificate } from "@keyturn/runtime/testing";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { startFailing } from "./failing-operator.ts";

const Vault = defineCustomKind({
  group: "refusals.example",
  kind: "Vault",
  scope: "Namespaced",
  versions: [
    {
      name: "v1",
      spec: z
        .object({ password: z.string().regex(/^[a-z]+$/), tags: z.array(z.enum(["a", "b"])).optional(), note: z.string().max(100).optional() })
        .meta({ cel: [{ rule: "!has(self.note)", messageExpression: "'refused: ' + self.note" }] }),
      status: z.object({ conditions: conditionsSchema.optional() }),
    },
  ],
});
type Vault = ObjectOf<typeof Vault>;

const secret = `Hunter-2-${randomBytes(6).toString("hex")}`;
const cluster = useSharedCluster();

/** Denies, and quotes what it denies. */
const policy = [
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "no-mirrors" },
    spec: {
      matchConstraints: { resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }] },
      validations: [{ expression: "!has(object.data) || !('mirrored' in object.data)", messageExpression: "'refused: ' + object.data.mirrored" }],
    },
  },
  {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name: "no-mirrors" },
    spec: { policyName: "no-mirrors", validationActions: ["Deny"] },
  },
];

/** Denies, and echoes what it was sent: in its words, in a field and in a cause. */
async function startEchoingWebhook(): Promise<{ readonly configuration: KubeObject; readonly close: () => void }> {
  const authority = createAuthority("webhooks");
  const { certificate, privateKey } = issueCertificate(authority, { usage: "server", commonName: "127.0.0.1", hosts: ["127.0.0.1"] });
  const server = createServer({ cert: certificate, key: privateKey }, (request, response) => {
    void text(request).then((body) => {
      const review: { readonly request: { readonly uid: string } } = JSON.parse(body);
      const status = { code: 422, message: `refused: ${body}`, reason: secret, details: { causes: [{ field: `spec.${secret}`, message: secret }] } };
      response.setHeader("content-type", "application/json");
      const answer = { uid: review.request.uid, allowed: false, status, warnings: [`you sent ${secret}`] };
      response.end(JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: answer }));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const configuration = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "echoing" },
    webhooks: [
      {
        name: "echo.refusals.example",
        clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: Buffer.from(authority.certificate).toString("base64") },
        rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
        objectSelector: { matchLabels: { echoed: "yes" } },
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
      },
    ],
  };
  return {
    configuration,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

interface Loose extends KubeObject {
  readonly spec: unknown;
}
/** The same kind for objects that it does not allow. */
const LooseVault: Kind<Loose> = defineKind({ group: Vault.group, version: Vault.version, kind: Vault.kind, plural: Vault.plural, namespaced: true });

/** Writes that carry the secret and are refused, each with what may be told of them. */
const refusals: Readonly<Record<string, readonly [write: (client: Client, namespace: string) => Promise<unknown>, told: string]>> = {
  pattern: [
    (client, namespace) => create(client, namespace, { spec: { password: secret } }),
    'Vault "refused" is invalid: spec.password (Invalid value)',
  ],
  member: [
    (client, namespace) => create(client, namespace, { spec: { password: [secret] } }),
    'Vault "refused" is invalid: spec.password (Invalid type)',
  ],
  choice: [
    (client, namespace) => create(client, namespace, { spec: { password: "a", tags: [secret] } }),
    'Vault "refused" is invalid: spec.tags[0] (Unsupported value)',
  ],
  rule: [
    (client, namespace) => create(client, namespace, { spec: { password: "a", note: secret } }),
    'Vault "refused" is invalid: spec (Invalid value)',
  ],
  field: [
    (client, namespace) => create(client, namespace, { spec: { password: "a", nonsense: secret } }),
    'bad request: unknown field "spec.nonsense"',
  ],
  patch: [
    (client, namespace) => client.mergePatch(LooseVault, { namespace, name: "patch" }, { spec: { password: secret } }),
    'Vault "patch" is invalid: spec.password (Invalid value)',
  ],
  apply: [
    (client, namespace) =>
      client.apply(LooseVault, { metadata: { namespace, name: "refused" }, spec: { password: [secret] } }, { fieldManager: "test" }),
    "bad request: .spec.password (expected string)",
  ],
  label: [
    (client, namespace) => post(client, `/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: "refused", labels: { a: `${secret}!` } } }),
    'ConfigMap "refused" is invalid: metadata.labels (Invalid value)',
  ],
  kind: [
    (client, namespace) => post(client, `/apis/refusals.example/v1/namespaces/${namespace}/vaults`, { spec: { password: secret } }),
    "bad request: Object 'Kind' is missing",
  ],
  time: [
    (client, namespace) => post(client, `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`, { spec: { renewTime: secret } }),
    "bad request: parsing time",
  ],
  webhook: [
    async (client, namespace) => {
      const object = { metadata: { name: "refused", labels: { echoed: "yes" } }, data: { password: secret } };
      await post(client, `/api/v1/namespaces/${namespace}/configmaps`, object);
      throw new TransientError("the webhook is not in force yet", { reason: "NotYet", retryAfterMs: 200 });
    },
    'admission webhook "echo.refusals.example" denied the request',
  ],
  policy: [
    async (client, namespace) => {
      await post(client, `/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: "refused" }, data: { mirrored: secret } });
      throw new TransientError("the policy is not in force yet", { reason: "NotYet", retryAfterMs: 200 });
    },
    `configmaps "refused" is invalid: ValidatingAdmissionPolicy 'no-mirrors' with binding 'no-mirrors' denied request`,
  ],
};

function create(client: Client, namespace: string, { spec }: { readonly spec: object }): Promise<unknown> {
  return client.create(LooseVault, { metadata: { namespace, name: "refused" }, spec }, { dryRun: true });
}

function post(client: Client, path: string, object: object): Promise<unknown> {
  return client.request({
    method: "POST",
    path: `${path}?dryRun=All`,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(object),
  });
}

it("no refused value is in logs, conditions, Events or metrics, and each refusal still says what is wrong", async () => {
  const webhook = await startEchoingWebhook();
  onTestFinished(webhook.close);
  await cluster().apply([...policy, webhook.configuration]);
  const { client } = cluster();
  const runs = Object.fromEntries(Object.entries(refusals).map(([name, [write]]) => [name, write]));
  await using failing = await startFailing(cluster(), Vault, { object: { spec: { password: "a" } }, runs });
  const { namespace, operator } = failing;

  const told = Object.fromEntries(Object.entries(refusals).map(([name, [, text]]) => [name, expect.stringContaining(text)]));
  await soon(async () => {
    const { items: vaults } = await client.list<Vault>(Vault, { namespace });
    expect(Object.fromEntries(vaults.map(({ metadata, status }) => [metadata.name, findCondition(status?.conditions, "Ready")?.message]))).toEqual(
      told,
    );
    const { items: events } = await client.list(Event, { namespace });
    for (const [name, text] of Object.entries(told))
      expect(events.filter(({ regarding }) => regarding?.name === name).map(({ note }) => note)).toContainEqual(text);
    const logged = operator.logLines.filter(({ reason }) => reason === "Invalid" || reason === "BadRequest");
    expect(Object.fromEntries(logged.map(({ key, error }) => [String(key).split("/")[1], error]))).toEqual(told);
  });
  const { items: events } = await client.list(Event, { namespace });
  const { items: vaults } = await client.list<Vault>(Vault, { namespace });
  expect(JSON.stringify([operator.logLines, events, vaults, await operator.metrics()])).not.toContain(secret);
});
