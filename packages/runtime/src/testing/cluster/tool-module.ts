// Reads the Go modules in `cluster/`: which tools each has, at which version, and where their builds are kept.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The programs a local cluster can be made of. */
export const clusterToolNames = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok"] as const;

const containerdToolNames = ["containerd", "containerd-shim-runc-v2", "ctr", "bridge", "host-local", "loopback"] as const;

/** What a real node runs besides runc: its kubelet and kube-proxy, containerd, and the CNI plugins. */
export const nodeToolNames = ["kubelet", "kube-proxy", ...containerdToolNames] as const;

/** All programs that are built from Go modules: those, and what tests of the chart run. */
export const toolNames = [...clusterToolNames, ...nodeToolNames, "helm", "helm-unittest", "promtool"] as const;

/** One of these programs. */
export type ToolName = (typeof toolNames)[number];

/** The modules there are: the newest Kubernetes we support, the oldest, containerd with the CNI plugins, and one for each program that tests of the chart run. */
type ModuleName = "newest" | "oldest" | "containerd" | "helm" | "helm-unittest" | "promtool";

/** A Go module that lists programs as tools. */
export interface ToolModule {
  /** Holds the module's files. */
  readonly folder: string;
  /** What it is a build of, for people: `Kubernetes v1.2.3`. */
  readonly title: string;
  /** Of what it is a build of, with its `v`. */
  readonly version: string;
  /** The packages of all tools. */
  readonly packages: readonly string[];
  /** What `go build` is given besides the package; part of the key. */
  readonly buildFlags: readonly string[];
  /** Names this set of builds: equal keys mean equal binaries. */
  readonly key: string;
}

/** The environment variables that decide where things are. */
export type Environment = Readonly<Record<string, string | undefined>>;

interface ModuleDefinition {
  /** Without `.mod` and `.sum`. */
  readonly file: string;
  readonly title: string;
  /** The Go module whose version counts. */
  readonly path: string;
  readonly keyPrefix: string;
  /** Build tags, to leave out parts that nobody here needs. */
  readonly tags?: string;
  /** Linker variables that make the programs report their version. */
  readonly stamps: (version: string) => Readonly<Record<string, string>>;
}

const kubernetes = { title: "Kubernetes", path: "k8s.io/kubernetes", keyPrefix: "", stamps: kubernetesStamps };

const definitions: Readonly<Record<ModuleName, ModuleDefinition>> = {
  newest: { ...kubernetes, file: "go" },
  oldest: { ...kubernetes, file: "oldest" },
  containerd: {
    file: "containerd",
    title: "containerd",
    path: "github.com/containerd/containerd/v2",
    keyPrefix: "containerd-",
    // Snapshotters that need C libraries; ours is overlayfs.
    tags: "no_btrfs,no_devmapper,no_zfs",
    stamps: (version) => ({ "github.com/containerd/containerd/v2/version.Version": version }),
  },
  helm: {
    file: "helm",
    title: "Helm",
    path: "helm.sh/helm/v4",
    keyPrefix: "helm-",
    stamps: (version) => ({ "helm.sh/helm/v4/internal/version.version": version }),
  },
  "helm-unittest": {
    file: "helm-unittest",
    title: "helm-unittest",
    path: "github.com/helm-unittest/helm-unittest",
    keyPrefix: "helm-unittest-",
    stamps: () => ({}),
  },
  promtool: {
    file: "promtool",
    title: "Prometheus",
    path: "github.com/prometheus/prometheus",
    keyPrefix: "prometheus-",
    // Without the clients of two dozen clouds, for whose machines rules do not ask.
    tags: "remove_all_sd",
    stamps: (version) => ({ "github.com/prometheus/common/version.Version": version }),
  },
};

/**
 * Which module a tool is built from. `K8S=oldest` in the environment chooses the oldest Kubernetes; kwok is a client and the same
 * for every version.
 */
export function moduleOf(tool: ToolName, environment: Environment): ModuleName {
  if (tool === "helm" || tool === "helm-unittest" || tool === "promtool") return tool;
  if (containerdToolNames.some((name) => name === tool)) return "containerd";
  const chosen = environment["K8S"] || "newest";
  if (chosen !== "newest" && chosen !== "oldest") throw new Error(`choosing a Kubernetes version: K8S is "${chosen}"; set it to newest or oldest`);
  return tool === "kwok" ? "newest" : chosen;
}

