// A namespace whose pods are injected by a control plane of its own, an operator that restarts only there with exactly the rights it declares, and what tests do and look at.
import { randomUUID } from "node:crypto";
import {
  DaemonSet,
  type Deployment,
  Event,
  MutatingWebhookConfiguration,
  Namespace,
  Pod,
  policyRules,
  StatefulSet,
  type Stored,
} from "@keyturn/runtime";
import { type ClusterAccess, type FaultProxy, type RunningOperator } from "@keyturn/runtime/testing";
import { expect } from "vitest";
import { soon } from "@keyturn/runtime/testing/vitest";
import type { FlagReader } from "../../packages/keyturn/src/feature/feature.ts";
import { sidecarsFeature } from "../../packages/keyturn/src/controllers/sidecars/feature.ts";
import { restartedAtAnnotation, rolloutLabel } from "../../packages/keyturn/src/workloads/annotations.ts";
import { type InjectionCall, type Istiod, startIstiod } from "../../packages/keyturn/src/dev/stand-ins/istiod.ts";
import type { ProxySettings } from "../../packages/keyturn/src/dev/stand-ins/istiod-injection.ts";
import { OperatedNamespace, operatorRules } from "../support/operated-namespace.ts";

/** A workload with a pod template. */
export type WorkloadKind = typeof Deployment | typeof StatefulSet | typeof DaemonSet;
type WorkloadObject = Deployment | StatefulSet | DaemonSet;

const triedLabel = "keyturn.io/tried";

/** Nothing waits that need not. */
const limitsOff = {
  "sidecars.istiod-config-read-delay": "0",
  "sidecars.annotation-cooldown": "0",
  "sidecars.reconcile-period": "0",
  "sidecars.probe-interval": "0",
};

/** How a workload under test is made. */
interface WorkloadOptions {
  readonly replicas?: number;
  /** Of the workload itself. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly podLabels?: Readonly<Record<string, string>>;
  readonly podAnnotations?: Readonly<Record<string, string>>;
  /** More of the spec, such as `updateStrategy`. */
  readonly spec?: Readonly<Record<string, unknown>>;
  /** More of the pod's spec. */
  readonly podSpec?: Readonly<Record<string, unknown>>;
  /** Does not wait until its pods are ready. */
  readonly unready?: boolean;
}

/** Makes the control plane, its webhooks and ConfigMap, and a namespace that names its revision. */
export async function meshNamespace(cluster: ClusterAccess, prefix: string, settings: Partial<ProxySettings> = {}): Promise<MeshNamespace> {
  const id = randomUUID().slice(0, 8);
  const istiod = await startIstiod({ revision: `r-${id}`, namespace: `istio-${id}`, tag: "1.26.0", ...settings });
  const namespace = `${prefix}-${id}`;
  const labels = { "istio.io/rev": istiod.settings.revision };
  await cluster.client.create(Namespace, { metadata: { name: istiod.settings.namespace } });
  await cluster.client.create(Namespace, { metadata: { name: namespace, labels } });
  const place = new MeshNamespace(cluster, namespace, istiod);
  await place.install(istiod);
  // Nothing is made before the API server goes by the webhooks, of which it learns by a watch.
  await soon(async () => {
    await place.tryPod();
    expect(istiod.calls).not.toHaveLength(0);
  });
  return place;
}

/** The namespace. */
export class MeshNamespace extends OperatedNamespace {
  readonly istiod: Istiod;
  readonly #configurations: string[] = [];

