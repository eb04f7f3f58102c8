// From a kubeconfig to a connection: picks the context and turns its cluster and user into credentials.
import { isAbsolute, join } from "node:path";
import type { Clock } from "../../clock.ts";
import type { Environment } from "../proxy-choice.ts";
import { secureContextOf } from "../secure-contexts.ts";
import { ConfigError } from "./config-error.ts";
import type { ConnectionConfig } from "./connection-config.ts";
import { CredentialError, type Credentials, type TlsMaterial } from "./credentials.ts";
import { execLogin } from "./exec-plugin.ts";
import type { Kubeconfig, KubeconfigCluster, KubeconfigUser, Located } from "./kubeconfig-file.ts";
import { anonymousLogin, basicLogin, tokenLogin, type Login } from "./login.ts";
import { oidcLogin } from "./oidc.ts";
import { fileText, fixedText, type TextSource } from "./text-source.ts";

/** Which context to use, and what credentials are made with. */
export interface KubeconfigConnectionOptions {
  /** Default the current context. */
  readonly context?: string;
  readonly env: Environment;
  readonly clock: Clock;
}

/** The connection that a context describes. Rejects with `ConfigError` for anything that is missing or that cannot be used. */
export async function kubeconfigConnection(kubeconfig: Kubeconfig, options: KubeconfigConnectionOptions): Promise<ConnectionConfig> {
  const where = `kubeconfig ${kubeconfig.files.join(", ")}`;
  const contextName = options.context ?? kubeconfig.currentContext;
  if (!contextName) throw new ConfigError("ContextNotFound", `${where} has no current-context: choose one of ${listOf(kubeconfig.contexts)}`);
  const context = kubeconfig.contexts.get(contextName)?.value;
  if (!context) throw new ConfigError("ContextNotFound", `${where} has no context "${contextName}": it has ${listOf(kubeconfig.contexts)}`);
  const cluster = kubeconfig.clusters.get(context.cluster ?? "");
  if (!cluster)
    throw new ConfigError("ClusterNotFound", `${where}: context "${contextName}" names the cluster "${context.cluster ?? ""}", which is not there`);
  const user = context.user ? kubeconfig.users.get(context.user) : { value: {}, dir: "." };
  if (!user) throw new ConfigError("UserNotFound", `${where}: context "${contextName}" names the user "${context.user ?? ""}", which is not there`);
  const { server } = cluster.value;
  if (!server) throw new ConfigError("Malformed", `${where}: cluster "${context.cluster ?? ""}" has no server`);

  const credentials = await credentialsOf(cluster, user, { ...options, where: `${where}, context "${contextName}"` });
  const tlsServerName = cluster.value["tls-server-name"];
  const proxyUrl = cluster.value["proxy-url"];
  return {
    server,
    credentials,
    ...(tlsServerName && { tlsServerName }),
    ...(cluster.value["insecure-skip-tls-verify"] && { insecureSkipTlsVerify: true }),
    ...(proxyUrl && { proxyUrl }),
    ...(context.namespace && { namespace: context.namespace }),
    source: `${where}, context "${contextName}"`,
  };
}

type CredentialOptions = KubeconfigConnectionOptions & { readonly where: string };

async function credentialsOf(
  { value: cluster, dir: clusterDir }: Located<KubeconfigCluster>,
  user: Located<KubeconfigUser>,
  options: CredentialOptions,
): Promise<Credentials> {
  const { where, clock } = options;
  const text = (name: string, dir: string, data?: string | null, file?: string | null): TextSource | undefined => {
    if (data) return fixedText(decodePem(data, `${where}: ${name}-data`));
    return file ? fileText(isAbsolute(file) ? file : join(dir, file), name, clock) : undefined;
  };
  const ca = text("certificate-authority", clusterDir, cluster["certificate-authority-data"], cluster["certificate-authority"]);
  const cert = text("client-certificate", user.dir, user.value["client-certificate-data"], user.value["client-certificate"]);
  const key = text("client-key", user.dir, user.value["client-key-data"], user.value["client-key"]);
  if (!cert !== !key)
    throw new ConfigError(
      "Malformed",
      `${where}: the user has a client-${cert ? "certificate without a client-key" : "key without a client-certificate"}`,
    );
  const login = loginOf(user, { ...options, cluster, ca });
  const impersonation = impersonationHeaders(user.value);

  const fixedTls = async (): Promise<TlsMaterial> => ({
    ...(ca && { ca: await ca.read() }),
    ...(cert && key && { cert: await cert.read(), key: await key.read() }),
  });
  try {
    secureContextOf(await fixedTls());
  } catch (cause) {
    if (cause instanceof CredentialError) throw new ConfigError("FileUnreadable", `${where}: ${cause.message}`, { cause });
    throw new ConfigError("Unusable", `${where}: the certificates cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
  return {
    async authorize() {
      const own = await login.current();
      return { headers: { ...own.headers, ...impersonation }, tls: { ...(await fixedTls()), ...own.tls } };
    },
    async refresh() {
      const changed = await Promise.all([login.refresh(), cert?.reread(), key?.reread()]);
      return changed.includes(true);
    },
  };
}

/** The first way to log in that the user entry has; a client certificate goes along with any of them. */
function loginOf(
  { value: user, dir }: Located<KubeconfigUser>,
  options: CredentialOptions & { readonly cluster: KubeconfigCluster; readonly ca: TextSource | undefined },
): Login {
  const { where, clock, env, cluster, ca } = options;
  if (user.tokenFile) return tokenLogin(fileText(isAbsolute(user.tokenFile) ? user.tokenFile : join(dir, user.tokenFile), "the token", clock));
  if (user.token) return tokenLogin(fixedText(user.token));
  if (user.username) return basicLogin(user.username, user.password ?? "");
  if (user.exec) return execLogin(user.exec, { where, dir, clock, env, cluster, ca });
  const provider = user["auth-provider"];
  if (provider?.name === "oidc") return oidcLogin(provider.config ?? {}, { where, dir, clock, env });
  if (provider) {
    const advice = "use an exec plugin (gke-gcloud-auth-plugin, kubelogin)";
    throw new ConfigError("Unsupported", `${where}: auth-provider "${provider.name}" is not supported, as kubectl does no longer either: ${advice}`);
  }
  return anonymousLogin;
}

function impersonationHeaders(user: KubeconfigUser): Record<string, string | readonly string[]> {
  const groups = user["as-groups"] ?? [];
  const extra = Object.entries(user["as-user-extra"] ?? {});
  return {
    ...(user.as && { "impersonate-user": user.as }),
    ...(user["as-uid"] && { "impersonate-uid": user["as-uid"] }),
    ...(groups.length > 0 && { "impersonate-group": groups }),
    ...Object.fromEntries(extra.map(([name, values]) => [`impersonate-extra-${encodeURIComponent(name.toLowerCase())}`, values])),
  };
}

function decodePem(data: string, what: string): string {
  const pem = Buffer.from(data, "base64").toString("utf8");
  if (!pem.includes("-----BEGIN ")) throw new ConfigError("Unusable", `${what} is no base64 of a PEM file`);
  return pem;
}

function listOf(entries: ReadonlyMap<string, unknown>): string {
  return entries.size === 0 ? "none" : [...entries.keys()].map((name) => `"${name}"`).join(", ");
}
