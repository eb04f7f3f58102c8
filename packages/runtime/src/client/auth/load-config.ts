// Finds out which API server to talk to, and as whom.
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { systemClock, type Clock } from "../../clock.ts";
import type { Environment } from "../proxy-choice.ts";
import type { ConnectionConfig } from "./connection-config.ts";
import { ConfigError } from "./config-error.ts";
import { inClusterConfig, isInCluster } from "./in-cluster.ts";
import { kubeconfigConnection } from "./kubeconfig.ts";
import { mergeKubeconfigs, readKubeconfig, type Kubeconfig } from "./kubeconfig-file.ts";

/** Where to look for a configuration. */
export interface LoadConfigOptions {
  /** A kubeconfig file; nothing else is looked at. */
  readonly kubeconfig?: string;
  /** A context of the kubeconfig; default its current one. Asking for one rules the in-cluster configuration out. */
  readonly context?: string;
  /** The environment, such as `process.env`. */
  readonly env: Environment;
  /** Default the machine's. */
  readonly clock?: Clock;
  /** Default where Kubernetes mounts it. */
  readonly serviceAccountDir?: string;
}

/**
 * The first that there is of: the explicit path, `$KUBECONFIG` (several files are merged), the pod's service account, `~/.kube/config`.
 * Rejects with a `ConfigError` that says in one line what was looked for and what is wrong with it.
 */
export async function loadConfig(options: LoadConfigOptions): Promise<ConnectionConfig> {
  const { kubeconfig: path, context, env, clock = systemClock } = options;
  const connect = (kubeconfig: Kubeconfig): Promise<ConnectionConfig> =>
    kubeconfigConnection(kubeconfig, { clock, env, ...(context && { context }) });

  if (path) {
    const kubeconfig = await readKubeconfig(path);
    if (!kubeconfig) throw new ConfigError("FileMissing", `kubeconfig ${path} does not exist`);
    return connect(kubeconfig);
  }
  const listed = (env["KUBECONFIG"] ?? "").split(delimiter).filter((file) => file !== "");
  if (listed.length > 0) {
    const found = (await Promise.all(listed.map(readKubeconfig))).filter((config) => config !== undefined);
    if (found.length === 0)
      throw new ConfigError("FileMissing", `KUBECONFIG names ${listed.join(", ")}, which ${listed.length === 1 ? "does" : "do"} not exist`);
    return connect(mergeKubeconfigs(found));
  }
  if (isInCluster(env) && !context) {
    const { serviceAccountDir } = options;
    return inClusterConfig({ env, clock, ...(serviceAccountDir && { serviceAccountDir }) });
  }
  const home = join(env["HOME"] || homedir(), ".kube", "config");
  const kubeconfig = await readKubeconfig(home);
  if (kubeconfig) return connect(kubeconfig);
  const advice = "give --kubeconfig or set KUBECONFIG";
  throw new ConfigError("NothingFound", `no cluster configured: KUBECONFIG is not set, this is no pod, and ${home} does not exist; ${advice}`);
}
