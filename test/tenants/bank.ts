// The neighbour of whoever attacks: a namespace in which every step is at work, and all of it that must stay as it is.
import { Buffer } from "node:buffer";
import { ConfigMap, Deployment, type Kind, type KubeObject, Pod, Secret, Service, type Stored } from "@keyturn/runtime";
import type { ClusterAccess } from "@keyturn/runtime/testing";
import { soon } from "@keyturn/runtime/testing/vitest";
import { expect } from "vitest";
import { IngressCheckSum, SecretCheckSum } from "../../packages/keyturn/src/controllers/checksum/api.ts";
import { askedAtAnnotation, EventingAuth } from "../../packages/keyturn/src/controllers/eventing-auth/api.ts";
import { JWKS, JWKSConfig } from "../../packages/keyturn/src/controllers/jwks/api.ts";
import { RotationTarget } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { rolloutLabel } from "../../packages/keyturn/src/workloads/annotations.ts";
import { makeCertificate, secretData } from "../../packages/keyturn/test/certificates.ts";
import { installation } from "./tenancy.ts";

export const runtime = { namespace: "kcp-system", name: "0b5e3c2a-7a2f-4d6e-9b1c-3f8d2e4a6c10" };

/** What the cluster's administrator has labelled the namespaces of tenants with. */
const tenantLabels = { "keyturn.io/checksum": "enabled", "istio-injection": "enabled" };

export const encoded = (text: string): string => Buffer.from(text).toString("base64");

/** An object for `apply`. */
export function object(
  apiVersion: string,
  kind: string,
  metadata: KubeObject["metadata"],
  rest: object,
): KubeObject & Readonly<Record<string, unknown>> {
  return { apiVersion, kind, metadata, ...rest };
}

export const rotationTarget = (namespace: string, name: string, spec: object): KubeObject =>
  object("rotator.k8s.telekom.com/v1", "RotationTarget", { namespace, name }, { spec });

export const jwksConfig = (namespace: string, name: string, spec: object, annotations: Readonly<Record<string, string>> = {}): KubeObject =>
  object("keyturn.io/v1alpha1", "JWKSConfig", { namespace, name, annotations }, { spec });

export const source = (namespace: string, set: string, value: string): KubeObject => {
  const annotations = { "rotator.k8s.telekom.com/rotation-set": set, "rotator.k8s.telekom.com/source": "true" };
  return object("v1", "Secret", { namespace, name: `${set}-latest`, annotations }, { data: { key: encoded(value) } });
};

export const deployment = (namespace: string, name: string, labels: Readonly<Record<string, string>> = {}, podAnnotations = {}): KubeObject => {
  const template = {
    metadata: { labels: { app: name }, annotations: podAnnotations },
    spec: { containers: [{ name: "app", image: "example.com/app:1" }] },
  };
  return object("apps/v1", "Deployment", { namespace, name, labels }, { spec: { replicas: 1, selector: { matchLabels: { app: name } }, template } });
};

const certificate = makeCertificate();

/** Makes a tenant's namespace. */
export async function tenantNamespace(cluster: ClusterAccess, name: string): Promise<string> {
  await cluster.apply(object("v1", "Namespace", { name, labels: tenantLabels }, {}));
  return name;
}

/** Everything at work in `bank`, and an application for a runtime. */
export async function openBank(cluster: ClusterAccess): Promise<void> {
  const namespace = await tenantNamespace(cluster, "bank");
  const data = secretData(certificate.certificate, certificate.privateKey);
  const tls = { type: "kubernetes.io/tls", data };
  const spec = { certificateSecret: "signer", configMapName: "tokens-jwks", nginxConfigMapName: "tokens-nginx" };
  await cluster.apply([
    source(namespace, "vault", "one"),
    ...["live", "before"].map((name, index) =>
      rotationTarget(namespace, name, { rotationSet: "vault", rotationOrder: index + 1, rotationDelay: "24h" }),
    ),
    object("v1", "Secret", { namespace, name: "signer" }, tls),
    jwksConfig(namespace, "tokens", spec),
    object("rieset.io/v1alpha1", "JWKS", { namespace, name: "old" }, { spec: { certificateSecret: "signer", configMapName: "old-jwks" } }),
    object("v1", "Secret", { namespace, name: "site-1", annotations: { "nginx.ingress.kubernetes.io/version": "1" } }, tls),
    object("v1", "Secret", { namespace, name: "password" }, { data: { password: encoded("hunter2-of-the-bank") } }),
    object("v1", "ConfigMap", { namespace, name: "settings" }, { data: { colour: "green" } }),
    deployment(namespace, "web"),
    object("v1", "Service", { namespace, name: "web" }, { spec: { selector: { app: "web" }, ports: [{ port: 80 }] } }),
    object("operator.kyma-project.io/v1beta2", "Kyma", runtime, { spec: { channel: "regular" } }),
  ]);
  await soon(async () => {
    const { client } = cluster;
    const of = (name: string): { readonly namespace: string; readonly name: string } => ({ namespace, name });
    expect((await client.get<RotationTarget>(RotationTarget, of("before")))?.status?.currentVersion?.seq).toBe(1);
    expect((await client.get(ConfigMap, of("tokens-jwks")))?.data).toBeDefined();
    // nginx's pods come up by kwok.
    for (const [kind, name] of [
      [JWKSConfig, "tokens"],
      [JWKS, "old"],
    ] as const)
      expect(await isReady(cluster, kind, of(name))).toBe(true);
    expect(
      (await client.list(SecretCheckSum, { namespace })).items.filter(({ status }) => JSON.stringify(status).includes('"Current"')),
    ).toHaveLength(1);
    expect(await isReady(cluster, EventingAuth, runtime)).toBe(true);
    const web = await client.get<Deployment>(Deployment, of("web"));
    expect(web?.status?.availableReplicas).toBe(1);
  });
}

