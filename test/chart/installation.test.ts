// What the chart renders, given to a real API server, in a namespace that takes only pods of the standard *restricted*.
import { expect, test } from "vitest";
import * as z from "zod";
import { soon, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { type ChartValues, type RenderedObject, renderChart } from "../../tools/chart-rendering.ts";
import { foreignKinds } from "./foreign-kinds.ts";
import { podTemplateOf } from "./pod-template.ts";

const cluster = useSharedCluster();

/** A namespace of its own, which is also the release's name, so that what belongs to no namespace is the test's own too. */
const restrictedNamespace = (): Promise<string> => cluster().namespace("chart", { "pod-security.kubernetes.io/enforce": "restricted" });

async function install(values: ChartValues, namespace: string): Promise<readonly RenderedObject[]> {
  const objects = await renderChart({ fullnameOverride: namespace, ...values }, { name: namespace, namespace });
  await cluster().apply(foreignKinds);
  await cluster().apply(objects);
  return objects;
}

const statusSchema = z.object({
  spec: z.object({ replicas: z.number().optional() }),
  status: z.object({ readyReplicas: z.number().optional(), numberReady: z.number().optional(), desiredNumberScheduled: z.number().optional() }),
});

/** Waits until a workload's pods are all ready. kwok makes them so; that they may exist at all is what is tested. */
async function expectReady(kind: "deployment" | "daemonset", name: string, namespace: string): Promise<void> {
  await soon(async () => {
    const { spec, status } = statusSchema.parse(JSON.parse(await cluster().kubectl("get", kind, name, "-n", namespace, "-o", "json")));
    const wanted = kind === "deployment" ? spec.replicas : status.desiredNumberScheduled;
    expect(wanted).toBeGreaterThan(0);
    expect(kind === "deployment" ? status.readyReplicas : status.numberReady).toBe(wanted);
  });
}

const everything = (namespace: string): ChartValues => ({
  controllers: {
    eventingAuth: { enabled: true, credentialsNamespace: namespace, kubeconfigNamespace: namespace, provider: "openid" },
    sidecars: { enabled: true, istioNamespaces: [namespace], argoRollouts: true },
    rotation: { kinds: ["certificates.v1.cert-manager.io"] },
  },
  image: { digest: `sha256:${"0".repeat(64)}`, pullSecrets: [{ name: "registry" }] },
  commonLabels: { team: "platform" },
  commonAnnotations: { "example.com/owner": "platform" },
  dashboard: { enabled: true, service: { type: "NodePort" } },
  metrics: {
    serviceMonitor: { enabled: true, labels: { release: "prometheus" }, interval: "30s" },
    prometheusRule: { enabled: true },
    grafanaDashboard: { enabled: true },
  },
  networkPolicy: {
    limitEgress: true,
    apiServerCidrs: ["10.0.0.1/32"],
    metricsFrom: [{ namespaceSelector: { matchLabels: { name: "monitoring" } } }],
  },
  verticalPodAutoscaler: { enabled: true, containerPolicies: [{ containerName: "keyturn", minAllowed: { memory: "64Mi" } }] },
  ipFamilyPolicy: "PreferDualStack",
  ipFamilies: ["IPv4"],
  priorityClassName: "system-cluster-critical",
  affinity: {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: { matchExpressions: [{ key: "a", operator: "Exists" }] } }],
    },
  },
  tolerations: [{ key: "dedicated", operator: "Exists" }],
  dnsConfig: { options: [{ name: "ndots", value: "1" }] },
  hostAliases: [{ ip: "10.0.0.2", hostnames: ["idp.example.com"] }],
  hostUsers: false,
  proxy: { http: "http://proxy:3128", https: "http://proxy:3128", noProxy: "10.0.0.0/8,.svc" },
  trustedCertificates: { configMap: "company-ca" },
  podLabels: { tier: "control", team: "somebody-else" },
  podAnnotations: { "example.com/note": "yes" },
  extraArgs: ["--dry-run=true"],
  extraEnv: [{ name: "TZ", value: "UTC" }],
  extraEnvFrom: [{ configMapRef: { name: "more", optional: true } }],
  extraVolumes: [{ name: "scratch", emptyDir: {} }],
  extraVolumeMounts: [{ name: "scratch", mountPath: "/tmp" }],
  extraObjects: [
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "more", namespace }, data: { RELEASE: "{{ .Release.Name }}" } },
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: as-text, namespace: {{ .Release.Namespace }}}\n",
  ],
  agent: { enabled: true, kind: "DaemonSet", shareProcessNamespace: true, volume: { emptyDir: {} } },
});

test("default values: two pods that a restricted namespace takes, spread and protected", async () => {
  const namespace = await restrictedNamespace();
  const objects = await install({}, namespace);
  await expectReady("deployment", namespace, namespace);
  expect(objects.map(({ kind }) => kind)).toContain("PodDisruptionBudget");
  const { spec } = podTemplateOf(objects.find(({ kind }) => kind === "Deployment"));
  // One key only: the scheduler does not spread over nodes that lack any of the keys, and not every cluster has zones.
  expect(spec["topologySpreadConstraints"]).toMatchObject([{ topologyKey: "kubernetes.io/hostname" }]);
  expect(JSON.stringify(spec["affinity"])).toContain("topology.kubernetes.io/zone");
});

