// The configuration of a pod: the service account that Kubernetes mounts into it.
import { access, readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { join } from "node:path";
import type { Clock } from "../../clock.ts";
import type { Environment } from "../proxy-choice.ts";
import type { ConnectionConfig } from "./connection-config.ts";
import { ConfigError } from "./config-error.ts";
import { bearer } from "./login.ts";
import { fileText } from "./text-source.ts";

/** Where Kubernetes mounts a pod's service account. */
const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Where to look. */
export interface InClusterOptions {
  readonly env: Environment;
  readonly clock: Clock;
  /** Default where Kubernetes mounts it. */
  readonly serviceAccountDir?: string;
}

/** True if Kubernetes has told this process where its API server is. */
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
