// kwok for a local cluster: stands in for the kubelets, so that nodes become ready and pods run without containers.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KubeObject } from "../../../client/object.ts";
import type { ServerOptions } from "../server-process.ts";
import type { ClusterFiles } from "../cluster-files.ts";

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
