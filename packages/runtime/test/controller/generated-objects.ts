// Objects of every built-in kind that runs no pods, as fast-check makes them.
import * as fc from "fast-check";
import { type Fields, type Generated, labels, listOf, oneOf, over, selectors, some, specOf } from "./generated-workloads.ts";

/** The members at the top of an object, over those that must be there. */
const topOf = (members: Record<string, fc.Arbitrary<unknown>>, base: Fields = {}): Generated => ({
  fields: some(members).map(over(base)),
});
const rbacGroup = "rbac.authorization.k8s.io";

const core: Readonly<Record<string, Generated>> = {
  "v1/secrets": topOf({
    data: oneOf({}, { a: "MQ==" }, { a: "" }),
    stringData: oneOf({}, { b: "two", c: "" }),
    type: oneOf("Opaque", "x/y"),
    immutable: oneOf(false),
  }),
  "v1/configmaps": topOf({ data: oneOf({}, { a: "1000m", b: "" }), binaryData: oneOf({}, { x: "MQ==" }), immutable: oneOf(false) }),
  "v1/namespaces": specOf({}),
  "v1/services": specOf(
    {
      type: oneOf("ClusterIP"),
      selector: oneOf({ app: "x" }, { app: "x", b: "" }, {}),
      publishNotReadyAddresses: oneOf(false, true),
      externalIPs: oneOf([], ["192.0.2.1"], ["192.0.2.1", "192.0.2.2"]),
      sessionAffinity: oneOf("None", "ClientIP"),
      ports: oneOf(
        [{ port: 80 }],
        [
          { name: "http", port: 80, protocol: "TCP", targetPort: "http" },
          { name: "dns", port: 53, protocol: "UDP", nodePort: 0 },
        ],
        [
          { name: "dns", port: 53, protocol: "UDP" },
          { name: "http", port: 80, appProtocol: "x.io/y" },
        ],
      ),
    },
    { ports: [{ port: 80 }] },
  ),
  "v1/serviceaccounts": topOf({
    automountServiceAccountToken: oneOf(false, true),
    imagePullSecrets: listOf({ name: "s" }, { name: "t" }),
    secrets: listOf({ name: "s" }, { name: "t" }),
  }),
  "v1/nodes": specOf({
    podCIDR: oneOf(""),
    // No taints: one is put into new nodes, and taken out by who applies them again.
    unschedulable: oneOf(true, false),
  }),
  "v1/endpoints": topOf({
    subsets: listOf(
      { addresses: [{ ip: "10.1.0.1", hostname: "" }], notReadyAddresses: [], ports: [{ port: 80 }] },
      { addresses: [{ ip: "10.1.0.2" }], ports: [{ name: "b", port: 81, protocol: "UDP" }] },
    ),
  }),
  "v1/events": {
    ...topOf(
      { message: oneOf("", "m"), count: oneOf(0, 2), source: oneOf({}, { component: "c" }), firstTimestamp: oneOf("2026-01-01T00:00:00Z") },
      { involvedObject: { kind: "ConfigMap", namespace: "@", name: "a" }, reason: "R", type: "Normal" },
    ),
  },
  "events.k8s.io/v1/events": topOf(
    { note: oneOf("", "n"), deprecatedSource: oneOf({}) },
    {
      eventTime: "2026-01-01T00:00:00.500000Z",
      type: "Normal",
      reason: "R",
      action: "A",
      reportingController: "x.io/c",
      reportingInstance: "i",
      regarding: { kind: "ConfigMap", namespace: "@", name: "a" },
    },
  ),
  "v1/limitranges": specOf({
    limits: listOf(
      { type: "Container", max: { cpu: "2000m" }, min: { cpu: 1 }, defaultRequest: {} },
      { type: "PersistentVolumeClaim", max: { storage: "1024Mi" } },
      { type: "Pod", maxLimitRequestRatio: { cpu: "2000m" } },
    ),
  }),
  "v1/resourcequotas": specOf({
    hard: oneOf({}, { pods: "10" }, { pods: 10 }),
    scopes: oneOf([], ["NotTerminating"]),
    scopeSelector: oneOf({}, { matchExpressions: [{ scopeName: "PriorityClass", operator: "In", values: ["a", "b"] }] }),
  }),
  "v1/persistentvolumeclaims": specOf(
    { storageClassName: oneOf("", "s"), volumeMode: oneOf("Filesystem"), selector: selectors, dataSource: oneOf(undefined) },
    { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1024Mi" } } },
  ),
  "v1/persistentvolumes": specOf(
    {
      persistentVolumeReclaimPolicy: oneOf("Retain", "Delete"),
      storageClassName: oneOf("", "s"),
      mountOptions: listOf("ro", "soft"),
      nodeAffinity: oneOf({ required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "k", operator: "In", values: ["a"] }] }] } }),
      claimRef: oneOf({ namespace: "@", name: "c" }),
    },
    { accessModes: ["ReadWriteOnce"], capacity: { storage: "1024Mi" }, nfs: { server: "s", path: "/", readOnly: false } },
  ),
};

