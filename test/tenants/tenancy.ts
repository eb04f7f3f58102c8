// A cluster that tenants share, with everything of the chart switched on, and its users: each a real one of the real API server, with exactly its rights.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, createClient, createHttpTransport, loadConfig, type PolicyRule } from "@keyturn/runtime";
import { type Cluster, type ClusterAccess, freePort, writeKubeconfig } from "@keyturn/runtime/testing";
import { soon } from "@keyturn/runtime/testing/vitest";
import { expect } from "vitest";
import * as z from "zod";
import { type Istiod, startIstiod } from "../../packages/keyturn/src/dev/stand-ins/istiod.ts";
import { issueStory } from "../../packages/keyturn/src/dev/stories.ts";
import { renderChart } from "../../tools/chart-rendering.ts";
import { foreignKind, foreignKinds } from "../chart/foreign-kinds.ts";
import { type KeyturnProcess, startKeyturn } from "../support/keyturn-process.ts";

/** Where the chart is installed. */
export const installation = "keyturn-system";

/** A user of the cluster: what they ask with, and where that is kept. */
export interface Actor {
  readonly client: Client;
  readonly kubeconfig: string;
}

/** What somebody may do in one namespace: what a role of the cluster gives, or these rules. */
type Rights = "view" | "edit" | readonly PolicyRule[];

/** Gives somebody rights in a namespace, and nothing else. */
export async function actor(cluster: ClusterAccess, user: string, namespace: string, rights: Rights): Promise<Actor> {
  const apiGroup = "rbac.authorization.k8s.io";
  if (typeof rights === "string") {
    const binding = { roleRef: { apiGroup, kind: "ClusterRole", name: rights }, subjects: [{ kind: "User", apiGroup, name: user }] };
    await cluster.apply(Object.assign({ apiVersion: `${apiGroup}/v1`, kind: "RoleBinding", metadata: { namespace, name: user } }, binding));
  }
  const namespacedRules = typeof rights === "string" ? {} : { [namespace]: rights };
  const kubeconfig = await cluster.kubeconfigFor({ user, namespacedRules });
  const client = createClient(createHttpTransport(await loadConfig({ kubeconfig, env: {} })));
  return { client, kubeconfig };
}

/** Rights to everything of some resources. */
export function rulesFor(...resources: readonly (readonly [group: string, resource: string])[]): readonly PolicyRule[] {
  const verbs = ["get", "list", "watch", "create", "update", "patch", "delete"] as const;
  return resources.map(([group, resource]) => ({ apiGroups: [group], resources: [resource], verbs }));
}

const deploymentSchema = z.object({
  kind: z.literal("Deployment"),
  metadata: z.object({ name: z.literal("keyturn") }),
  spec: z.object({ template: z.object({ spec: z.object({ containers: z.array(z.object({ args: z.array(z.string()) })) }) }) }),
});

/** The operator of the chart, in a process of its own, with every controller. */
export class Tenancy implements AsyncDisposable {
  readonly cluster: ClusterAccess;
  readonly istiod: Istiod;
  readonly operator: KeyturnProcess;
  readonly #stack: AsyncDisposableStack;
  readonly #ports: { readonly health: number; readonly metrics: number };
  readonly #turns: string;

  private constructor(
    cluster: ClusterAccess,
    parts: Pick<Tenancy, "istiod" | "operator"> & {
      readonly stack: AsyncDisposableStack;
      readonly ports: { readonly health: number; readonly metrics: number };
      readonly turns: string;
    },
  ) {
    this.cluster = cluster;
    this.istiod = parts.istiod;
    this.operator = parts.operator;
    this.#stack = parts.stack;
    this.#ports = parts.ports;
    this.#turns = parts.turns;
  }

