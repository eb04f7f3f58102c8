// What was applied, and has not changed, is not sent again: for objects of every built-in kind, as the real API server stores them.
import * as fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { useSharedCluster } from "@keyturn/runtime/testing/vitest";
import * as builtin from "../../src/client/builtin-kinds.ts";
import type { Kind, KubeObject } from "../../src/client/kind.ts";
import { ownedWriter } from "../../src/controller/owned-objects.ts";

const cluster = useSharedCluster();
let namespace: string;
beforeAll(async () => {
  namespace = await cluster().namespace("unchanged");
});

type Fields = Readonly<Record<string, unknown>>;
/** Each member is there or not, as chance has it. */
const some = (members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Fields> => fc.record(members, { requiredKeys: [] });
const oneOf = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
const labels = oneOf({}, { a: "1" }, { a: "" }, { "x.io/b": "1000m" });
const amounts = oneOf(
  {},
  { cpu: "1000m" },
  { memory: "1024Mi" },
  { cpu: 2, memory: "1.5Gi" },
  { cpu: "0.5", memory: "1e9" },
  { memory: 134217728 },
  { cpu: "1.25" },
);

const probe = some({
  httpGet: oneOf({ port: 80 }, { port: "http", path: "/", scheme: "HTTP", httpHeaders: [] }),
  initialDelaySeconds: oneOf(0, 5),
  timeoutSeconds: oneOf(1, 2),
}).map((fields) => Object.assign({ httpGet: { port: 80 } }, fields));
const container = some({
  command: oneOf([], ["sh"]),
  args: oneOf([], ["-c", ""]),
  env: oneOf(
    [],
    [{ name: "A", value: "" }],
    [
      { name: "A", value: "1000m" },
      { name: "B", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "1000m" } } },
    ],
  ),
  envFrom: oneOf([], [{ prefix: "", configMapRef: { name: "c", optional: false } }]),
  ports: oneOf([], [{ containerPort: 80 }], [{ containerPort: 80, protocol: "UDP", hostPort: 0, name: "dns" }]),
  resources: some({ limits: amounts, requests: oneOf({}) }),
  securityContext: oneOf({}, { allowPrivilegeEscalation: false, runAsUser: 0, capabilities: { drop: ["ALL"], add: [] } }, { privileged: false }),
  stdin: oneOf(true, false),
  tty: oneOf(false),
  imagePullPolicy: oneOf("Always", "IfNotPresent"),
  workingDir: oneOf("", "/w"),
  livenessProbe: probe,
  lifecycle: oneOf({}, { preStop: { exec: { command: ["true"] } } }),
  volumeMounts: oneOf([], [{ name: "v", mountPath: "/v", readOnly: false, subPath: "" }]),
}).map((fields) => Object.assign({ name: "c", image: "example.com/image:1" }, fields));
const podSpec = fc
  .tuple(
    container,
    some({
      hostNetwork: oneOf(false),
      hostPID: oneOf(false),
      terminationGracePeriodSeconds: oneOf(0, 30),
      automountServiceAccountToken: oneOf(true, false),
      nodeSelector: labels,
      tolerations: oneOf(
        [],
        [{ key: "k", operator: "Exists", effect: "NoExecute", tolerationSeconds: 0 }],
        [{ key: "k", value: "", operator: "Equal" }],
      ),
      imagePullSecrets: oneOf([], [{ name: "s" }]),
      initContainers: container.map((fields) => [{ ...fields, name: "i", livenessProbe: undefined, lifecycle: undefined }]),
      affinity: oneOf({}, { podAntiAffinity: {} }),
      topologySpreadConstraints: oneOf([], [{ maxSkew: 1, topologyKey: "k", whenUnsatisfiable: "ScheduleAnyway", labelSelector: {} }]),
      securityContext: oneOf({}, { runAsNonRoot: false, fsGroup: 0, supplementalGroups: [] }),
      dnsConfig: oneOf({}, { nameservers: [], searches: ["a.b"] }),
      enableServiceLinks: oneOf(false, true),
      priority: oneOf(0),
    }),
    oneOf(
      { name: "v", emptyDir: {} },
      { name: "v", emptyDir: { sizeLimit: "1024Mi", medium: "" } },
      { name: "v", secret: { secretName: "s", optional: false, items: [], defaultMode: 420 } },
      { name: "v", projected: { sources: [] } },
      { name: "v", configMap: { name: "c", optional: true } },
      { name: "v", hostPath: { path: "/", type: "" } },
    ),
  )
  .map(([only, fields, volume]) => Object.assign({ containers: [only], volumes: [volume] }, fields));