  constructor(cluster: ClusterAccess, namespace: string, istiod: Istiod) {
    super(cluster, namespace);
    this.istiod = istiod;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    const { client } = this.cluster;
    // Webhooks that nobody answers would keep others from making pods; without its namespace nothing is made anew.
    await client.delete(Namespace, { name: this.namespace });
    for (const name of this.#configurations) await client.delete(MutatingWebhookConfiguration, { name });
    await this.istiod[Symbol.asyncDispose]();
  }

  /** Installs a control plane: its ConfigMap, and webhooks that lead to it. */
  async install(istiod: Istiod, configuration = istiod.revisionConfiguration()): Promise<void> {
    await this.putConfigMap(istiod);
    await this.putWebhooks(configuration);
  }

  async putWebhooks(configuration: MutatingWebhookConfiguration): Promise<void> {
    await this.cluster.apply({ apiVersion: "admissionregistration.k8s.io/v1", kind: "MutatingWebhookConfiguration", ...configuration });
    this.#configurations.push(configuration.metadata.name ?? "");
  }

  async putConfigMap(istiod: Istiod = this.istiod): Promise<void> {
    await this.cluster.apply({ apiVersion: "v1", kind: "ConfigMap", ...istiod.configMap() });
  }

  /** An upgrade in place: istiod injects something else from now on, and its ConfigMap says so. */
  async upgrade(settings: Partial<Omit<ProxySettings, "revision" | "namespace">>): Promise<void> {
    this.istiod.configure(settings);
    await this.putConfigMap();
  }

  /** Starts an operator that works in this namespace alone; `through` a proxy, if there is one. */
  async startOperator(
    flags: Readonly<Record<string, string>> = {},
    { through, dryRun = false }: { readonly through?: FaultProxy; readonly dryRun?: boolean } = {},
  ): Promise<RunningOperator> {
    const given: Readonly<Record<string, string>> = { ...limitsOff, "sidecars.istio-namespaces": this.istiod.settings.namespace, ...flags };
    const flag: FlagReader = (each) => each.parse(given[each.name]);
    const controllers = sidecarsFeature.controllers(flag);
    const { namespace } = this;
    const kubeconfig = await this.#kubeconfig(controllers.flatMap((controller) => controller.access));
    return this.start({
      kubeconfig: through?.through(kubeconfig) ?? kubeconfig,
      controllers,
      dryRun,
      // Tried often, so that a new leader is there at once, and long enough that a busy machine loses no lease.
      leaderElection: { namespace, durations: { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 400 } },
    });
  }

  /** For a ServiceAccount with exactly these rights. */
  #kubeconfig(access: Parameters<typeof policyRules>[0]): Promise<string> {
    const { namespace } = this;
    const here = access.filter((rule) => rule.kind.namespaced && rule.namespace === undefined);
    const elsewhere = Object.groupBy(
      access.filter((rule) => rule.namespace !== undefined),
      (rule) => rule.namespace ?? "",
    );
    const namespacedRules: Record<string, ReturnType<typeof policyRules>> = {};
    for (const [place, rules = []] of Object.entries(elsewhere)) namespacedRules[place] = policyRules(rules);
    namespacedRules[namespace] = operatorRules(namespace, here);
    const rules = policyRules(access.filter((rule) => !rule.kind.namespaced));
    return this.cluster.kubeconfigFor({ serviceAccount: { namespace, name: "operator" }, rules, namespacedRules });
  }

  /** Makes a workload, and waits until its pods are ready. */
  async put(kind: WorkloadKind, name: string, options: WorkloadOptions = {}): Promise<void> {
    const { replicas = 2, labels = {}, podLabels = {}, podAnnotations = {}, spec = {}, podSpec = {}, unready = false } = options;
    const template = {
      metadata: { labels: { app: name, ...podLabels }, annotations: podAnnotations },
      spec: { containers: [{ name: "app", image: "example.com/app:1" }], ...podSpec },
    };
    const object = {
      apiVersion: "apps/v1",
      kind: kind.kind,
      metadata: { namespace: this.namespace, name, labels },
      spec: {
        selector: { matchLabels: { app: name } },
        template,
        ...(kind !== DaemonSet && { replicas }),
        ...(kind === StatefulSet && { serviceName: name }),
        ...spec,
      },
    };
    await this.cluster.apply(object);
    if (!unready) await soon(async () => expect(await this.isRolledOut(kind, name)).toBe(true));
  }

