// Plants secrets wherever there can be some, and looks for them in every byte that the dashboard serves.
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { DashboardRecord, ObjectRef } from "@keyturn/dashboard/contract";
import { objectPath } from "@keyturn/dashboard/contract";
import { Secret } from "@keyturn/runtime";
import { soon, useCluster } from "@keyturn/runtime/testing/vitest";
import { expect, test } from "vitest";
import { defaultVersionAnnotation } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { issueStory } from "../../packages/keyturn/src/dev/stories.ts";
import { makeCertificate, secretData } from "../../packages/keyturn/test/certificates.ts";
import { ask, lanesOf, openPage } from "./support/page-reader.ts";
import { everythingShown, serveOperator, viewerToken } from "./support/served-operator.ts";
import { applyIn } from "./support/shown-objects.ts";

const cluster = useCluster();
const namespace = "planted";
const runtime = "0b5e3c2a-7a2f-4d6e-9b1c-3f8d2e4a6c10";

const word = (): string => randomBytes(18).toString("base64url");
const encoded = (text: string): string => Buffer.from(text).toString("base64");

test("no planted secret is in any byte that is served, logged or counted", async () => {
  await using stack = new AsyncDisposableStack();
  const { flags = {} } = await issueStory(cluster(), stack);
  const viewer = await viewerToken(cluster(), "viewer", everythingShown);
  await applyIn(cluster(), namespace, []);
  await using operator = await serveOperator(cluster(), {
    controllers: "eventing-auth,jwks,rotation,checksum",
    flags: { ...flags, "checksum.namespaces": namespace },
  });
  using page = await openPage(operator.url, { bearer: viewer });

  const applied = word();
  const annotations = {
    "kubectl.kubernetes.io/last-applied-configuration": `{"data":{"password":"${applied}"}}`,
    "example.com/note": `token=${applied}`,
  };
  const { certificate, privateKey } = makeCertificate();
  const contents = { first: word(), second: word(), other: word() };
  const rotationSet = "rotator.k8s.telekom.com/rotation-set";
  const source = (content: string) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "source", annotations: { ...annotations, [rotationSet]: "keys", "rotator.k8s.telekom.com/source": "true" } },
    data: { password: encoded(content), certificate: encoded(certificate) },
  });
  await applyIn(cluster(), namespace, [
    {
      apiVersion: "v1",
      kind: "Secret",
      type: "kubernetes.io/tls",
      metadata: { name: "tls-27555", annotations: { ...annotations, [defaultVersionAnnotation]: "1" } },
      data: { ...secretData(certificate, privateKey), extra: encoded(contents.other) },
    },
    source(contents.first),
    {
      apiVersion: "keyturn.io/v1alpha1",
      kind: "JWKSConfig",
      metadata: { name: "tokens", annotations },
      spec: { certificateSecret: "tls-27555", configMapName: "tokens" },
    },
    // Its error quotes what it finds.
    {
      apiVersion: "keyturn.io/v1alpha1",
      kind: "JWKSConfig",
      metadata: { name: "broken", annotations },
      spec: { certificateSecret: "source", configMapName: "broken" },
    },
    {
      apiVersion: "rotator.k8s.telekom.com/v1",
      kind: "RotationTarget",
      metadata: { name: "live", annotations },
      spec: { rotationSet: "keys", rotationOrder: 1 },
    },
    {
      apiVersion: "rotator.k8s.telekom.com/v1",
      kind: "RotationTarget",
      metadata: { name: "previous", annotations },
      spec: { rotationSet: "keys", rotationOrder: 2, rotationDelay: "1h" },
    },
  ]);
  await applyIn(cluster(), "kcp-system", [
    { apiVersion: "operator.kyma-project.io/v1alpha1", kind: "EventingAuth", metadata: { name: runtime, annotations } },
  ]);
  await soon(() =>
    expect(
      page
        .table("keySets")
        .map(({ health }) => health)
        .toSorted(),
    ).toEqual(["failed", "healthy"]),
  );
  await soon(() => expect(page.table("issued")[0]).toMatchObject({ health: "healthy", cells: { application: { main: runtime } } }));
  await soon(() => expect(page.table("checksums")).toHaveLength(1));
  await soon(() => expect(lanesOf(page.table("rotationSets")[0])[1]?.bars).toHaveLength(1));
  await applyIn(cluster(), namespace, [source(contents.second)]);
  await soon(() => expect(lanesOf(page.table("rotationSets")[0])[1]?.bars).toHaveLength(2));

  const issued = await cluster().client.get(Secret, { namespace: "kyma-system", name: "eventing-webhook-auth" });
  const provider = await cluster().client.get(Secret, { namespace: "kcp-system", name: "eventing-auth-ias-creds" });
  const kubeconfig = await cluster().client.get(Secret, { namespace: "kcp-system", name: `kubeconfig-${runtime}` });
  const decoded = (secret: typeof issued, key: string): string => Buffer.from(secret?.data?.[key] ?? "", "base64").toString();
  const ownToken =
    /token: (\S+)/.exec(
      await readFile(await cluster().kubeconfigFor({ serviceAccount: { namespace: "keyturn-system", name: "keyturn" } }), "utf8"),
    )?.[1] ?? "";
  const pemLines = (pem: string): readonly string[] => pem.split("\n").filter((line) => line.length > 20 && !line.startsWith("-----"));
  const secrets = [
    applied,
    ...Object.values(contents),
    decoded(issued, "client_secret"),
    decoded(provider, "password"),
    /token: (\S+)/.exec(decoded(kubeconfig, "config"))?.[1] ?? "",
    viewer,
    ownToken,
    ...pemLines(privateKey.export({ type: "pkcs8", format: "pem" }).toString()),
    // Not secret, and not for the page either.
    ...pemLines(certificate).slice(0, 2),
  ];
  expect(secrets.every((secret) => secret.length >= 16)).toBe(true);
  const forms = secrets.flatMap((secret) => [secret, encoded(secret).slice(0, 20), Buffer.from(secret).toString("hex"), encodeURIComponent(secret)]);

  const records = Array.from(page.records.values());
  const bearers = [viewer, "wrong", undefined];
  const paths = ["", "index.html", "api/session", "api/nowhere", "api/object", ...records.flatMap(refsOf).map(objectPath)];
  const answers = await Promise.all(bearers.flatMap((bearer) => paths.map((path) => ask(`${operator.url}${path}`, { bearer }))));
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(records.length);
  using snapshot = await openPage(operator.url, { bearer: viewer });
  await soon(() => expect(snapshot.records.size).toBe(page.records.size));
  const served = [
    page.bytes,
    snapshot.bytes,
    ...answers.map(({ headers, body }) => JSON.stringify(headers) + body),
    await operator.metrics(),
    JSON.stringify(operator.logLines),
    (await operator.readyz()).text,
  ];
  expect(served.join("").length).toBeGreaterThan(10_000);
  for (const text of served) expect(forms.filter((form) => text.includes(form))).toEqual([]);
});

/** Every object that a record names. */
function refsOf(record: DashboardRecord): readonly ObjectRef[] {
  if (record.type === "step") return [];
  const { ref, lanes = [], source } = record;
  return [ref, ...lanes.map((lane) => lane.ref), ...lanes.flatMap(({ object }) => object ?? []), ...(source ? [source] : [])];
}
