// Objects that run pods, as fast-check makes them: each field there or not, in the forms that people write and the API server writes otherwise.
import * as fc from "fast-check";

/** What of an object is made; metadata is the test's. In texts, `#` stands for the object's number and `@` for the test's namespace. */
export type Fields = Readonly<Record<string, unknown>>;

/** What is made of one kind. */
export interface Generated {
  readonly fields: fc.Arbitrary<Fields>;
  /** Where the kind has rules of its own for names. Default the namespace's and the object's number. */
  readonly name?: string;
}

/** Each member is there or not, as chance has it. */
export const some = (members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Fields> => fc.record(members, { requiredKeys: [] });
export const oneOf = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);
/** Some of the values, in their order. */
export const listOf = (...values: readonly unknown[]): fc.Arbitrary<unknown> => fc.subarray([...values]);
/** What is generated, over what must be there. */
export const over =
  (base: Fields) =>
  (fields: Fields): Fields => ({ ...base, ...fields });
/** The members in `spec`, over those that must be there. */
export const specOf = (members: Record<string, fc.Arbitrary<unknown>>, base: Fields = {}): Generated => ({
  fields: some(members).map((spec) => ({ spec: over(base)(spec) })),
});

export const labels = oneOf({}, { a: "1" }, { a: "" }, { "x.io/b": "1000m" });
/** Selectors of labels, which nobody shares: a label more is another selection. */
export const selectors = oneOf(
  {},
  { matchLabels: {} },
  { matchLabels: { a: "1" } },
  { matchLabels: { a: "1", b: "" }, matchExpressions: [] },
  { matchExpressions: [{ key: "k", operator: "Exists", values: [] }] },
  { matchExpressions: [{ key: "k", operator: "In", values: ["x", "y"] }] },
);
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
  httpGet: oneOf({ port: 80 }, { port: "http", path: "/", scheme: "HTTP", httpHeaders: [] }, { port: 80, httpHeaders: [{ name: "A", value: "" }] }),
  initialDelaySeconds: oneOf(0, 5),
  timeoutSeconds: oneOf(1, 2),
}).map(over({ httpGet: { port: 80 } }));
const container = some({
  command: oneOf([], ["sh"]),
  args: oneOf([], ["-c", ""]),
  env: listOf(
    { name: "A", value: "1000m" },
    { name: "B", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "1000m" } } },
    { name: "C", value: "" },
    { name: "D", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
    { name: "E", valueFrom: { secretKeyRef: { name: "s", key: "k", optional: false } } },
  ),
  envFrom: listOf({ prefix: "", configMapRef: { name: "c", optional: false } }, { secretRef: { name: "s" } }),
  ports: listOf({ containerPort: 80 }, { containerPort: 80, protocol: "UDP", hostPort: 0, name: "dns" }, { containerPort: 81, name: "b" }),
  resources: some({ limits: amounts, requests: oneOf({}), claims: oneOf([]) }),
  securityContext: oneOf({}, { allowPrivilegeEscalation: false, runAsUser: 0, capabilities: { drop: ["ALL"], add: [] } }, { privileged: false }),
  stdin: oneOf(true, false),
  tty: oneOf(false),
  imagePullPolicy: oneOf("Always", "IfNotPresent"),
  workingDir: oneOf("", "/w"),
  livenessProbe: probe,
  lifecycle: oneOf({}, { preStop: { exec: { command: ["true"] } } }),
  volumeMounts: listOf({ name: "v", mountPath: "/v", readOnly: false, subPath: "" }, { name: "v", mountPath: "/w", readOnly: true }),
}).map(over({ name: "c", image: "example.com/image:1" }));
const affinity = oneOf(
  {},
  { podAntiAffinity: {} },
  { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "k", labelSelector: {}, namespaces: [] }] } },
  { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: { topologyKey: "k" } }] } },
  {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: "k", operator: "Exists", values: [] }] }] },
    },
  },
);
const volumes = oneOf<Fields>(
  { emptyDir: {} },
  { emptyDir: { sizeLimit: "1024Mi", medium: "" } },
  { secret: { secretName: "s", optional: false, items: [], defaultMode: 420 } },
  { secret: { secretName: "s", items: [{ key: "k", path: "p", mode: 0 }] } },
  { projected: { sources: [] } },
  { projected: { sources: [{ configMap: { name: "c", items: [] } }, { secret: { name: "s", optional: true } }] } },
  { projected: { sources: [{ serviceAccountToken: { path: "t" } }] } },
  { projected: { sources: [{ downwardAPI: { items: [{ path: "n", fieldRef: { fieldPath: "metadata.name" } }] } }] } },
  { downwardAPI: { items: [{ path: "c", resourceFieldRef: { containerName: "c", resource: "limits.cpu" } }] } },
  { configMap: { name: "c", optional: true } },
  { hostPath: { path: "/", type: "" } },
  { persistentVolumeClaim: { claimName: "p", readOnly: false } },
  { ephemeral: { volumeClaimTemplate: { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1024Mi" } } } } } },
  { csi: { driver: "d.example", readOnly: false, volumeAttributes: {}, nodePublishSecretRef: { name: "s" } } },
).map(over({ name: "v" }));
const podSpec: fc.Arbitrary<Fields> = fc
  .tuple(
    container,
    some({
      hostNetwork: oneOf(false),
      hostPID: oneOf(false),
      terminationGracePeriodSeconds: oneOf(0, 30),
      automountServiceAccountToken: oneOf(true, false),
      nodeSelector: labels,
      tolerations: listOf({ key: "k", operator: "Exists", effect: "NoExecute", tolerationSeconds: 0 }, { key: "k", value: "", operator: "Equal" }),
      imagePullSecrets: listOf({ name: "s" }, { name: "t" }),
      initContainers: container.map((fields) => [{ ...fields, name: "i", livenessProbe: undefined, lifecycle: undefined }]),
      affinity,
      hostAliases: listOf({ ip: "10.0.0.1", hostnames: ["a", "b"] }, { ip: "10.0.0.2", hostnames: [] }),
      topologySpreadConstraints: listOf(
        { maxSkew: 1, topologyKey: "k", whenUnsatisfiable: "ScheduleAnyway", labelSelector: {} },
        { maxSkew: 1, topologyKey: "l", whenUnsatisfiable: "DoNotSchedule", labelSelector: { matchLabels: { a: "1" } }, matchLabelKeys: [] },
      ),
      securityContext: oneOf(
        {},
        { runAsNonRoot: false, fsGroup: 0, supplementalGroups: [] },
        { sysctls: [{ name: "kernel.shm_rmid_forced", value: "0" }] },
      ),
      dnsConfig: oneOf({}, { nameservers: [], searches: ["a.b"] }, { options: [{ name: "ndots" }, { name: "a", value: "" }] }),
      readinessGates: listOf({ conditionType: "x.io/a" }, { conditionType: "x.io/b" }),
      enableServiceLinks: oneOf(false, true),
      priority: oneOf(0),
    }),
    volumes,
  )
  .map(([only, fields, volume]) => over({ serviceAccountName: "default", containers: [only], volumes: [volume] })(fields));

const selector = { matchLabels: { app: "x" }, matchExpressions: [] };
const template = fc
  .tuple(podSpec, oneOf({}, { "a/b": "" }))
  .map(([spec, annotations]) => ({ metadata: { labels: { app: "x" }, annotations }, spec }));
const claimTemplate = {
  metadata: { name: "d" },
  spec: { accessModes: ["ReadWriteOnce"], storageClassName: "", resources: { requests: { storage: "1024Mi" } } },
};
const jobTemplate = template.map((pod) => ({ ...pod, spec: { ...pod.spec, restartPolicy: "Never" } }));
const jobSpec = some({
  backoffLimit: oneOf(0, 6),
  ttlSecondsAfterFinished: oneOf(0),
  completionMode: oneOf("NonIndexed"),
  podFailurePolicy: oneOf(
    { rules: [] },
    { rules: [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] }] },
    { rules: [{ action: "FailJob", onExitCodes: { operator: "In", values: [1, 2] } }] },
  ),
});

function workload(members: Record<string, fc.Arbitrary<unknown>>, base: Fields = {}): Generated {
  return {
    fields: fc.tuple(template, some(members)).map(([pod, spec]) => ({ spec: { selector, template: pod, ...base, ...spec } })),
  };
}

/** By apiVersion and plural. */
export const workloads: Readonly<Record<string, Generated>> = {
  // A pod keeps the tolerations that it was made with, and gets two more.
  "v1/pods": { fields: podSpec.map((spec) => ({ spec: { ...spec, tolerations: undefined } })) },
  "v1/podtemplates": { fields: template.map((pod) => ({ template: pod })) },
  "v1/replicationcontrollers": {
    fields: fc.tuple(template, some({ minReadySeconds: oneOf(0) })).map(([pod, spec]) => ({
      spec: { replicas: 0, selector: { app: "x" }, template: pod, ...spec },
    })),
  },
  "apps/v1/deployments": workload(
    {
      replicas: oneOf(0, 1),
      paused: oneOf(false, true),
      minReadySeconds: oneOf(0, 5),
      strategy: oneOf({}, { type: "Recreate" }, { rollingUpdate: { maxSurge: "25%", maxUnavailable: 0 } }),
    },
    { replicas: 0 },
  ),
  "apps/v1/statefulsets": workload(
    {
      podManagementPolicy: oneOf("Parallel"),
      minReadySeconds: oneOf(0),
      volumeClaimTemplates: oneOf([], [claimTemplate]),
      ordinals: oneOf({}, { start: 0 }),
    },
    { replicas: 0, serviceName: "" },
  ),
  "apps/v1/daemonsets": workload({ updateStrategy: oneOf({}, { type: "OnDelete" }), minReadySeconds: oneOf(0) }),
  "apps/v1/replicasets": workload({ minReadySeconds: oneOf(0) }, { replicas: 0 }),
  "batch/v1/jobs": {
    fields: fc.tuple(jobTemplate, jobSpec).map(([pod, spec]) => ({ spec: { suspend: true, template: pod, ...spec } })),
  },
  "batch/v1/cronjobs": {
    fields: fc
      .tuple(jobTemplate, jobSpec, some({ suspend: oneOf(false, true), concurrencyPolicy: oneOf("Forbid"), timeZone: oneOf("Etc/UTC") }))
      .map(([pod, job, spec]) => ({
        spec: { schedule: "0 0 1 1 *", jobTemplate: { spec: { ...job, ttlSecondsAfterFinished: 0, template: pod } }, ...spec },
      })),
  },
};