const selector = { matchLabels: { app: "x" }, matchExpressions: [] };
const template = fc
  .tuple(podSpec, oneOf({}, { "a/b": "" }))
  .map(([spec, annotations]) => ({ metadata: { labels: { app: "x" }, annotations }, spec }));
const rules = oneOf(
  [],
  [{ apiGroups: [""], resources: ["pods"], verbs: ["get"], resourceNames: [] }],
  [{ apiGroups: ["a"], resources: ["b"], verbs: ["list"] }],
);
const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
const subjects = (): fc.Arbitrary<unknown> =>
  oneOf(
    [],
    [{ kind: "ServiceAccount", namespace, name: "a" }],
    [{ kind: "User", name: "u", apiGroup: "rbac.authorization.k8s.io" }],
    [{ kind: "Group", name: "g" }],
  );

/** What of each kind is made; metadata is the test's. */
const contents: Readonly<Record<string, () => fc.Arbitrary<Fields>>> = {
  Secret: () =>
    some({
      data: oneOf({}, { a: "MQ==" }, { a: "" }),
      stringData: oneOf({}, { b: "two", c: "" }),
      type: oneOf("Opaque", "x/y"),
      immutable: oneOf(false),
    }),
  ConfigMap: () => some({ data: oneOf({}, { a: "1000m", b: "" }), binaryData: oneOf({}, { x: "MQ==" }), immutable: oneOf(false) }),
  Namespace: () => some({ spec: oneOf({}) }),
  Service: () =>
    some({
      type: oneOf("ClusterIP"),
      selector: oneOf({ app: "x" }),
      publishNotReadyAddresses: oneOf(false, true),
      externalIPs: oneOf([]),
      sessionAffinity: oneOf("None", "ClientIP"),
      ports: oneOf(
        [{ port: 80 }],
        [
          { name: "http", port: 80, protocol: "TCP", targetPort: "http" },
          { name: "dns", port: 53, protocol: "UDP", nodePort: 0 },
        ],
      ),
    }).map((spec) => ({ spec: { ports: [{ port: 80 }], ...spec } })),
  ServiceAccount: () => some({ automountServiceAccountToken: oneOf(false, true), imagePullSecrets: oneOf([], [{ name: "s" }]), secrets: oneOf([]) }),
  Pod: () => podSpec.map(({ ...spec }) => ({ spec })),
  Node: () => some({ podCIDR: oneOf(""), unschedulable: oneOf(true, false) }).map((spec) => ({ spec })),
  Event: () =>
    some({ note: oneOf("", "n"), deprecatedSource: oneOf({}) }).map((fields) =>
      Object.assign(
        {
          eventTime: "2026-01-01T00:00:00.500000Z",
          type: "Normal",
          reason: "R",
          action: "A",
          reportingController: "x.io/c",
          reportingInstance: "i",
          regarding: { kind: "ConfigMap", namespace, name: "a" },
        },
        fields,
      ),
    ),
  Lease: () =>
    some({
      holderIdentity: oneOf("a"),
      renewTime: oneOf("2026-01-01T00:00:00.500000Z"),
      leaseDurationSeconds: oneOf(15),
      leaseTransitions: oneOf(0),
    }).map((spec) => ({ spec })),
  Role: () => rules.map((value) => ({ rules: value })),
  ClusterRole: () => rules.map((value) => ({ rules: value })),
  RoleBinding: () => subjects().map((value) => ({ roleRef, subjects: value })),
  ClusterRoleBinding: () => subjects().map((value) => ({ roleRef, subjects: value })),
  MutatingWebhookConfiguration: () =>
    oneOf(
      [],
      [
        {
          name: "a.b.c",
          clientConfig: { url: "https://x.invalid/" },
          rules: [],
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          matchConditions: [],
          namespaceSelector: {},
        },
      ],
    ).map((webhooks) => ({ webhooks })),
  Deployment: () =>
    fc
      .tuple(
        template,
        some({
          replicas: oneOf(0, 1),
          paused: oneOf(false, true),
          minReadySeconds: oneOf(0, 5),
          strategy: oneOf({}, { type: "Recreate" }, { rollingUpdate: { maxSurge: "25%", maxUnavailable: 0 } }),
        }),
      )
      .map(([pod, spec]) => ({ spec: { replicas: 0, selector, template: pod, ...spec } })),
  StatefulSet: () =>
    fc
      .tuple(
        template,
        some({
          podManagementPolicy: oneOf("Parallel"),
          minReadySeconds: oneOf(0),
          volumeClaimTemplates: oneOf(
            [],
            [
              {
                metadata: { name: "d" },
                spec: { accessModes: ["ReadWriteOnce"], storageClassName: "", resources: { requests: { storage: "1024Mi" } } },
              },
            ],
          ),
        }),
      )
      .map(([pod, spec]) => ({ spec: { replicas: 0, serviceName: "", selector, template: pod, ...spec } })),
  DaemonSet: () =>
    fc
      .tuple(template, some({ updateStrategy: oneOf({}, { type: "OnDelete" }), minReadySeconds: oneOf(0) }))
      .map(([pod, spec]) => ({ spec: { selector, template: pod, ...spec } })),
  ReplicaSet: () =>
    fc.tuple(template, some({ minReadySeconds: oneOf(0) })).map(([pod, spec]) => ({ spec: { replicas: 0, selector, template: pod, ...spec } })),
  Job: () =>
    fc
      .tuple(
        template,
        some({ backoffLimit: oneOf(0, 6), suspend: oneOf(true), ttlSecondsAfterFinished: oneOf(0), completionMode: oneOf("NonIndexed") }),
      )
      .map(([pod, spec]) => ({ spec: { suspend: true, template: { ...pod, spec: { ...pod.spec, restartPolicy: "Never" } }, ...spec } })),
  Ingress: () =>
    some({
      tls: oneOf([], [{ hosts: [], secretName: "" }], [{ hosts: ["a.b"] }]),
      ingressClassName: oneOf("x"),
      rules: oneOf(
        [],
        [
          {
            host: "",
            http: { paths: [{ path: "", pathType: "ImplementationSpecific", backend: { service: { name: "s", port: { number: 80 } } } }] },
          },
        ],
      ),
    }).map((spec) => ({ spec: { defaultBackend: { service: { name: "s", port: { name: "http" } } }, ...spec } })),
  CustomResourceDefinition: () =>
    some({ preserveUnknownFields: oneOf(false), conversion: oneOf({ strategy: "None" }) }).map((spec) => ({
      spec: {
        group: "unchanged.example",
        scope: "Namespaced",
        // The number of the object.
        names: { kind: "Thing#", plural: "things#", singular: "thing#", listKind: "Thing#List" },
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", default: {} } } } },
          },
        ],
        ...spec,
      },
    })),
};