interface Conditioned extends KubeObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** Whether the condition `Ready` of an object is True. */
export async function isReady(cluster: ClusterAccess, kind: Kind, name: { readonly namespace: string; readonly name: string }): Promise<boolean> {
  const found: Conditioned | undefined = await cluster.client.get<KubeObject>(kind, name);
  return found?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

const pictured: readonly Kind[] = [
  Secret,
  ConfigMap,
  Service,
  Deployment,
  RotationTarget,
  JWKSConfig,
  JWKS,
  SecretCheckSum,
  IngressCheckSum,
  EventingAuth,
];
const places = ["bank", runtime.namespace, "kyma-system", installation];

/** All that nobody else may change: objects of the neighbour, of issuing and of the installation, by name. */
export async function pictureOf(cluster: ClusterAccess): Promise<Readonly<Record<string, unknown>>> {
  const entries = await Promise.all(
    places.flatMap((namespace) =>
      pictured.map(async (kind) => {
        const { items } = await cluster.client.list<KubeObject>(kind, { namespace });
        return items.map((item) => [`${namespace} ${kind.plural} ${item.metadata.name}`, partsOf(kind, item)] as const);
      }),
    ),
  );
  return Object.fromEntries(entries.flat());
}

/** The same, once nothing that began earlier is on its way in it: rollouts are over, and it stays as it is while somebody else is served. */
export const pictureAtRest = (cluster: ClusterAccess, tenancy: { isIdle(): Promise<void> }): Promise<Readonly<Record<string, unknown>>> =>
  soon(async () => {
    await expectRolledOut(cluster);
    const picture = await pictureOf(cluster);
    const text = JSON.stringify(picture);
    for (const moving of [rolloutLabel, '"RollingOut"']) expect(text).not.toContain(moving);
    await servesOthers(cluster);
    await tenancy.isIdle();
    await expectRolledOut(cluster);
    expect(await pictureOf(cluster)).toEqual(picture);
    return picture;
  });

async function expectRolledOut({ client }: ClusterAccess): Promise<void> {
  for (const namespace of places) {
    for (const { metadata, spec, status } of (await client.list<Deployment>(Deployment, { namespace })).items) {
      const { observedGeneration, replicas, updatedReplicas, availableReplicas } = status ?? {};
      const wanted = spec?.replicas ?? 1;
      expect([observedGeneration, replicas, updatedReplicas, availableReplicas]).toEqual([metadata.generation, wanted, wanted, wanted]);
    }
    const { items } = await client.list(Pod, { namespace });
    expect(items.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([]);
  }
}

/** Without what Kubernetes itself counts: pods come and go. */
function partsOf(kind: Kind, found: Stored<KubeObject>): unknown {
  const { metadata, ...rest } = found;
  const { managedFields: _fields, resourceVersion: _version, generation: _generation, annotations = {}, ...kept } = metadata;
  // That an application was asked for is noted for a minute.
  const { "deployment.kubernetes.io/revision": _revision, [askedAtAnnotation]: _asked, ...own } = annotations;
  const { status, ...content } = rest as { readonly status?: unknown };
  return { metadata: { ...kept, annotations: own }, ...content, ...(kind !== Deployment && { status }) };
}

let customers = 0;

/** Somebody else asks for something, and is served. What was written before has been seen by then. */
export async function servesOthers(cluster: ClusterAccess): Promise<void> {
  const namespace = "market";
  const name = `customer-${++customers}`;
  const tls = { type: "kubernetes.io/tls", data: secretData(certificate.certificate, certificate.privateKey) };
  await cluster.apply([
    object("v1", "Namespace", { name: namespace }, {}),
    source(namespace, name, "one"),
    rotationTarget(namespace, name, { rotationSet: name, rotationOrder: 1 }),
    object("v1", "Secret", { namespace, name: `${name}-signer` }, tls),
    jwksConfig(namespace, name, { certificateSecret: `${name}-signer`, configMapName: `${name}-jwks` }),
  ]);
  await soon(async () => {
    expect(await isReady(cluster, RotationTarget, { namespace, name })).toBe(true);
    expect(await isReady(cluster, JWKSConfig, { namespace, name })).toBe(true);
  });
}