/** Nobody has its key. */
const certificateRequest =
  "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIRk1HNENBUUF3RERFS01BZ0dBMVVFQXd3QmJqQlpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQQpCQU5MMGRJU0V2bTZlVUptWHFkVnlYOTR0VUtvZk9nODNQOWNsNUdxdkRMdE5SSzNNMHgvdTFrR3RkZXBFVU83CmFKNWRkLzBmVVpUTkhYL2xzdFVkQUplZ0FEQUtCZ2dxaGtqT1BRUURBZ05IQURCRUFpQmpVRFB4SGU3OGNvQjIKMHMreHZSV1NndjYwWmNsWFhXd2RiNWkvd1VIOVVBSWdWTFBLNEFLeG9mR1JRZm5iTWtYbURKZXQvbEZyd1A4RwowKzhzYmNYd1A2Zz0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";
const rules = listOf(
  { apiGroups: [""], resources: ["pods"], verbs: ["get"], resourceNames: [] },
  { apiGroups: ["a"], resources: ["b"], verbs: ["list"] },
  { nonResourceURLs: [], apiGroups: ["c"], resources: ["d"], verbs: ["get", "list"], resourceNames: ["x"] },
);
const subjects = listOf(
  { kind: "ServiceAccount", namespace: "@", name: "a" },
  { kind: "User", name: "u", apiGroup: rbacGroup },
  { kind: "Group", name: "g" },
);
const binding: Generated = topOf({ subjects }, { roleRef: { kind: "ClusterRole", name: "view" } });
const access: Readonly<Record<string, Generated>> = {
  [`${rbacGroup}/v1/roles`]: topOf({ rules }),
  [`${rbacGroup}/v1/clusterroles`]: topOf({ rules, aggregationRule: oneOf({ clusterRoleSelectors: [{ matchLabels: { a: "1" } }] }) }),
  [`${rbacGroup}/v1/rolebindings`]: binding,
  [`${rbacGroup}/v1/clusterrolebindings`]: topOf({ subjects }, { roleRef: { apiGroup: rbacGroup, kind: "ClusterRole", name: "view" } }),
  "certificates.k8s.io/v1/certificatesigningrequests": specOf(
    { expirationSeconds: oneOf(600), usages: oneOf(["client auth"], ["digital signature", "client auth"]) },
    { request: certificateRequest, signerName: "x.io/y", usages: ["client auth"] },
  ),
};

