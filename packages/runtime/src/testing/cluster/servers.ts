// The servers of a local cluster and what each is started with.
import { readFileSync, writeFileSync } from "node:fs";
import { request as requestHttp, type ClientRequest, type IncomingMessage } from "node:http";
import { request as requestHttps } from "node:https";
import { join } from "node:path";
import type { KubeObject } from "../../client/kind.ts";
import type { ClusterFiles } from "./cluster-access.ts";
import type { ServerOptions } from "./server-process.ts";

// Asks a server whether it is ready.

/** True if the server on `port` of this machine answers 200 on `path`, with the cluster's certificate. */
function isServing(port: number, path: "/readyz" | "/healthz", files: ClusterFiles): Promise<boolean> {
  const ca = readFileSync(files.authority, "utf8");
  return answersOk((onResponse) => requestHttps({ host: "127.0.0.1", port, path, ca, agent: false, timeout: 2000 }, onResponse));
}

function answersOk(send: (onResponse: (response: IncomingMessage) => void) => ClientRequest): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = send((response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    probe.once("timeout", () => probe.destroy());
    probe.once("error", () => resolve(false));
    probe.end();
  });
}

// kube-apiserver for a local cluster: TLS and RBAC as in production, without what only delays its start or slows a benchmark.

/** Who may speak for others with `X-Remote-User`: the fault proxy, for clients that log in with a certificate. */
export const frontProxyUser = "keyturn-fault-proxy";

/** What varies between clusters. */
interface ApiServerOptions {
  readonly port: number;
  /** Without kube-controller-manager nobody makes the `default` ServiceAccount that pods need, so pods must do without. */
  readonly hasControllerManager: boolean;
  /** More flags, after ours. */
  readonly extraArgs: readonly string[];
}

