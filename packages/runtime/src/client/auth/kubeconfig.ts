// Kubeconfig files: read, limited, merged as kubectl does, and turned into a connection.
import { createPrivateKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { LineCounter, parseDocument } from "yaml";
import * as z from "zod";
import type { Clock } from "../../clock.ts";
import { runtimeLimits } from "../../limits.ts";
import { messageOf } from "../../observe/redaction.ts";
import { secureContextOf } from "../http/connection-pool.ts";
import { type Environment, serverUrl } from "../http/http-transport.ts";
import { ConfigError, type ConnectionConfig } from "./connection-config.ts";
import { anonymousLogin, basicLogin, CredentialError, type Credentials, type Login, type TlsMaterial, tokenLogin } from "./credentials.ts";
import { execLogin } from "./exec-plugin.ts";
import { oidcLogin } from "./oidc.ts";
import { fileText, fixedText, type TextSource } from "./text-source.ts";

/** kubectl writes empty values as null. */
const text = z.string().nullish();
const flag = z.boolean().nullish();

const clusterSchema = z.object({
  server: text,
  "certificate-authority": text,
  "certificate-authority-data": text,
  "insecure-skip-tls-verify": flag,
  "tls-server-name": text,
  "proxy-url": text,
  extensions: z.array(z.object({ name: z.string(), extension: z.unknown() })).nullish(),
});

const execSchema = z.object({
  apiVersion: z.string(),
  command: z.string(),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
  installHint: text,
  provideClusterInfo: flag,
  interactiveMode: z.enum(["Never", "IfAvailable", "Always"]).nullish(),
});

const userSchema = z.object({
  "client-certificate": text,
  "client-certificate-data": text,
  "client-key": text,
  "client-key-data": text,
  token: text,
  tokenFile: text,
  username: text,
  password: text,
  as: text,
  "as-uid": text,
  "as-groups": z.array(z.string()).nullish(),
  "as-user-extra": z.record(z.string(), z.array(z.string())).nullish(),
  exec: execSchema.nullish(),
  "auth-provider": z.object({ name: z.string(), config: z.record(z.string(), z.string()).nullish() }).nullish(),
});

const contextSchema = z.object({ cluster: text, user: text, namespace: text });

const fileSchema = z.object({
  "current-context": text,
  clusters: z.array(z.object({ name: z.string(), cluster: clusterSchema.nullish() })).nullish(),
  users: z.array(z.object({ name: z.string(), user: userSchema.nullish() })).nullish(),
  contexts: z.array(z.object({ name: z.string(), context: contextSchema.nullish() })).nullish(),
});

export type KubeconfigCluster = z.infer<typeof clusterSchema>;
type KubeconfigUser = z.infer<typeof userSchema>;
export type KubeconfigExec = z.infer<typeof execSchema>;
type KubeconfigContext = z.infer<typeof contextSchema>;

/** An entry, and the folder that its relative paths start from. */
interface Located<T> {
  readonly value: T;
  readonly dir: string;
}

/** One kubeconfig, or several merged. */
export interface Kubeconfig {
  readonly files: readonly string[];
  readonly currentContext: string | undefined;
  readonly clusters: ReadonlyMap<string, Located<KubeconfigCluster>>;
  readonly users: ReadonlyMap<string, Located<KubeconfigUser>>;
  readonly contexts: ReadonlyMap<string, Located<KubeconfigContext>>;
}

/** Checks the text of a kubeconfig. Throws `ConfigError`; no value of the file ever gets into its message. */
export function parseKubeconfig(source: string, path: string): Kubeconfig {
  const parsed = fileSchema.safeParse(parseYaml(source, path) ?? {});
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new ConfigError("Malformed", `kubeconfig ${path} is malformed: ${issue?.path.join(".") || "the file"}: ${issue?.message ?? "unknown"}`);
  }
  const dir = dirname(resolve(path));
  const located = <T>(value: T): Located<T> => ({ value, dir });
  const { clusters, users, contexts } = parsed.data;
  return {
    files: [path],
    currentContext: parsed.data["current-context"] || undefined,
    clusters: firstByName((clusters ?? []).map(({ name, cluster }) => [name, located(cluster ?? {})])),
    users: firstByName((users ?? []).map(({ name, user }) => [name, located(user ?? {})])),
    contexts: firstByName((contexts ?? []).map(({ name, context }) => [name, located(context ?? {})])),
  };
}