const webhookRules = listOf(
  { apiGroups: ["none.example"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["none"] },
  { apiGroups: ["none.example"], apiVersions: ["v1"], operations: ["UPDATE"], resources: ["none"], scope: "Namespaced" },
);
const webhook = some({ rules: webhookRules, matchConditions: listOf({ name: "a", expression: "true" }), objectSelector: selectors }).map(
  over({
    name: "a.b.c",
    clientConfig: { service: { namespace: "@", name: "none" } },
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    namespaceSelector: {},
    failurePolicy: "Ignore",
  }),
);
const webhooks: Generated = { fields: fc.array(webhook, { maxLength: 1 }).map((list) => ({ webhooks: list })) };
const resourceRules = [{ apiGroups: ["none.example"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["none"] }];
const matched = some({ namespaceSelector: selectors, objectSelector: selectors, matchPolicy: oneOf("Exact"), excludeResourceRules: oneOf([]) }).map(
  over({ resourceRules }),
);
const policyMembers = {
  paramKind: oneOf({ apiVersion: "v1", kind: "ConfigMap" }),
  matchConditions: listOf({ name: "a", expression: "true" }),
  variables: listOf({ name: "a", expression: "1" }, { name: "b", expression: "2" }),
  failurePolicy: oneOf("Ignore"),
};
const paramRef = oneOf({ name: "p", parameterNotFoundAction: "Allow" }, { selector: {}, parameterNotFoundAction: "Deny" });
const admissionGroup = "admissionregistration.k8s.io/v1";
const admission: Readonly<Record<string, Generated>> = {
  [`${admissionGroup}/mutatingwebhookconfigurations`]: webhooks,
  [`${admissionGroup}/validatingwebhookconfigurations`]: webhooks,
  [`${admissionGroup}/validatingadmissionpolicies`]: specOf(
    {
      ...policyMembers,
      matchConstraints: matched,
      auditAnnotations: listOf({ key: "a", valueExpression: "'x'" }),
      validations: oneOf([{ expression: "true", message: "" }], [{ expression: "true" }, { expression: "1 == 1", reason: "Invalid" }]),
    },
    { matchConstraints: { resourceRules }, validations: [{ expression: "true" }] },
  ),
  [`${admissionGroup}/validatingadmissionpolicybindings`]: specOf(
    { matchResources: matched, paramRef, validationActions: oneOf(["Deny"], ["Warn", "Audit"]) },
    { policyName: "p", validationActions: ["Audit"] },
  ),
  [`${admissionGroup}/mutatingadmissionpolicies`]: specOf(
    { ...policyMembers, matchConstraints: matched },
    {
      matchConstraints: { resourceRules },
      reinvocationPolicy: "Never",
      mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression: "Object{}" } }],
    },
  ),
  [`${admissionGroup}/mutatingadmissionpolicybindings`]: specOf({ matchResources: matched, paramRef }, { policyName: "p" }),
  "apiextensions.k8s.io/v1/customresourcedefinitions": {
    name: "things#.unchanged.example",
    fields: some({
      preserveUnknownFields: oneOf(false),
      conversion: oneOf({ strategy: "None" }),
      versions: oneOf(
        [
          {
            name: "v1",
            served: true,
            storage: true,
            deprecated: false,
            additionalPrinterColumns: [],
            schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", default: {}, nullable: false } } } },
          },
        ],
        [
          {
            name: "v1",
            served: true,
            storage: true,
            subresources: { status: {} },
            additionalPrinterColumns: [{ name: "A", type: "string", jsonPath: ".spec.a", priority: 0 }],
            schema: {
              openAPIV3Schema: {
                type: "object",
                required: [],
                properties: { spec: { type: "object", description: "", properties: { a: { type: "string", maxLength: 5, enum: ["x"] } } } },
              },
            },
          },
        ],
      ),
    }).map((spec) => ({
      spec: {
        group: "unchanged.example",
        scope: "Namespaced",
        names: { kind: "Thing#", plural: "things#", singular: "thing#", listKind: "Thing#List" },
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
        ...spec,
      },
    })),
  },
  "apiregistration.k8s.io/v1/apiservices": {
    name: "v1.unchanged#.example",
    ...specOf(
      { service: oneOf({ namespace: "@", name: "none" }, { namespace: "@", name: "none", port: 443 }), insecureSkipTLSVerify: oneOf(false) },
      { group: "unchanged#.example", version: "v1", groupPriorityMinimum: 1, versionPriority: 1 },
    ),
  },
};

