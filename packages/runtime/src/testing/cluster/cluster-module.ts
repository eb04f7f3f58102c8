// Reads `cluster/go.mod`: which tools make up the control plane, at which version, and where their builds are kept.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The programs a local cluster can be made of. */
export const toolNames = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok"] as const;

export type ToolName = (typeof toolNames)[number];

/** A Go module that lists the control plane's programs as tools. */
export interface ClusterModule {
  /** Holds `go.mod` and `go.sum`. */
  readonly folder: string;
  /** Of Kubernetes, with its `v`. */
  readonly version: string;
  readonly packages: Readonly<Record<ToolName, string>>;
  /** What `go build` is given besides the package; part of the key. */
  readonly buildFlags: readonly string[];
  /** Names this set of builds: equal keys mean equal binaries. */
  readonly key: string;
}

/** The environment variables that decide where things are. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the module in `folder`; default is `cluster/` of the checkout that this file belongs to. */
export function readClusterModule(folder: string = findModuleFolder()): ClusterModule {
  const goMod = readFileSync(join(folder, "go.mod"), "utf8");
  const goSum = readFileSync(join(folder, "go.sum"), "utf8");
  const version = /^\s*k8s\.io\/kubernetes (v(\d+)\.(\d+)\.\S+)/m.exec(goMod);
  if (!version?.[1]) throw new Error(`reading the Kubernetes version: ${join(folder, "go.mod")} requires no k8s.io/kubernetes`);
  const component = "k8s.io/component-base/version";
  const stamps = { gitVersion: version[1], gitMajor: version[2], gitMinor: version[3], gitTreeState: "clean" };
  const linkerFlags = ["-s", "-w", ...Object.entries(stamps).map(([name, value]) => `-X ${component}.${name}=${value}`)].join(" ");
  const buildFlags = ["-mod=readonly", "-trimpath", "-buildvcs=false", `-ldflags=${linkerFlags}`];
  const platform = `${process.platform}-${process.arch}`;
  const digest = createHash("sha256")
    .update(JSON.stringify([goMod, goSum, buildFlags, platform]))
    .digest("hex");
  return { folder, version: version[1], packages: packagesOf(goMod, folder), buildFlags, key: `${version[1]}-${platform}-${digest.slice(0, 12)}` };
}

/** Where builds of this module are kept between runs: `keyturn/cluster/<key>` in the user's cache folder. */
export function cacheFolderOf(module: ClusterModule, environment: Environment): string {
  const base = environment["XDG_CACHE_HOME"] || join(environment["HOME"] || homedir(), ".cache");
  return join(base, "keyturn", "cluster", module.key);
}

function packagesOf(goMod: string, folder: string): Readonly<Record<ToolName, string>> {
  const listed = (/^tool \(([^)]*)\)/m.exec(goMod)?.[1] ?? "").split("\n").map((line) => line.trim());
  const find = (tool: ToolName): string => {
    const found = listed.find((path) => basename(path) === tool || (tool === "etcd" && path.startsWith("go.etcd.io/etcd/server/")));
    if (!found) throw new Error(`looking for ${tool}: ${join(folder, "go.mod")} lists no such tool`);
    return found;
  };
  return {
    etcd: find("etcd"),
    "kube-apiserver": find("kube-apiserver"),
    "kube-controller-manager": find("kube-controller-manager"),
    "kube-scheduler": find("kube-scheduler"),
    kubectl: find("kubectl"),
    kwok: find("kwok"),
  };
}

function findModuleFolder(): string {
  const start = dirname(fileURLToPath(import.meta.url));
  for (let folder = start; ; folder = dirname(folder)) {
    const candidate = join(folder, "cluster");
    if (existsSync(join(candidate, "go.mod"))) return candidate;
    if (dirname(folder) === folder) {
      throw new Error(`looking for cluster/go.mod above ${start}: not found; start from a checkout of Keyturn, or give the option moduleFolder`);
    }
  }
}
