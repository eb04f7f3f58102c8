// Kubeconfig files: read, checked, and several of them merged as kubectl does.
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { LineCounter, parseDocument } from "yaml";
import * as z from "zod";
import { ConfigError } from "./config-error.ts";

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
export type KubeconfigUser = z.infer<typeof userSchema>;
export type KubeconfigExec = z.infer<typeof execSchema>;
export type KubeconfigContext = z.infer<typeof contextSchema>;

/** An entry, and the folder that its relative paths start from. */
export interface Located<T> {
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
  const lineCounter = new LineCounter();
  // Pretty errors would quote the line, and with it perhaps a token.
  const document = parseDocument(source, { lineCounter, prettyErrors: false });
  const [broken] = document.errors;
  if (broken) {
    const { line, col } = lineCounter.linePos(broken.pos[0]);
    throw new ConfigError("YamlBroken", `kubeconfig ${path} is no valid YAML: ${broken.code} at line ${line}, column ${col}`);
  }
  const parsed = fileSchema.safeParse(document.toJS() ?? {});
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