/** How to run kube-apiserver. */
export function apiServer(binary: string, files: ClusterFiles, { port, hasControllerManager, extraArgs }: ApiServerOptions): ServerOptions {
  return {
    name: "kube-apiserver",
    command: binary,
    args: [
      `--etcd-servers=unix://${files.etcdSocket}`,
      "--bind-address=127.0.0.1",
      "--advertise-address=127.0.0.1",
      `--secure-port=${port}`,
      `--tls-cert-file=${files.serverCertificate}`,
      `--tls-private-key-file=${files.serverKey}`,
      `--client-ca-file=${files.authority}`,
      `--requestheader-client-ca-file=${files.authority}`,
      `--requestheader-allowed-names=${frontProxyUser}`,
      "--requestheader-username-headers=X-Remote-User",
      "--requestheader-group-headers=X-Remote-Group",
      "--authorization-mode=Node,RBAC",
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${files.serviceAccountKey}`,
      `--service-account-signing-key-file=${files.serviceAccountKey}`,
      "--service-cluster-ip-range=10.0.0.0/16",
      "--allow-privileged=true",
      "--endpoint-reconciler-type=none",
      // Neither a queue nor a limit: a benchmark measures the client, and tests get their 429s from the fault proxy.
      "--enable-priority-and-fairness=false",
      "--max-requests-inflight=0",
      "--max-mutating-requests-inflight=0",
      ...(hasControllerManager ? [] : ["--disable-admission-plugins=ServiceAccount"]),
      ...extraArgs,
    ],
    logFile: files.log("kube-apiserver"),
    isReady: () => isServing(port, "/readyz", files),
  };
}

// What the servers beside kube-apiserver are started with alike: how to reach it, and where to answer themselves.

/** Flags of kube-controller-manager and kube-scheduler. There is one of each, and tests are not to wait for their rate limits. */
function componentArgs(files: ClusterFiles, port: number): readonly string[] {
  return [
    `--kubeconfig=${files.adminKubeconfig}`,
    `--authentication-kubeconfig=${files.adminKubeconfig}`,
    `--authorization-kubeconfig=${files.adminKubeconfig}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    `--tls-cert-file=${files.serverCertificate}`,
    `--tls-private-key-file=${files.serverKey}`,
    "--leader-elect=false",
    "--kube-api-qps=1000",
    "--kube-api-burst=2000",
  ];
}

// kube-controller-manager for a local cluster: Deployments, Jobs, namespaces, garbage collection, ServiceAccounts.

/** How to run kube-controller-manager. */
export function controllerManager(binary: string, files: ClusterFiles, port: number): ServerOptions {
  return {
    name: "kube-controller-manager",
    command: binary,
    args: [
      ...componentArgs(files, port),
      `--service-account-private-key-file=${files.serviceAccountKey}`,
      `--root-ca-file=${files.authority}`,
      `--cluster-signing-cert-file=${files.authority}`,
      `--cluster-signing-key-file=${files.authorityKey}`,
    ],
    logFile: files.log("kube-controller-manager"),
    isReady: () => isServing(port, "/healthz", files),
  };
}

// etcd for a local cluster: one member, on a socket in the cluster's folder, so that it needs no port and nobody else can reach it.

/** How to run etcd. */
export function etcdServer(binary: string, files: ClusterFiles): ServerOptions {
  // A single member never dials its peer address, but etcd insists on one.
  const peer = "http://127.0.0.1:2380";
  return {
    name: "etcd",
    command: binary,
    args: [
      "--name=keyturn",
      `--data-dir=${files.etcdData}`,
      `--listen-client-urls=unix://${files.etcdSocket}`,
      "--advertise-client-urls=http://127.0.0.1:2379",
      `--listen-peer-urls=unix://${files.etcdSocket}.peer`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=keyturn=${peer}`,
      // The data need not outlive the machine, and it outlives the process all the same: what was written stays in the page cache.
      "--unsafe-no-fsync",
      "--quota-backend-bytes=4294967296",
      "--log-level=warn",
    ],
    logFile: files.log("etcd"),
    isReady: () => answersOk((onResponse) => requestHttp({ socketPath: files.etcdSocket, path: "/health", timeout: 2000 }, onResponse)),
  };
}

// kwok for a local cluster: stands in for the kubelets, so that nodes become ready and pods run without containers.

/** A rule of kwok: an object that `when` holds for gets `status`, or goes. */
interface Stage {
  readonly name: string;
  readonly kind: "Node" | "Pod";
  readonly when: readonly { readonly key: string; readonly operator: string; readonly values?: readonly string[] }[];
  readonly next: { readonly statusTemplate: string } | { readonly delete: true };
}

const alive = { key: ".metadata.deletionTimestamp", operator: "DoesNotExist" };
const notReady = { key: '.status.conditions.[] | select( .type == "Ready" ) | .status', operator: "NotIn", values: ["True"] };

const nodeStatus = `
{{ $now := Now }}
phase: Running
conditions:
{{ range NodeConditions }}
- { type: {{ .type | Quote }}, status: {{ .status | Quote }}, reason: {{ .reason | Quote }}, message: {{ .message | Quote }}, lastHeartbeatTime: {{ $now | Quote }}, lastTransitionTime: {{ $now | Quote }} }
{{ end }}
addresses:
- { type: InternalIP, address: {{ NodeIP | Quote }} }
- { type: Hostname, address: {{ .metadata.name | Quote }} }
capacity: { cpu: "1000", memory: 1Ti, pods: "100000" }
allocatable: { cpu: "1000", memory: 1Ti, pods: "100000" }
`;

const podRunning = `
{{ $now := Now }}
phase: Running
startTime: {{ $now | Quote }}
conditions:
- { type: Initialized, status: "True", lastTransitionTime: {{ $now | Quote }} }
- { type: ContainersReady, status: "True", lastTransitionTime: {{ $now | Quote }} }
- { type: Ready, status: "True", lastTransitionTime: {{ $now | Quote }} }
{{ range .spec.readinessGates }}
- { type: {{ .conditionType | Quote }}, status: "True", lastTransitionTime: {{ $now | Quote }} }
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- { name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: true, started: true, restartCount: 0, state: { running: { startedAt: {{ $now | Quote }} } } }
{{ end }}
initContainerStatuses:
{{ range .spec.initContainers }}
{{ if eq .restartPolicy "Always" }}
- { name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: true, started: true, restartCount: 0, state: { running: { startedAt: {{ $now | Quote }} } } }
{{ else }}
- { name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: true, restartCount: 0, state: { terminated: { exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }} } } }
{{ end }}
{{ end }}
{{ with PodIPsWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) ( or .metadata.name "" ) ( or .metadata.namespace "" ) }}
podIP: {{ index . 0 | Quote }}
podIPs: [{ ip: {{ index . 0 | Quote }} }]
{{ end }}
`;

const podSucceeded = `
{{ $now := Now }}
phase: Succeeded
containerStatuses:
{{ range .spec.containers }}
- { name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: false, started: false, restartCount: 0, state: { terminated: { exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }} } } }
{{ end }}
`;

const stages: readonly Stage[] = [
  { name: "node-ready", kind: "Node", when: [notReady], next: { statusTemplate: nodeStatus } },
  {
    name: "pod-running",
    kind: "Pod",
    when: [alive, { key: ".status.phase", operator: "In", values: ["Pending"] }, notReady],
    next: { statusTemplate: podRunning },
  },
  {
    name: "job-pod-succeeded",
    kind: "Pod",
    when: [
      alive,
      { key: ".status.phase", operator: "In", values: ["Running"] },
      { key: ".metadata.ownerReferences.[].kind", operator: "In", values: ["Job"] },
    ],
    next: { statusTemplate: podSucceeded },
  },
  { name: "pod-deleted", kind: "Pod", when: [{ key: ".metadata.deletionTimestamp", operator: "Exists" }], next: { delete: true } },
];

/** How to run kwok. Writes its configuration. */
export function kwok(binary: string, files: ClusterFiles, isReady: () => Promise<boolean>): ServerOptions {
  const config = join(files.folder, "kwok.yaml");
  writeFileSync(config, stages.map((stage) => JSON.stringify(stageObject(stage))).join("\n---\n"));
  return {
    name: "kwok",
    command: binary,
    args: [
      `--kubeconfig=${files.adminKubeconfig}`,
      `--config=${config}`,
      "--manage-all-nodes",
      "--node-ip=127.0.0.1",
      // The node controller calls a node unknown when its lease is older than this; it is kubelet's default too.
      "--node-lease-duration-seconds=40",
    ],
    logFile: files.log("kwok"),
    isReady,
  };
}

/** The nodes that kwok brings to life. */
export function kwokNodes(count: number): readonly KubeObject[] {
  return Array.from({ length: count }, (_, index) => {
    const name = `node-${index}`;
    return { apiVersion: "v1", kind: "Node", metadata: { name, labels: { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux" } } };
  });
}

function stageObject({ name, kind, when, next }: Stage): object {
  return {
    apiVersion: "kwok.x-k8s.io/v1alpha1",
    kind: "Stage",
    metadata: { name },
    spec: { resourceRef: { apiGroup: "v1", kind }, selector: { matchExpressions: when }, next },
  };
}

// kube-scheduler for a local cluster: gives pods their nodes.

/** How to run kube-scheduler. */
export function scheduler(binary: string, files: ClusterFiles, port: number): ServerOptions {
  return {
    name: "kube-scheduler",
    command: binary,
    args: componentArgs(files, port),
    logFile: files.log("kube-scheduler"),
    isReady: () => isServing(port, "/readyz", files),
  };
}
