// A namespace in which an agent runs with exactly the rights that it declares, and what a control plane and its users do there.
import { Buffer } from "node:buffer";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createLogger, crdOf, type KubeObject, loadConfig, policyRules, Secret } from "@keyturn/runtime";
import { type Authority, type ClusterAccess, createAuthority, issueCertificate, type KeyPair } from "@keyturn/runtime/testing";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "@keyturn/runtime/testing/vitest";
import { agentAccess, type AgentProcessOptions, runAgent } from "../../packages/keyturn/src/agent/run-agent.ts";
import type { AgentStatus } from "../../packages/keyturn/src/agent/status.ts";
import { policyFlags } from "../../packages/keyturn/src/agent/flags.ts";
import type { Policies } from "../../packages/keyturn/src/agent/alarm-policies.ts";
import { SecretCheckSum } from "../../packages/keyturn/src/controllers/checksum/api.ts";
import { MemberSet } from "../../packages/keyturn/src/controllers/checksum/members.ts";
import { defaultVersionAnnotation, secretMember } from "../../packages/keyturn/src/controllers/checksum/ids.ts";
import { defaultLimits } from "../../packages/keyturn/src/controllers/checksum/blast-radius.ts";
import { secretSelection } from "../../packages/keyturn/src/controllers/checksum/member-kind.ts";

/** A Secret's content and version. */
export interface Certificate extends KeyPair {
  readonly version: number;
}

/** What a client that speaks to a gateway trusts. */
export const authority: Authority = createAuthority("agent tests");

/** A new certificate for a host. */
export function certificateFor(host: string, version = 1): Certificate {
  return { ...issueCertificate(authority, { usage: "server", commonName: `${host} ${version}`, hosts: [host] }), version };
}

/** A running agent, in this process. */
export interface RunningAgent {
  readonly folder: string;
  readonly url: string;
  readonly logLines: readonly Readonly<Record<string, unknown>>[];
  status(): Promise<AgentStatus & { readonly stalenessMs?: number }>;
  readyz(): Promise<number>;
  metrics(): Promise<string>;
  /** Ends it as SIGTERM would. */
  stop(): Promise<void>;
}

export const keepAll = Object.fromEntries(Object.keys(policyFlags).map((situation) => [situation, "keep"])) as Policies;

/** The namespace. */
export class AgentNamespace {
  readonly cluster: ClusterAccess;
  readonly namespace: string;
  readonly kubeconfig: string;
  /** So that two checksums of one second are still one after the other. */
  #lastTimestampMs = 0;

  private constructor(cluster: ClusterAccess, namespace: string, kubeconfig: string) {
    this.cluster = cluster;
    this.namespace = namespace;
    this.kubeconfig = kubeconfig;
  }

  /** Makes the namespace, with the CRD served and the agent's ServiceAccount in place. */
  static async make(cluster: ClusterAccess, prefix = "agent"): Promise<AgentNamespace> {
    await cluster.apply(crdOf(SecretCheckSum));
    return AgentNamespace.in(cluster, await cluster.namespace(prefix));
  }

  /** The same in a namespace that is there. */
  static async in(cluster: ClusterAccess, namespace: string): Promise<AgentNamespace> {
    const namespacedRules = { [namespace]: policyRules(agentAccess) };
    const kubeconfig = await cluster.kubeconfigFor({ serviceAccount: { namespace, name: "agent" }, namespacedRules });
    return new AgentNamespace(cluster, namespace, kubeconfig);
  }

  async put(name: string, certificate: Certificate): Promise<void> {
    await this.cluster.apply(this.secretOf(name, certificate));
  }

  /** The Secret as a manifest. */
  secretOf(
    name: string,
    { certificate, privateKey, version }: Certificate,
  ): KubeObject & { readonly apiVersion: string; readonly kind: string; readonly type: string; readonly data: Readonly<Record<string, string>> } {
    const metadata = { namespace: this.namespace, name, annotations: { [defaultVersionAnnotation]: String(version) } };
    const data = { "tls.crt": Buffer.from(certificate).toString("base64"), "tls.key": Buffer.from(privateKey).toString("base64") };
    return { apiVersion: "v1", kind: "Secret", metadata, type: "kubernetes.io/tls", data };
  }

  async remove(name: string): Promise<void> {
    await this.cluster.client.delete(Secret, { namespace: this.namespace, name });
  }