  /** Asks the API server for a pod that is not made; rejects if it would refuse it. */
  async tryPod(): Promise<void> {
    const metadata = { namespace: this.namespace, name: "tried", labels: { [triedLabel]: "true" } };
    await this.cluster.client.create(Pod, { metadata, spec: { containers: [{ name: "app", image: "example.com/app:1" }] } }, { dryRun: true });
  }

  async isRolledOut(kind: WorkloadKind, name: string): Promise<boolean> {
    return isRolledOut(kind, await this.get<Deployment & StatefulSet & DaemonSet>(kind, name));
  }

  /** The live pods of a workload. */
  async pods(name: string): Promise<readonly Stored<Pod>[]> {
    const { items } = await this.cluster.client.list(Pod, { namespace: this.namespace, labels: `app=${name}` });
    return items.filter(({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.phase !== "Failed");
  }

  /** The images of the sidecars of a workload's live pods, each once; `none` for pods without. */
  async sidecars(name: string): Promise<readonly string[]> {
    const pods = await this.pods(name);
    const images = pods.map(
      ({ spec }) => [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].find((each) => each.name === "istio-proxy")?.image ?? "none",
    );
    return Array.from(new Set(images)).sort();
  }

  /** Waits until every live pod of the workload has this sidecar, and its rollout is finished and unmarked. */
  hasSidecar(kind: WorkloadKind, name: string, image: string): Promise<void> {
    return soon(async () => {
      expect(await this.sidecars(name)).toEqual([image]);
      expect((await this.workload(kind, name)).metadata.labels?.[rolloutLabel]).toBeUndefined();
      expect(await this.isRolledOut(kind, name)).toBe(true);
    });
  }

  async workload(kind: WorkloadKind, name: string): Promise<Stored<WorkloadObject>> {
    const object = await this.get<WorkloadObject>(kind, name);
    if (!object) throw new Error(`${kind.kind} ${name} is gone`);
    return object;
  }

  /** When the workload was last restarted; undefined if never. */
  async restartedAt(kind: WorkloadKind, name: string): Promise<string | undefined> {
    return (await this.workload(kind, name)).spec?.template.metadata?.annotations?.[restartedAtAnnotation];
  }

  /** How often the workload's template was ever changed, the first time included. */
  async generation(kind: WorkloadKind, name: string): Promise<number | undefined> {
    return (await this.workload(kind, name)).metadata.generation;
  }

  async events(name: string): Promise<readonly string[]> {
    const { items } = await this.cluster.client.list(Event, { namespace: this.namespace, fields: `regarding.name=${name}` });
    return items.filter(({ reportingController }) => reportingController.includes("sidecars")).map(({ reason }) => reason);
  }

  /** What our side has asked the control plane; the API server's own questions are about pods that are made. */
  get questions(): readonly InjectionCall[] {
    return this.istiod.calls.filter(({ dryRun, pod }) => dryRun && pod.metadata.labels?.[triedLabel] === undefined);
  }

  async labelNamespace(labels: Readonly<Record<string, string | null>>): Promise<void> {
    await this.cluster.client.mergePatch(Namespace, { name: this.namespace }, { metadata: { labels } });
  }
}

/** By the figures that `kubectl rollout status` looks at. */
export function isRolledOut(kind: WorkloadKind, { metadata, spec, status }: Partial<Stored<Deployment & StatefulSet & DaemonSet>> = {}): boolean {
  if (!status || (status.observedGeneration ?? 0) < (metadata?.generation ?? 0)) return false;
  if (kind === DaemonSet) {
    const { desiredNumberScheduled = 0, updatedNumberScheduled, numberAvailable } = status;
    return desiredNumberScheduled > 0 && updatedNumberScheduled === desiredNumberScheduled && numberAvailable === desiredNumberScheduled;
  }
  return status.updatedReplicas === spec?.replicas && status.availableReplicas === spec?.replicas && status.replicas === spec?.replicas;
}

/** The value of a metric with these labels, as Prometheus' text has it; undefined if there is none. */
export async function metric(operator: RunningOperator, series: string): Promise<number | undefined> {
  const line = (await operator.metrics()).split("\n").find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}