const kinds = Object.values<unknown>(builtin).filter((value): value is Kind => typeof value === "object" && value !== null && "plural" in value);
// A review is answered and not stored.
const stored = kinds.filter(({ kind }) => kind !== "SelfSubjectAccessReview");
const objectsOfEach = 12;

describe("apply, read, apply again sends nothing", () => {
  it.each(stored.map((kind) => [kind.kind, kind] as const))("%s", async (name, kind) => {
    const content = contents[name];
    expect(content, `there is nothing to make of ${name}`).toBeDefined();
    if (!content) return;
    const { client } = cluster();
    const extra = fc.record({ labels, annotations: oneOf({}, { "x.io/a": "" }) }, { requiredKeys: [] });
    const samples = fc.sample(fc.tuple(content(), extra), { numRuns: objectsOfEach, seed: 7 });
    const again: string[] = [];
    for (const [index, [fields, metadata]] of samples.entries()) {
      // The name of a CRD is its kind's.
      const own = kind.kind === "CustomResourceDefinition" ? `things${index}.unchanged.example` : `${namespace}-${index}`;
      const named = JSON.parse(JSON.stringify(fields).replaceAll("#", String(index)));
      const object: KubeObject = { metadata: { name: own, ...(kind.namespaced && { namespace }), ...metadata }, ...named };
      const owner = { kind, name: { name: "owner", ...(kind.namespaced && { namespace }) } };
      const writer = ownedWriter({
        client,
        operator: { name: "demo", domain: "demo.example" },
        controller: "c",
        owner,
        signal: AbortSignal.timeout(60_000),
      });
      await writer.apply(kind, object);
      const live = await client.get(kind, { name: own, ...(kind.namespaced && { namespace }) });
      if ((await writer.apply(kind, object)) !== "unchanged")
        again.push(`${JSON.stringify(object)} became ${JSON.stringify({ ...live, metadata: { ...live?.metadata, managedFields: [] } })}`);
      if (!kind.namespaced) await client.delete(kind, { name: own });
    }
    expect(again.slice(0, 2)).toEqual([]);
  });
});