  /** Publishes the checksum of these certificates, by Secret; without any, of what is in the namespace. */
  async publish(
    certificates?: Readonly<Record<string, Certificate>>,
    options: { readonly timestampMs?: number; readonly name?: string; readonly announced?: boolean } = {},
  ): Promise<string> {
    const set = new MemberSet();
    const rules = { versionAnnotations: [defaultVersionAnnotation] };
    if (certificates) {
      for (const [name, { certificate, privateKey, version }] of Object.entries(certificates)) {
        const data = { "tls.crt": Buffer.from(certificate).toString("base64"), "tls.key": Buffer.from(privateKey).toString("base64") };
        set.set(name, secretMember({ metadata: { name, annotations: { [defaultVersionAnnotation]: String(version) } }, data }, rules));
      }
    } else {
      const { items } = await this.cluster.client.list(Secret, { namespace: this.namespace, fields: "type=kubernetes.io/tls" });
      for (const secret of items) set.set(secret.metadata.name, secretMember(secret, rules));
    }
    const { ids, checksum, sha256 } = set.state();
    this.#lastTimestampMs = Math.max(this.#lastTimestampMs + 1000, Date.now());
    const timestamp = `${new Date(options.timestampMs ?? this.#lastTimestampMs).toISOString().slice(0, 19)}Z`;
    const name = options.name ?? `secret-${this.#lastTimestampMs}`;
    await this.cluster.client.create(SecretCheckSum, {
      metadata: { namespace: this.namespace, name },
      spec: {
        timestamp,
        checksum,
        ids: [...ids],
        count: ids.length,
        ...(sha256 && { sha256 }),
        ...(options.announced && { announcement: { expires: timestamp } }),
      },
    });
    return name;
  }

  async unpublish(name: string): Promise<void> {
    await this.cluster.client.delete(SecretCheckSum, { namespace: this.namespace, name });
  }

  /** Starts an agent; it ends with the test. */
  async start(
    options: Partial<AgentProcessOptions> & { readonly policies?: Partial<Policies>; readonly kubeconfig?: string } = {},
  ): Promise<RunningAgent> {
    const { policies = {}, kubeconfig = this.kubeconfig, ...given } = options;
    return startAgent({
      namespace: this.namespace,
      rules: { policies: { ...keepAll, ...policies }, staleAfterMs: 600_000, alarmAfterMs: 0, limits: defaultLimits, signedOnly: false },
      connect: () => loadConfig({ kubeconfig, env: {} }),
      ...given,
    });
  }
}

/** Starts an agent in this process, and resolves when what is on its disk is served. It ends with the test. */
export async function startAgent(
  given: Partial<AgentProcessOptions> & Pick<AgentProcessOptions, "namespace" | "rules" | "connect">,
): Promise<RunningAgent> {
  const logLines: Record<string, unknown>[] = [];
  const stop = new AbortController();
  const started = Promise.withResolvers<string | undefined>();
  const folder = given.folder ?? (await temporaryFolder());
  const finished = runAgent(
    {
      folder,
      identity: "test",
      members: { rules: { versionAnnotations: [defaultVersionAnnotation] }, selection: secretSelection("tls", undefined) },
      notice: undefined,
      pauseMs: 0,
      maxStalenessMs: 3_600_000,
      verifyEveryMs: 600_000,
      shareAbove: 1000,
      lease: true,
      bindAddress: "127.0.0.1:0",
      environment: { PATH: process.env["PATH"] },
      version: "test",
      log: createLogger({ level: "debug", destination: { write: (line) => logLines.push(JSON.parse(line) as Record<string, unknown>) } }),
      ...given,
      onStarted: started.resolve,
    },
    stop.signal,
  );
  finished.catch(started.reject);
  const url = (await started.promise) ?? "";
  const end = async (): Promise<void> => {
    stop.abort();
    await finished;
  };
  onTestFinished(end);
  return {
    folder,
    url,
    logLines,
    async status() {
      return (await (await fetch(`${url}/status`)).json()) as AgentStatus;
    },
    readyz: async () => (await fetch(`${url}/readyz`)).status,
    metrics: async () => (await fetch(`${url}/metrics`)).text(),
    stop: end,
  };
}

/** What a gateway reads through `current`: certificate and key by Secret. */
export async function servedIn(folder: string): Promise<Readonly<Record<string, KeyPair>>> {
  const current = join(folder, "current");
  const names = (await readdir(current)).filter((name) => name !== "manifest.json");
  const read = async (name: string, file: string): Promise<string> => readFile(join(current, name, file), "utf8");
  const pairs = names.map(async (name) => [name, { certificate: await read(name, "tls.crt"), privateKey: await read(name, "tls.key") }] as const);
  return Object.fromEntries(await Promise.all(pairs));
}

/** The same of what was put there. */
export function pairsOf(certificates: Readonly<Record<string, Certificate>>): Readonly<Record<string, KeyPair>> {
  return Object.fromEntries(Object.entries(certificates).map(([name, { certificate, privateKey }]) => [name, { certificate, privateKey }]));
}