  /** Installs the chart, and starts what its Deployment would. */
  static async start(cluster: Cluster): Promise<Tenancy> {
    const stack = new AsyncDisposableStack();
    await issueStory(cluster, stack);
    const istiod = stack.use(await startIstiod());
    const ports = { health: await freePort(), metrics: await freePort() };
    const values = {
      controllers: {
        eventingAuth: { enabled: true, allowHttp: true },
        rotation: { enabled: true },
        jwks: { enabled: true, serving: true, reconcileInterval: "0s", reconcilesPerMinute: 0, configmapInterval: "0s" },
        checksum: { enabled: true, settle: "0s" },
        sidecars: { enabled: true, argoRollouts: true, istiodConfigReadDelay: "0s", annotationCooldown: "0s" },
      },
      health: { port: ports.health },
      metrics: { port: ports.metrics, secure: false },
    };
    await cluster.apply([installation, istiod.settings.namespace].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })));
    await cluster.apply([
      ...foreignKinds,
      foreignKind("networking.istio.io", "ProxyConfig", "v1beta1"),
      foreignKind("argoproj.io", "Rollout", "v1alpha1"),
    ]);
    await cluster.apply(readFileSync(fileURLToPath(new URL("../../examples/issue/kyma-crd.yaml", import.meta.url)), "utf8"));
    await cluster.apply({ apiVersion: "v1", kind: "ConfigMap", ...istiod.configMap() });
    await cluster.apply({ apiVersion: "admissionregistration.k8s.io/v1", kind: "MutatingWebhookConfiguration", ...istiod.revisionConfiguration() });
    const objects = await renderChart(values);
    // Its pod runs here, as a process.
    await cluster.apply(objects.filter(({ kind }) => kind !== "Deployment"));
    const deployment = objects.map((object) => deploymentSchema.safeParse(object)).find(({ success }) => success)?.data;
    const args = deployment?.spec.template.spec.containers[0]?.args ?? [];
    const token = await cluster.tokenFor({ namespace: installation, name: "keyturn" });
    const kubeconfig = writeKubeconfig(join(cluster.folder, "operator.kubeconfig"), {
      server: cluster.url,
      authority: cluster.ca,
      login: { type: "token", token },
      namespace: installation,
    });
    const turns = join(cluster.folder, "turns");
    writeFileSync(turns, "");
    const probe = fileURLToPath(new URL("turn-probe.ts", import.meta.url));
    const operator = startKeyturn(args, { KUBECONFIG: kubeconfig, NODE_OPTIONS: `--import=${probe}`, TURNS_FILE: turns });
    stack.defer(async () => {
      operator.kill("SIGKILL");
      await operator.exit;
    });
    const tenancy = new Tenancy(cluster, { istiod, operator, stack, ports, turns });
    await soon(async () => expect(await tenancy.probe("readyz")).toBe(200));
    return tenancy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }

  /** The status of a probe. */
  async probe(name: "healthz" | "readyz"): Promise<number> {
    return (await fetch(`http://127.0.0.1:${this.#ports.health}/${name}`)).status;
  }

  get healthPort(): number {
    return this.#ports.health;
  }

  async metrics(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.#ports.metrics}/metrics`)).text();
  }

  /** The CPU time, in ms, of every longer turn of the operator's event loop so far. */
  turns(): readonly number[] {
    return readFileSync(this.#turns, "utf8").split("\n").filter(Boolean).map(Number);
  }

  /** How many bytes the operator's caches have read of a resource. */
  async received(resource: string): Promise<number> {
    const lines = (await this.metrics()).split("\n").filter((line) => line.startsWith(`runtime_cache_received_bytes{resource="${resource}"`));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  }

  /** Waits until the operator has nothing left to do at once. */
  async isIdle(): Promise<void> {
    await soon(async () => {
      const busy = (await this.metrics())
        .split("\n")
        .filter((line) => /^(?:workqueue_depth|controller_runtime_active_workers)\{.*\} [1-9]/.test(line));
      expect(busy).toEqual([]);
    });
  }
}