const peers = listOf({ podSelector: {} }, { namespaceSelector: { matchLabels: { a: "1" } } }, { ipBlock: { cidr: "10.0.0.0/8", except: [] } });
const allowed = fc.record({ peers, ports: listOf({ port: 80 }, { port: "http", protocol: "TCP" }, { protocol: "UDP", port: 53, endPort: 60 }) });
const backend = { service: { name: "s", port: { number: 80 } } };
const network: Readonly<Record<string, Generated>> = {
  "networking.k8s.io/v1/networkpolicies": specOf(
    {
      podSelector: selectors,
      policyTypes: oneOf([], ["Ingress"], ["Ingress", "Egress"]),
      ingress: fc.array(
        allowed.map(({ peers: from, ports }) => ({ from, ports })),
        { maxLength: 2 },
      ),
      egress: fc.array(
        allowed.map(({ peers: to, ports }) => ({ to, ports })),
        { maxLength: 1 },
      ),
    },
    { podSelector: {} },
  ),
  "networking.k8s.io/v1/ingresses": specOf(
    {
      tls: listOf({ hosts: [], secretName: "" }, { hosts: ["a.b"] }, { hosts: ["a.c"], secretName: "s" }),
      ingressClassName: oneOf("x"),
      rules: listOf(
        { host: "", http: { paths: [{ path: "", pathType: "ImplementationSpecific", backend }] } },
        { host: "a.b", http: { paths: [{ path: "/a", pathType: "Prefix", backend: { resource: { kind: "K", name: "n" } } }] } },
      ),
    },
    { defaultBackend: { service: { name: "s", port: { name: "http" } } } },
  ),
  "networking.k8s.io/v1/ingressclasses": specOf({ parameters: oneOf({ kind: "K", name: "n" }) }, { controller: "x.io/c" }),
  "networking.k8s.io/v1/ipaddresses": { name: "10.9.0.#", ...specOf({}, { parentRef: { resource: "services", namespace: "@", name: "s" } }) },
  "networking.k8s.io/v1/servicecidrs": specOf({}, { cidrs: ["10.9.0.0/24"] }),
  "discovery.k8s.io/v1/endpointslices": topOf(
    {
      endpoints: listOf({ addresses: ["10.1.0.1"], conditions: {} }, { addresses: ["10.1.0.2"], conditions: { ready: false }, hostname: "h" }),
      ports: listOf({ port: 80 }, { name: "b", port: 81, protocol: "UDP" }),
    },
    { addressType: "IPv4", endpoints: [] },
  ),
};

const storageGroup = "storage.k8s.io/v1";
const storage: Readonly<Record<string, Generated>> = {
  [`${storageGroup}/storageclasses`]: topOf(
    {
      parameters: oneOf({}, { a: "" }),
      allowVolumeExpansion: oneOf(false, true),
      mountOptions: listOf("ro", "soft"),
      volumeBindingMode: oneOf("Immediate"),
      allowedTopologies: listOf({ matchLabelExpressions: [{ key: "k", values: ["a"] }] }),
    },
    { provisioner: "x.io/p" },
  ),
  [`${storageGroup}/csidrivers`]: specOf({
    attachRequired: oneOf(false),
    podInfoOnMount: oneOf(false, true),
    volumeLifecycleModes: listOf("Persistent", "Ephemeral"),
    tokenRequests: listOf({ audience: "" }, { audience: "a", expirationSeconds: 600 }),
  }),
  [`${storageGroup}/csinodes`]: specOf(
    { drivers: listOf({ name: "d", nodeID: "n", topologyKeys: [] }, { name: "e", nodeID: "n" }) },
    { drivers: [] },
  ),
  [`${storageGroup}/csistoragecapacities`]: topOf(
    { capacity: oneOf("1024Mi", "1000"), maximumVolumeSize: oneOf("1.5Gi"), nodeTopology: selectors },
    { storageClassName: "s" },
  ),
  [`${storageGroup}/volumeattachments`]: specOf({}, { attacher: "a.x.io", nodeName: "n", source: { persistentVolumeName: "p" } }),
  [`${storageGroup}/volumeattributesclasses`]: topOf({ parameters: oneOf({ a: "" }) }, { driverName: "x.io/d", parameters: { a: "1" } }),
};

