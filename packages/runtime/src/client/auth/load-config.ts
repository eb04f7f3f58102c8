// Finds out which API server to talk to, and as whom: in a pod, or by a kubeconfig.
import { access, readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { type Clock, systemClock } from "../../clock.ts";
import type { Environment } from "../http/http-transport.ts";
import { ConfigError, type ConnectionConfig } from "./connection-config.ts";
import { bearer } from "./credentials.ts";
import { type Kubeconfig, kubeconfigConnection, mergeKubeconfigs, readKubeconfig } from "./kubeconfig.ts";
import { fileText } from "./text-source.ts";

// The configuration of a pod: the service account that Kubernetes mounts into it.

/** Where Kubernetes mounts a pod's service account. */
const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Where to look. */
interface InClusterOptions {
  readonly env: Environment;
  readonly clock: Clock;
  /** Default where Kubernetes mounts it. */
  readonly serviceAccountDir?: string;
}

/** True if the environment says where the API server is, as in a pod. */
export function isInCluster(env: Environment): boolean {
  return Boolean(env["KUBERNETES_SERVICE_HOST"] && env["KUBERNETES_SERVICE_PORT"]);
}

/** The pod's configuration. The token and the CA are read again as their files change. Rejects with `ConfigError` if one is not there. */
export async function inClusterConfig(options: InClusterOptions): Promise<ConnectionConfig> {
  const { env, clock, serviceAccountDir: dir = serviceAccountDir } = options;
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"];
  if (!host || !port) throw new ConfigError("NothingFound", "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  for (const file of ["token", "ca.crt"]) {
    await access(join(dir, file)).catch((cause: unknown) => {
      const advice = "set automountServiceAccountToken, or give a kubeconfig";
      throw new ConfigError("FileMissing", `in a pod, but its service account's ${join(dir, file)} cannot be read: ${advice}`, { cause });
    });
  }
  const token = fileText(join(dir, "token"), "the service account's token", clock);
  const ca = fileText(join(dir, "ca.crt"), "the cluster's CA", clock);
  const namespace = await readFile(join(dir, "namespace"), "utf8").then(
    (text) => text.trim(),
    () => "",
  );
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    credentials: {
      async authorize() {
        return { headers: bearer((await token.read()).trim()), tls: { ca: await ca.read() } };
      },
      refresh: () => token.reread(),
    },
    ...(namespace && { namespace }),
    source: "in-cluster",
  };
}

/** Where to look for a configuration. */
interface LoadConfigOptions {
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