test("the API server would have refused pods with less: the namespace is restricted indeed", async () => {
  const namespace = await restrictedNamespace();
  const deployment = (await renderChart({ podSecurityContext: { runAsNonRoot: false, seccompProfile: null } })).find(
    ({ kind }) => kind === "Deployment",
  );
  const { spec, metadata } = podTemplateOf(deployment);
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...metadata, name: "too-much", namespace },
    spec: { ...spec, serviceAccountName: "default" },
  };
  // Nor does it take any before the namespace has its ServiceAccount.
  await soon(() => expect(cluster().apply(pod)).rejects.toThrow(/violates PodSecurity "restricted/));
});

test("every option at once: each object is stored as it was rendered, and operator and agent run", async () => {
  const namespace = await restrictedNamespace();
  const objects = await install(everything(namespace), namespace);
  await expectReady("deployment", namespace, namespace);
  await expectReady("daemonset", `${namespace}-agent`, namespace);
  const ours = objects.filter(({ metadata }) => !["more", "as-text"].includes(metadata.name));
  expect(
    ours.filter(({ metadata }) => metadata.annotations?.["example.com/owner"] !== "platform" || metadata.labels?.["team"] !== "platform"),
  ).toEqual([]);
  const { metadata, spec } = podTemplateOf(objects.find(({ kind }) => kind === "Deployment"));
  const [container] = spec.containers;
  expect(metadata.labels).toMatchObject({ tier: "control", team: "somebody-else", "app.kubernetes.io/component": "operator" });
  expect(container?.image).toBe(`ghcr.io/keyturn/keyturn@sha256:${"0".repeat(64)}`);
  expect(Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]))).toEqual({
    HTTP_PROXY: "http://proxy:3128",
    HTTPS_PROXY: "http://proxy:3128",
    NO_PROXY: "10.0.0.0/8,.svc",
    NODE_EXTRA_CA_CERTS: "/etc/keyturn/trusted-certificates/ca.crt",
    // From the pod itself.
    POD_UID: undefined,
    TZ: "UTC",
  });
  expect(await cluster().kubectl("get", "configmap", "more", "-n", namespace, "-o", "jsonpath={.data.RELEASE}")).toBe(namespace);
});

test("limited to namespaces: a Role in each, and nothing in the whole cluster", async () => {
  const [own, shop] = [await restrictedNamespace(), await cluster().namespace("chart-shop")];
  const objects = await install({ namespaces: [shop, own], metrics: { secure: false }, crds: { enabled: false } }, own);
  expect(objects.filter(({ kind }) => kind.startsWith("ClusterRole"))).toEqual([]);
  const roles = objects.filter(({ kind }) => kind === "Role");
  expect(new Set(roles.map(({ metadata }) => metadata.namespace))).toEqual(new Set([own, shop]));
  await expectReady("deployment", own, own);
});

test("an agent alone, beside its gateway in one pod: no operator, no kinds of ours, no right outside of its namespace", async () => {
  const namespace = await restrictedNamespace();
  const gateway = {
    name: "gateway",
    image: "registry.example.com/nginx",
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    volumeMounts: [{ name: "certificates", mountPath: "/certificates" }],
  };
  const off = { enabled: false };
  const values = {
    controllers: { rotation: off, jwks: off, checksum: off },
    agent: { enabled: true, replicaCount: 2, shareProcessNamespace: true, signalPidFile: "/certificates/nginx.pid", extraContainers: [gateway] },
  };
  const objects = await install(values, namespace);
  expect(objects.map(({ kind }) => kind)).toEqual(["NetworkPolicy", "ServiceAccount", "Role", "RoleBinding", "Deployment"]);
  await expectReady("deployment", `${namespace}-agent`, namespace);
});

test("the token is mounted in our container alone, and nothing is mounted by default", async () => {
  const other = { name: "other", image: "registry.example.com/other" };
  const deployment = (await renderChart({ extraContainers: [other], extraInitContainers: [other] })).find(({ kind }) => kind === "Deployment");
  const { spec } = podTemplateOf(deployment);
  expect(spec["automountServiceAccountToken"]).toBe(false);
  const holders = spec.containers.filter(({ volumeMounts }) => volumeMounts.some(({ name }) => name === "token"));
  expect(holders.map(({ name }) => name)).toEqual(["keyturn"]);
});

test("CRDs follow the choice of controllers, and stay when the release goes unless told otherwise", async () => {
  const crds = async (values: ChartValues): Promise<readonly RenderedObject[]> =>
    (await renderChart(values)).filter(({ kind }) => kind === "CustomResourceDefinition");
  expect((await crds({})).map(({ metadata }) => metadata.name).toSorted()).toEqual([
    "ingresschecksums.tengine.taobao.org",
    "jwks.rieset.io",
    "jwksconfigs.keyturn.io",
    "rotationtargets.rotator.k8s.telekom.com",
    "secretchecksums.tengine.taobao.org",
  ]);
  for (const { metadata } of await crds({})) expect(metadata.annotations).toEqual({ "helm.sh/resource-policy": "keep" });
  for (const { metadata } of await crds({ crds: { keep: false } })) expect(metadata.annotations).toBeUndefined();
  expect(await crds({ crds: { enabled: false } })).toEqual([]);
  const off = { enabled: false };
  const issuing = { rotation: off, jwks: off, checksum: off, eventingAuth: { enabled: true } };
  expect((await crds({ controllers: issuing })).map(({ metadata }) => metadata.name)).toEqual(["eventingauths.operator.kyma-project.io"]);
});
