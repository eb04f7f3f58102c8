// Kubeconfigs that are data from others, such as the content of a Secret: whoever wrote one must not be able to run programs or read files here.
import type { Clock } from "../../clock.ts";
import { serverUrl } from "../http-transport.ts";
import type { ConnectionConfig } from "./connection-config.ts";
import { ConfigError } from "./config-error.ts";
import { kubeconfigConnection } from "./kubeconfig.ts";
import { parseKubeconfig, type Kubeconfig, type KubeconfigCluster, type KubeconfigUser } from "./kubeconfig-file.ts";

/** How far the author of a kubeconfig is trusted. */
export interface EmbeddedKubeconfigOptions {
  /** Names the kubeconfig in errors. */
  readonly name: string;
  readonly clock: Clock;
  /** Accepts `insecure-skip-tls-verify` and http:// servers. Default false. */
  readonly allowInsecure?: boolean;
}

/**
 * The connection that the current context of a kubeconfig describes, with everything that it needs in the text itself.
 * Rejects with a `ConfigError` for anything that would start a program, read a file or talk to a third party (exec plugins, auth providers,
 * paths, proxies), and for connections that anybody in between could read. No environment variable counts.
 */
export async function embeddedKubeconfig(text: string, { name, clock, allowInsecure = false }: EmbeddedKubeconfigOptions): Promise<ConnectionConfig> {
  const kubeconfig = parseKubeconfig(text, name);
  const { cluster, user } = currentOf(kubeconfig);
  const refused = [...refusedOf(user, userFields), ...refusedOf(cluster, clusterFields)];
  if (!allowInsecure) refused.push(...insecurityOf(cluster));
  if (refused.length > 0) {
    throw new ConfigError("Unsupported", `kubeconfig ${name} is refused: ${refused.join("; ")}; everything must be in the kubeconfig itself`);
  }
  return kubeconfigConnection(kubeconfig, { env: {}, clock });
}

type Refusals<T> = Readonly<Partial<Record<keyof T & string, string>>>;

const userFields: Refusals<KubeconfigUser> = {
  exec: "exec would run a program",
  "auth-provider": "auth-provider would talk to a third party",
  tokenFile: "tokenFile would read a file",
  "client-certificate": "client-certificate would read a file",
  "client-key": "client-key would read a file",
};

const clusterFields: Refusals<KubeconfigCluster> = {
  "certificate-authority": "certificate-authority would read a file",
  "proxy-url": "proxy-url would send everything through a third party",
};

/** What the current context names; what is missing is for `kubeconfigConnection` to say. Only the current context is ever used, so only that is judged. */
function currentOf({ currentContext = "", contexts, clusters, users }: Kubeconfig): {
  readonly cluster: KubeconfigCluster;
  readonly user: KubeconfigUser;
} {
  const context = contexts.get(currentContext)?.value;
  return { cluster: clusters.get(context?.cluster ?? "")?.value ?? {}, user: users.get(context?.user ?? "")?.value ?? {} };
}

function refusedOf<T extends object>(value: T, refusals: Refusals<T>): readonly string[] {
  return Object.entries(refusals).flatMap(([field, why]) => (Reflect.get(value, field) ? [String(why)] : []));
}

function insecurityOf({ server, "insecure-skip-tls-verify": skipsVerification }: KubeconfigCluster): readonly string[] {
  return [
    ...(skipsVerification ? ["insecure-skip-tls-verify would trust any server"] : []),
    ...(server && serverUrl(server).protocol === "http:" ? ["a server with http:// would send credentials in the clear"] : []),
  ];
}