function parseYaml(source: string, path: string): unknown {
  const lineCounter = new LineCounter();
  try {
    // Pretty errors would quote the line, and with it perhaps a token. Looking for keys that stand twice takes quadratic time; the last one counts.
    const document = parseDocument(source, { lineCounter, prettyErrors: false, uniqueKeys: false });
    const [broken] = document.errors;
    if (!broken) return document.toJS();
    const { line, col } = lineCounter.linePos(broken.pos[0]);
    throw new ConfigError("YamlBroken", `kubeconfig ${path} is no valid YAML: ${broken.code} at line ${line}, column ${col}`);
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    // An alias of nothing, aliases that multiply, or more levels than the stack has. The message may quote the file.
    const problem = cause instanceof ReferenceError ? "an alias refers to nothing, or to too much" : "it is nested too deeply";
    throw new ConfigError("YamlBroken", `kubeconfig ${path} is no valid YAML: ${problem}`);
  }
}

/** Reads a kubeconfig; undefined if there is no such file. */
export async function readKubeconfig(path: string): Promise<Kubeconfig | undefined> {
  let source: string;
  try {
    source = await readFile(path, "utf8");
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (code === "ENOENT") return undefined;
    const reason = typeof code === "string" ? code : "unknown error";
    throw new ConfigError("FileUnreadable", `kubeconfig ${path} cannot be read: ${reason}`, { cause });
  }
  return parseKubeconfig(source, path);
}

/** kubectl's rule: an entry, and the current context, are taken whole from the first file that has them. */
export function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  return {
    files: configs.flatMap(({ files }) => files),
    currentContext: configs.find(({ currentContext }) => currentContext)?.currentContext,
    clusters: firstByName(configs.flatMap(({ clusters }) => [...clusters])),
    users: firstByName(configs.flatMap(({ users }) => [...users])),
    contexts: firstByName(configs.flatMap(({ contexts }) => [...contexts])),
  };
}

function firstByName<T>(entries: readonly (readonly [string, T])[]): ReadonlyMap<string, T> {
  const first = new Map<string, T>();
  for (const [name, entry] of entries) {
    if (!first.has(name)) first.set(name, entry);
  }
  return first;
}

// From a kubeconfig to a connection: picks the context and turns its cluster and user into credentials.

/** Which context to use, and what credentials are made with. */
interface KubeconfigConnectionOptions {
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
    throw new ConfigError("Unusable", `${where}: the certificates cannot be used: ${messageOf(cause)}`, {
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

// Kubeconfigs that are data from others, such as the content of a Secret: whoever wrote one must not be able to run programs or read files here.

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
 * paths, proxies), for connections that anybody in between could read, and for keys that would take everybody's time. No environment variable counts.
 */
export async function embeddedKubeconfig(text: string, { name, clock, allowInsecure = false }: EmbeddedKubeconfigOptions): Promise<ConnectionConfig> {
  const kubeconfig = parseKubeconfig(text, name);
  const { cluster, user } = currentOf(kubeconfig);
  const refused = [...refusedOf(user, userFields), ...refusedOf(cluster, clusterFields), ...costsOf(user)];
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

/** A client signs with its key for each connection, and nothing else is done meanwhile. */
function costsOf({ "client-key-data": key }: KubeconfigUser): readonly string[] {
  const { clientKeyBits } = runtimeLimits;
  return (key ? bitsOf(Buffer.from(key, "base64")) : 0) > clientKeyBits ? [`client-key-data is a key of more than ${clientKeyBits} bits`] : [];
}

function bitsOf(key: Buffer): number {
  try {
    return createPrivateKey(key).asymmetricKeyDetails?.modulusLength ?? 0;
  } catch {
    // What is no key is said when it is used.
    return 0;
  }
}

function insecurityOf({ server, "insecure-skip-tls-verify": skipsVerification }: KubeconfigCluster): readonly string[] {
  return [
    ...(skipsVerification ? ["insecure-skip-tls-verify would trust any server"] : []),
    ...(server && serverUrl(server).protocol === "http:" ? ["a server with http:// would send credentials in the clear"] : []),
  ];
}