/** Reads a module's files in `folder`; default is `cluster/` of the package, or of the checkout, that this file belongs to. */
export function readToolModule(name: ModuleName, folder: string = findModuleFolder()): ToolModule {
  const { file, title, path, keyPrefix, tags, stamps } = definitions[name];
  const modFile = join(folder, `${file}.mod`);
  const goMod = readFileSync(modFile, "utf8");
  const goSum = readFileSync(join(folder, `${file}.sum`), "utf8");
  const version = requiredVersion(goMod, path);
  if (!version) throw new Error(`reading the version of ${title}: ${modFile} requires no ${path}`);
  const linkerFlags = ["-s", "-w", ...Object.entries(stamps(version)).map(([variable, value]) => `-X ${variable}=${value}`)].join(" ");
  const chosenFile = file === "go" ? [] : [`-modfile=${file}.mod`];
  const chosenTags = tags === undefined ? [] : [`-tags=${tags}`];
  const buildFlags = ["-mod=readonly", ...chosenFile, ...chosenTags, "-trimpath", "-buildvcs=false", `-ldflags=${linkerFlags}`];
  const platform = `${process.platform}-${process.arch}`;
  const digest = createHash("sha256")
    .update(JSON.stringify([goMod, goSum, buildFlags, platform]))
    .digest("hex");
  const key = `${keyPrefix}${version}-${platform}-${digest.slice(0, 12)}`;
  return { folder, title: `${title} ${version}`, version, packages: listedTools(goMod), buildFlags, key };
}

/** The Go package of a tool; throws if the module does not list it. */
export function packageOf(tool: ToolName, module: ToolModule): string {
  const found = module.packages.find((path) => basename(path) === tool || (tool === "etcd" && path.startsWith("go.etcd.io/etcd/server/")));
  if (!found) throw new Error(`looking for ${tool}: the module of ${module.title} in ${module.folder} lists no such tool`);
  return found;
}

/** Where builds of this module are kept between runs: `keyturn/cluster/<key>` in the user's cache folder. */
export function cacheFolderOf(module: ToolModule, environment: Environment): string {
  const base = environment["XDG_CACHE_HOME"] || join(environment["HOME"] || homedir(), ".cache");
  return join(base, "keyturn", "cluster", module.key);
}

/** The folder of the newest Kubernetes that setup-envtest has downloaded for this machine, if it has all of the tools. */
export function envtestFolderWith(tools: readonly ToolName[], environment: Environment): string | undefined {
  const home = environment["HOME"] || homedir();
  const store =
    process.platform === "darwin"
      ? join(home, "Library/Application Support/io.kubebuilder.envtest/k8s")
      : join(environment["XDG_DATA_HOME"] || join(home, ".local/share"), "kubebuilder-envtest/k8s");
  const ending = `-${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`;
  const names = existsSync(store) ? readdirSync(store).filter((name) => /^\d+\.\d+\.\d+-/.test(name) && name.endsWith(ending)) : [];
  const newestFirst = names.sort((a, b) => b.localeCompare(a, "en", { numeric: true }));
  return newestFirst.map((name) => join(store, name)).find((folder) => tools.every((tool) => existsSync(join(folder, tool))));
}

function kubernetesStamps(version: string): Readonly<Record<string, string>> {
  const [major = "", minor = ""] = version.slice(1).split(".");
  const component = "k8s.io/component-base/version";
  return {
    [`${component}.gitVersion`]: version,
    [`${component}.gitMajor`]: major,
    [`${component}.gitMinor`]: minor,
    [`${component}.gitTreeState`]: "clean",
  };
}

function requiredVersion(goMod: string, path: string): string | undefined {
  const words = goMod.split("\n").map((line) => line.trim().split(/\s+/));
  return words.find(([first, second]) => first === path && second?.startsWith("v"))?.[1];
}

/** Both forms that Go knows: a line for one, a block for several. */
function listedTools(goMod: string): readonly string[] {
  const block = (/^tool \(([^)]*)\)/m.exec(goMod)?.[1] ?? "").split("\n").map((line) => line.trim());
  const line = /^tool ([^\s(]+)$/m.exec(goMod)?.[1];
  return [...block, line ?? ""].filter((path) => path !== "");
}

function findModuleFolder(): string {
  const start = dirname(fileURLToPath(import.meta.url));
  for (let folder = start; ; folder = dirname(folder)) {
    const candidate = join(folder, "cluster");
    if (existsSync(join(candidate, "go.mod"))) return candidate;
    if (dirname(folder) === folder) {
      throw new Error(`looking for cluster/go.mod above ${start}: not found; install @keyturn/runtime again, or give the option moduleFolder`);
    }
  }
}
