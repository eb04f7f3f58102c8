// Exec credential plugins (client.authentication.k8s.io): a program that prints a token or a client certificate.
import { spawn } from "node:child_process";
import { isAbsolute, join } from "node:path";
import * as z from "zod";
import type { Clock } from "../../clock.ts";
import type { Environment } from "../http/http-transport.ts";
import { ConfigError } from "./connection-config.ts";
import { bearer, CredentialError, expiringLogin, type FetchedLogin, type Login } from "./credentials.ts";
import type { KubeconfigCluster, KubeconfigExec } from "./kubeconfig.ts";
import type { TextSource } from "./text-source.ts";
import { runtimeLimits } from "../../limits.ts";

/** What a plugin is run with. */
interface ExecLoginOptions {
  /** Names the context in errors. */
  readonly where: string;
  /** The kubeconfig's folder: a command with a slash in it is relative to that. */
  readonly dir: string;
  readonly clock: Clock;
  readonly env: Environment;
  readonly cluster: KubeconfigCluster;
  readonly ca: TextSource | undefined;
}

const supportedVersions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
const extensionName = "client.authentication.k8s.io/exec";
const timeoutMs = 60_000;
const { execOutputBytes: maxOutputBytes } = runtimeLimits;

const answerSchema = z.object({
  apiVersion: z.string(),
  kind: z.literal("ExecCredential"),
  status: z.object({
    token: z.string().nullish(),
    clientCertificateData: z.string().nullish(),
    clientKeyData: z.string().nullish(),
    expirationTimestamp: z.iso.datetime({ offset: true }).nullish(),
  }),
});

/** A login by plugin. Its answer is kept until it expires or the server rejects it; requests that wait share one run. */
export function execLogin(exec: KubeconfigExec, options: ExecLoginOptions): Login {
  const { where } = options;
  if (!supportedVersions.includes(exec.apiVersion)) {
    throw new ConfigError(
      "Unsupported",
      `${where}: exec apiVersion "${exec.apiVersion}" is not supported: use one of ${supportedVersions.join(", ")}`,
    );
  }
  return expiringLogin(() => runPlugin(exec, options), options.clock);
}

async function runPlugin(exec: KubeconfigExec, options: ExecLoginOptions): Promise<FetchedLogin> {
  const interactive = exec.interactiveMode !== "Never" && process.stdin.isTTY;
  const plugin = `exec plugin "${exec.command}"`;
  if (exec.interactiveMode === "Always" && !interactive) {
    throw new CredentialError(`${plugin} wants to ask the user, but standard input is no terminal: log in another way`);
  }
  const info = {
    apiVersion: exec.apiVersion,
    kind: "ExecCredential",
    spec: { interactive, ...(exec.provideClusterInfo && { cluster: await clusterInfo(options.cluster, options.ca) }) },
  };
  const output = await run(exec, { ...options, plugin, interactive, info: JSON.stringify(info) });
  let answer: z.infer<typeof answerSchema>;
  try {
    answer = answerSchema.parse(JSON.parse(output));
  } catch {
    // Without the cause: a JSON parser quotes its input, which here is the credential.
    throw new CredentialError(`${plugin} printed something that is no ExecCredential`);
  }
  if (answer.apiVersion !== exec.apiVersion) {
    throw new CredentialError(`${plugin} answered in ${answer.apiVersion}, but the kubeconfig asks for ${exec.apiVersion}`);
  }
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = answer.status;
  if (!token && !(cert && key)) throw new CredentialError(`${plugin} gave neither a token nor a client certificate with its key`);
  return {
    headers: token ? bearer(token) : {},
    tls: cert && key ? { cert, key } : {},
    ...(expirationTimestamp && { expiresMs: Date.parse(expirationTimestamp) }),
  };
}

async function clusterInfo(cluster: KubeconfigCluster, ca: TextSource | undefined): Promise<object> {
  const config = cluster.extensions?.find(({ name }) => name === extensionName)?.extension;
  return {
    server: cluster.server,
    ...(cluster["tls-server-name"] && { "tls-server-name": cluster["tls-server-name"] }),
    ...(cluster["insecure-skip-tls-verify"] && { "insecure-skip-tls-verify": true }),
    ...(ca && { "certificate-authority-data": Buffer.from(await ca.read()).toString("base64") }),
    ...(cluster["proxy-url"] && { "proxy-url": cluster["proxy-url"] }),
    ...(config !== undefined && { config }),
  };
}

type RunOptions = ExecLoginOptions & { readonly plugin: string; readonly interactive: boolean; readonly info: string };

function run(exec: KubeconfigExec, { plugin, interactive, info, dir, env, clock }: RunOptions): Promise<string> {
  const { command } = exec;
  const program = !isAbsolute(command) && /[/\\]/.test(command) ? join(dir, command) : command;
  const extraEnv = Object.fromEntries((exec.env ?? []).map(({ name, value }) => [name, value]));
  return new Promise((resolve, reject) => {
    const child = spawn(program, exec.args ?? [], {
      env: { ...env, ...extraEnv, KUBERNETES_EXEC_INFO: info },
      stdio: [interactive ? "inherit" : "ignore", "pipe", "pipe"],
    });
    const output: Buffer[] = [];
    let outputBytes = 0;
    let complaint = "";
    const fail = (reason: string): void => {
      reject(new CredentialError(`${plugin} ${reason}`));
      child.kill("SIGKILL");
    };
    const timer = clock.setTimer(timeoutMs, () => fail(`did not answer within ${timeoutMs / 1000} s`));
    child.stdout?.on("data", (chunk: Buffer) => {
      output.push(chunk);
      outputBytes += chunk.byteLength;
      if (outputBytes > maxOutputBytes) fail("printed more than 1 MiB");
    });
    child.stderr?.on("data", (chunk: Buffer) => (complaint = `${complaint}${chunk.toString("utf8")}`.slice(-4096)));
    child.on("error", (cause: NodeJS.ErrnoException) => {
      timer.cancel();
      const hint = exec.installHint ? `: ${exec.installHint.trim()}` : "";
      const reason = cause.code === "ENOENT" ? `is not installed${hint}` : `cannot be started: ${cause.code ?? cause.message}`;
      reject(new CredentialError(`${plugin} ${reason}`));
    });
    child.on("close", (status, killedBy) => {
      timer.cancel();
      if (status === 0) resolve(Buffer.concat(output).toString("utf8"));
      else reject(new CredentialError(`${plugin} failed with ${killedBy ?? `exit code ${status}`}${lastLine(complaint)}`));
    });
  });
}

/** What the plugin complained about last, less anything long enough to be a credential. */
function lastLine(complaint: string): string {
  const line = complaint.trim().split("\n").at(-1) ?? "";
  return line === "" ? "" : `: ${line.replace(/[\w+/=.~-]{24,}/g, "[long text]").slice(0, 200)}`;
}
