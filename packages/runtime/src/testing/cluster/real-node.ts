// A real node for a local cluster: containerd, kubelet and kube-proxy in network, mount, PID and cgroup namespaces of their own, so that pods really run.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { request as requestHttp } from "node:http";
import { createServer, type Socket } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { issueCertificate } from "../../x509.ts";
import { type ClusterFiles, readConnection, writeKubeconfig } from "./cluster-access.ts";
import { hostFile, imageArchive, type ImageContent, librariesOf } from "./image.ts";
import { nodeName, nodeNetwork, pauseImage, writeConfigurations } from "./node-configuration.ts";
import { groupsFile } from "./sandbox.ts";
import type { ServerOptions } from "./server-process.ts";
import type { nodeToolNames } from "./tool-module.ts";

/** What the node needs that no Go module gives; each is a Debian package's. */
const systemPrograms = { runc: "runc", nft: "nftables", ip: "iproute2", nsenter: "util-linux", unshare: "util-linux", busybox: "busybox-static" };

/** The hierarchies of cgroup v1 that runc wants. */
const hierarchies = ["cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids"];

/** Why this machine cannot run a real node, in one line for people; undefined if it can. */
export function realNodeObstacle(): string | undefined {
  if (process.platform !== "linux") return `a real node needs Linux, and this is ${process.platform}`;
  if (process.getuid?.() !== 0) return "a real node needs root, for namespaces and cgroups";
  const missing = Object.entries(systemPrograms).filter(([program]) => findProgram(program) === undefined);
  if (missing.length > 0) return `a real node needs ${missing.map(([program, debian]) => `${program} (Debian's ${debian})`).join(", ")}`;
  const mounted = readFileSync("/proc/self/mounts", "utf8");
  const absent = hierarchies.filter((name) => !mounted.includes(` /sys/fs/cgroup/${name} cgroup rw`));
  if (absent.length > 0) return `a real node needs cgroup v1, and there is no writable ${absent.join(", ")} below /sys/fs/cgroup`;
  try {
    execFileSync("unshare", ["--mount", "--pid", "--fork", "--net", "--cgroup", "true"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "a real node needs namespaces, and this machine lets nobody make any";
  }
}

function findProgram(name: string): string | undefined {
  return ["/usr/local/sbin", "/usr/sbin", "/sbin", ...(process.env["PATH"] ?? "").split(delimiter)]
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
}

/** What a node is made of. */
interface RealNodeOptions {
  readonly binaries: Readonly<Record<(typeof nodeToolNames)[number], string>>;
  /** Archives of the images that pods may use; there is no registry. */
  readonly images: readonly string[];
  /** Of the API server, here and in the node's network. */
  readonly port: number;
  /** More ports at the API server's address in the node's network; each leads to `hostSocket`. */
  readonly hostPorts: readonly number[];
  readonly isReady: () => Promise<boolean>;
}

const relayProgram = fileURLToPath(new URL("./relay.ts", import.meta.url));

/** The socket of the API server, for the node, and the node's for the API server and for tests. */
function socketsIn({ folder }: ClusterFiles): { readonly api: string; readonly node: string } {
  return { api: join(folder, "api.sock"), node: join(folder, "node.sock") };
}

/** The Unix socket that a port of `hostPorts` leads to: whoever listens on it serves pods. */
export function hostSocket({ folder }: ClusterFiles, port: number): string {
  return join(folder, `host-${port}.sock`);
}

/** Flags by which the API server reaches the kubelet, pods and Services through the node's socket, and tells pods an address that they can reach. */
export function apiServerArgsFor(files: ClusterFiles): readonly string[] {
  const egress = join(files.folder, "egress.json");
  const connection = { proxyProtocol: "HTTPConnect", transport: { uds: { udsName: socketsIn(files).node } } };
  const selection = {
    apiVersion: "apiserver.k8s.io/v1beta1",
    kind: "EgressSelectorConfiguration",
    egressSelections: [{ name: "cluster", connection }],
  };
  writeFileSync(egress, JSON.stringify(selection));
  const { authority } = readConnection(files);
  const client = issueCertificate(authority, { usage: "client", commonName: "kube-apiserver-kubelet-client", organizations: ["system:masters"] });
  writeFileSync(join(files.folder, "kubelet-client.crt"), client.certificate);
  writeFileSync(join(files.folder, "kubelet-client.key"), client.privateKey, { mode: 0o600 });
  return [
    `--advertise-address=${nodeNetwork.apiServer}`,
    "--endpoint-reconciler-type=lease",
    `--egress-selector-config-file=${egress}`,
    `--kubelet-client-certificate=${join(files.folder, "kubelet-client.crt")}`,
    `--kubelet-client-key=${join(files.folder, "kubelet-client.key")}`,
    `--kubelet-certificate-authority=${files.authority}`,
    "--kubelet-preferred-address-types=InternalIP",
  ];
}

/** How to run the machine's end of the node's connection to the API server. */
export function apiServerRelay(files: ClusterFiles, port: number): ServerOptions {
  const { api } = socketsIn(files);
  return {
    name: "relay",
    command: process.execPath,
    args: [relayProgram, `${api}=127.0.0.1:${port}`],
    logFile: files.log("relay"),
    isReady: async () => existsSync(api),
  };
}

/** How to run the node. Writes its configuration. It is one process here, and whatever it starts and mounts ends with it. */
export function realNode(files: ClusterFiles, options: RealNodeOptions): ServerOptions {
  const folder = join(files.folder, "node");
  for (const name of ["cni", "images", "log", "kubelet", "volume-plugins", "proc"]) mkdirSync(join(folder, name), { recursive: true });
  writeLogins(files, folder, options.port);
  writeConfigurations(files, folder, { runc: findProgram("runc") ?? "", plugins: dirname(options.binaries.bridge) });
  writeFileSync(join(folder, "images/pause.tar"), imageArchive(pause()));
  writeFileSync(join(folder, "enter.sh"), enterScript);
  writeFileSync(join(folder, "first-process.sh"), firstProcessScript);
  const relayed = [
    `${nodeNetwork.apiServer}:${options.port}=${socketsIn(files).api}`,
    `${socketsIn(files).node}=CONNECT`,
    ...options.hostPorts.map((port) => `${nodeNetwork.apiServer}:${port}=${hostSocket(files, port)}`),
  ];
  const path = [...new Set(Object.values(options.binaries).map((binary) => dirname(binary)))].join(delimiter);
  writeFileSync(
    join(folder, "settings.sh"),
    [
      `folder='${folder}'`,
      `groups='${join(files.folder, groupsFile)}'`,
      `group='${files.folder.split("/").at(-1)}'`,
      `hierarchies='${hierarchies.join(" ")}'`,
      `PATH='${path}:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin'`,
      `node_address='${nodeNetwork.node}/${nodeNetwork.prefixLength}'`,
      `api_address='${nodeNetwork.apiServer}/${nodeNetwork.prefixLength}'`,
      `services='${nodeNetwork.services}'`,
      `node_name='${nodeName}'`,
      `images='${[join(folder, "images/pause.tar"), ...options.images].join(" ")}'`,
      `relay="'${process.execPath}' '${relayProgram}' ${relayed.join(" ")}"`,
      "",
    ].join("\n"),
  );
  return {
    name: "node",
    command: "/bin/sh",
    args: [join(folder, "enter.sh"), join(folder, "settings.sh"), join(folder, "first-process.sh")],
    logFile: files.log("node"),
    isReady: options.isReady,
  };
}

/** Enters cgroups below those that we are in, and then namespaces. The name of a cgroup is written down before it is made, so that it cannot be left behind. */
const enterScript = `
set -eu
. "$1"
while IFS=: read -r _ hierarchy path; do
  case $hierarchy in "") continue ;; name=*) hierarchy=\${hierarchy#name=} ;; esac
  parent=/sys/fs/cgroup/$hierarchy\${path%/}
  echo "$parent/$group" >>"$groups"
  mkdir "$parent/$group"
  if [ "$hierarchy" = cpuset ]; then for file in cpuset.cpus cpuset.mems; do cat "$parent/$file" >"$parent/$group/$file"; done; fi
  echo $$ >"$parent/$group/cgroup.procs"
done </proc/self/cgroup
exec unshare --net --mount --propagation private --pid --fork --kill-child --uts --ipc --cgroup /bin/sh "$2" "$1"
`;

/**
 * The first process of the node's namespaces: what it mounts, routes and starts ends with it.
 * containerd, CNI and kubelet have fixed places (/opt/containerd, /var/lib/cni, /var/lib/kubelet/device-plugins), over which layers of ours are laid.
 * kubelet sets some kernel settings for the whole machine: it gets files of ours to write to.
 */
const firstProcessScript = `
set -eu
. "$1"
mount --make-rshared /
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
for name in $hierarchies; do mkdir /sys/fs/cgroup/$name; mount -t cgroup -o $name cgroup /sys/fs/cgroup/$name; done
mkdir /sys/fs/cgroup/systemd; mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
mount -t tmpfs -o mode=755 tmpfs /run
mount --bind "$folder/log" /var/log
# A proc with nothing mounted over it: the kernel asks for one before it lets a pod with a user namespace of its own mount another.
mount -t proc proc "$folder/proc"
for place in opt var/lib; do
  over=$folder/over/$place
  mkdir -p "$over/upper" "$over/work"
  mount -t overlay overlay -o "lowerdir=/$place,upperdir=$over/upper,workdir=$over/work" "/$place"
done
for setting in vm/overcommit_memory=1 kernel/panic=10 kernel/panic_on_oops=1; do
  file=$folder/sysctl-$(basename "\${setting%=*}")
  echo "\${setting#*=}" >"$file"
  mount --bind "$file" "/proc/sys/\${setting%=*}"
done
hostname "$node_name"
ip link set lo up
# Both ends of the cable are here: it makes an interface that is up.
ip link add eth0 type veth peer name eth0-peer
ip address add "$node_address" dev eth0
ip address add "$api_address" dev eth0
ip link set eth0-peer up
ip link set eth0 up
ip route add "$services" dev eth0
echo 1 >/proc/sys/net/ipv4/ip_forward
eval "$relay" &
containerd --config "$folder/containerd.toml" >"$folder/log/containerd.log" 2>&1 &
until ctr version >/dev/null 2>&1; do sleep 0.05; done
for image in $images; do ctr --namespace k8s.io images import --all-platforms "$image"; done
kubelet --config="$folder/kubelet.json" --kubeconfig="$folder/kubelet.kubeconfig" --root-dir="$folder/kubelet" --cert-dir="$folder/kubelet/pki" \\
  --hostname-override="$node_name" --node-ip="\${node_address%/*}" >"$folder/log/kubelet.log" 2>&1 &
kube-proxy --config="$folder/kube-proxy.json" >"$folder/log/kube-proxy.log" 2>&1 &
# Also reaps what loses its parent.
wait
`;

function writeLogins(files: ClusterFiles, folder: string, port: number): void {
  const { authority } = readConnection(files);
  const server = `https://${nodeNetwork.apiServer}:${port}`;
  const login = (name: string, commonName: string, organizations: readonly string[]): void => {
    const keyPair = issueCertificate(authority, { usage: "client", commonName, organizations });
    writeKubeconfig(join(folder, `${name}.kubeconfig`), { server, authority: authority.certificate, login: { type: "certificate", keyPair } });
  };
  login("kubelet", `system:node:${nodeName}`, ["system:nodes"]);
  login("kube-proxy", "system:kube-proxy", []);
  const serving = issueCertificate(authority, { usage: "server", commonName: nodeName, hosts: [nodeNetwork.node, nodeName] });
  writeFileSync(join(folder, "kubelet.crt"), serving.certificate);
  writeFileSync(join(folder, "kubelet.key"), serving.privateKey, { mode: 0o600 });
}

/** The container that holds a pod's namespaces: it has nothing to do. */
function pause(): ImageContent {
  const busybox = findProgram("busybox") ?? "";
  return {
    names: [pauseImage],
    layers: [[hostFile(busybox, "bin/busybox"), ...librariesOf(busybox)]],
    settings: { Entrypoint: ["/bin/busybox", "sleep", "2147483647"], User: "65535:65535" },
  };
}

/** Opens a connection within the node's network: to a pod, to a Service's address. */
export function connectWithin(files: ClusterFiles, target: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const request = requestHttp({ socketPath: socketsIn(files).node, method: "CONNECT", path: target });
    request.once("connect", (response, socket) => {
      if (response.statusCode === 200) resolve(socket);
      else reject(new Error(`connecting to ${target} in the node's network: refused`));
    });
    request.once("error", reject);
    request.end();
  });
}

/** A port of this machine that leads to an address in the node's network, until it is disposed of. */
export async function forwardTo(files: ClusterFiles, target: string, port = 0): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer({ allowHalfOpen: true }, (incoming) => {
    incoming.on("error", () => incoming.destroy());
    connectWithin(files, target).then(
      (outgoing) => {
        outgoing.on("error", () => incoming.destroy());
        incoming.on("close", () => outgoing.destroy());
        incoming.pipe(outgoing).pipe(incoming);
      },
      () => incoming.destroy(),
    );
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error(`forwarding to ${target}: there is no port`);
  return {
    port: address.port,
    async [Symbol.asyncDispose]() {
      server.close();
    },
  };
}