const scaled = { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" }, maxReplicas: 3 };
const request = { deviceClassName: "c" };
const claim = {
  devices: some({
    requests: listOf(
      { name: "a", exactly: request },
      { name: "b", exactly: { ...request, allocationMode: "ExactCount", count: 2, selectors: [], tolerations: [{ operator: "Exists" }] } },
      { name: "d", firstAvailable: [{ name: "e", ...request }] },
    ),
    config: oneOf([]),
    constraints: oneOf([]),
  }),
};
const resourceGroup = "resource.k8s.io/v1";
const flowGroup = "flowcontrol.apiserver.k8s.io/v1";
const resourceRule = { apiGroups: ["none.example"], resources: ["none"], verbs: ["get"], namespaces: ["@"], clusterScope: false };
const subject = { kind: "User", user: { name: "nobody" } };
const others: Readonly<Record<string, Generated>> = {
  "coordination.k8s.io/v1/leases": specOf({
    holderIdentity: oneOf("a"),
    renewTime: oneOf("2026-01-01T00:00:00.500000Z"),
    leaseDurationSeconds: oneOf(15),
    leaseTransitions: oneOf(0),
  }),
  "apps/v1/controllerrevisions": topOf({}, { revision: 0, data: { a: 1 } }),
  "autoscaling/v1/horizontalpodautoscalers": specOf({ minReplicas: oneOf(1), targetCPUUtilizationPercentage: oneOf(50) }, scaled),
  "autoscaling/v2/horizontalpodautoscalers": specOf(
    {
      minReplicas: oneOf(1, 2),
      metrics: listOf(
        { type: "Resource", resource: { name: "cpu", target: { type: "AverageValue", averageValue: "1000m" } } },
        { type: "External", external: { metric: { name: "m", selector: {} }, target: { type: "Value", value: "1.5Ki" } } },
      ),
      behavior: oneOf(
        {},
        { scaleDown: { policies: [{ type: "Pods", value: 1, periodSeconds: 60 }] } },
        { scaleUp: { stabilizationWindowSeconds: 0, selectPolicy: "Min" } },
      ),
    },
    scaled,
  ),
  "policy/v1/poddisruptionbudgets": specOf({ selector: selectors, unhealthyPodEvictionPolicy: oneOf("AlwaysAllow") }, { minAvailable: 0 }),
  "scheduling.k8s.io/v1/priorityclasses": topOf(
    { globalDefault: oneOf(false), description: oneOf(""), preemptionPolicy: oneOf("Never") },
    { value: 0 },
  ),
  "node.k8s.io/v1/runtimeclasses": topOf(
    {
      overhead: oneOf({ podFixed: { cpu: "1000m" } }),
      scheduling: oneOf(
        {},
        { nodeSelector: { a: "1" }, tolerations: [] },
        { nodeSelector: { a: "1", b: "" }, tolerations: [{ operator: "Exists" }] },
      ),
    },
    { handler: "h" },
  ),
  [`${resourceGroup}/deviceclasses`]: specOf({ selectors: listOf({ cel: { expression: "true" } }), config: oneOf([]) }),
  [`${resourceGroup}/resourceclaims`]: specOf(claim),
  [`${resourceGroup}/resourceclaimtemplates`]: specOf({ spec: some(claim), metadata: oneOf({}, { labels: { a: "1" } }) }, { spec: {} }),
  [`${resourceGroup}/resourceslices`]: specOf(
    { devices: listOf({ name: "a", attributes: {} }, { name: "b", capacity: { "x.io/c": { value: "1024Mi" } } }) },
    { driver: "d.example", nodeName: "n", pool: { name: "p", generation: 0, resourceSliceCount: 1 } },
  ),
  [`${flowGroup}/flowschemas`]: specOf(
    {
      matchingPrecedence: oneOf(9000),
      distinguisherMethod: oneOf({ type: "ByUser" }),
      rules: listOf(
        { subjects: [subject], resourceRules: [resourceRule], nonResourceRules: [] },
        { subjects: [subject], nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/none"] }] },
      ),
    },
    { priorityLevelConfiguration: { name: "catch-all" } },
  ),
  [`${flowGroup}/prioritylevelconfigurations`]: specOf(
    {},
    {
      type: "Limited",
      limited: {
        nominalConcurrencyShares: 0,
        lendablePercent: 0,
        limitResponse: { type: "Queue", queuing: { queues: 1, handSize: 1, queueLengthLimit: 1 } },
      },
    },
  ),
};

/** By apiVersion and plural. */
export const otherObjects: Readonly<Record<string, Generated>> = { ...core, ...access, ...admission, ...network, ...storage, ...others };

/** What any object can have besides. */
export const anyMetadata: fc.Arbitrary<Fields> = some({ labels, annotations: oneOf({}, { "x.io/a": "" }), finalizers: oneOf([]) });
