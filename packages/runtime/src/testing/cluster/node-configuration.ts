// What the servers of a real node are told: kubelet, kube-proxy, containerd, and the plugin that connects pods.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ClusterFiles } from "./cluster-access.ts";

/** The addresses within the node's network. They are the same for every cluster: no two networks have anything to do with each other. */
export const nodeNetwork = { apiServer: "10.199.0.1", node: "10.199.0.2", prefixLength: 30, services: "10.0.0.0/16", pods: "10.244.0.0/24" } as const;

/** What the node is called. */
export const nodeName = "node-0";

/** The image of the container that holds the namespaces of a pod. */
export const pauseImage = "keyturn.local/pause:1";

/** Writes what the three servers and the network plugin are told into `folder`. `programs` are the path of runc, and the folder of the plugins. */
export function writeConfigurations(files: ClusterFiles, folder: string, programs: { readonly runc: string; readonly plugins: string }): void {
  const write = (name: string, content: object): void => writeFileSync(join(folder, name), JSON.stringify(content));
  writeFileSync(join(folder, "resolv.conf"), "");
  writeFileSync(join(folder, "containerd.toml"), containerdSettings(folder, programs));
  write("cni/10-pods.conflist", {
    cniVersion: "1.0.0",
    name: "pods",
    plugins: [
      {
        type: "bridge",
        bridge: "cni0",
        isGateway: true,
        // A pod that reaches itself through its Service.
        hairpinMode: true,
        ipMasq: true,
        ipMasqBackend: "nftables",
        ipam: { type: "host-local", dataDir: "/run/cni-networks", ranges: [[{ subnet: nodeNetwork.pods }]], routes: [{ dst: "0.0.0.0/0" }] },
      },
    ],
  });
  write("kubelet.json", {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    failCgroupV1: false,
    cgroupDriver: "cgroupfs",
    containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
    address: nodeNetwork.node,
    healthzPort: 0,
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: files.authority } },
    authorization: { mode: "Webhook" },
    tlsCertFile: join(folder, "kubelet.crt"),
    tlsPrivateKeyFile: join(folder, "kubelet.key"),
    failSwapOn: false,
    resolvConf: join(folder, "resolv.conf"),
    clusterDNS: ["10.0.0.10"],
    clusterDomain: "cluster.local",
    volumePluginDir: join(folder, "volume-plugins"),
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    evictionHard: { "memory.available": "50Mi", "nodefs.available": "1%", "imagefs.available": "1%", "nodefs.inodesFree": "1%" },
    // Tests do not wait for what production spreads over minutes.
    syncFrequency: "10s",
    nodeStatusUpdateFrequency: "5s",
    configMapAndSecretChangeDetectionStrategy: "Watch",
    registryPullQPS: 0,
    eventRecordQPS: 0,
    kubeAPIQPS: 200,
    kubeAPIBurst: 400,
  });
  write("kube-proxy.json", {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "nftables",
    clientConnection: { kubeconfig: join(folder, "kube-proxy.kubeconfig") },
    clusterCIDR: nodeNetwork.pods,
    hostnameOverride: nodeName,
    bindAddress: nodeNetwork.node,
    healthzBindAddress: "127.0.0.1:10256",
    metricsBindAddress: "127.0.0.1:10249",
    // The size of the table belongs to the whole machine.
    conntrack: { maxPerCore: 0, min: 0 },
    nftables: { minSyncPeriod: "100ms" },
  });
}

/** Without the right to lower an OOM score (CAP_SYS_RESOURCE) every sandbox would fail, hence `restrict_oom_score_adj`. */
function containerdSettings(folder: string, { runc, plugins }: { readonly runc: string; readonly plugins: string }): string {
  const section = (name: string): string => `[plugins."io.containerd.cri.v1.${name}]`;
  return `version = 3
root = "${folder}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.internal.v1.opt"]
[grpc]
address = "/run/containerd/containerd.sock"
${section('images"')}
snapshotter = "overlayfs"
${section('images".pinned_images')}
sandbox = "${pauseImage}"
${section('runtime"')}
restrict_oom_score_adj = true
${section('runtime".containerd.runtimes.runc')}
runtime_type = "io.containerd.runc.v2"
${section('runtime".containerd.runtimes.runc.options')}
BinaryName = "${runc}"
SystemdCgroup = false
${section('runtime".cni')}
bin_dirs = ["${plugins}"]
conf_dir = "${folder}/cni"
`;
}
