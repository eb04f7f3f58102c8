// The inspector of sidecars: compares the live pods of a workload with what new ones would get.
import {
  abortRace,
  type Cache,
  type Change,
  ConfigMap,
  type DeepReadonly,
  MutatingWebhookConfiguration,
  nameOf,
  type ObjectKey,
  Pod,
  type PodTemplateSpec,
  ReplicaSet,
  statesOf,
  type Stored,
} from "@keyturn/runtime";
import { fieldsOutside } from "../../workloads/fleet.ts";
import type { Finding, Inspector, InspectorScope, LastLook } from "../../workloads/inspector.ts";
import type { PodSource } from "../../workloads/pod-draft.ts";
import {
  countedPods,
  deadPod,
  directOwnerId,
  keepReplicaSetOwner,
  livePhases,
  type ReplicaSetOwner,
  replicaSetOf,
  restartableId,
  workloadOfPod,
  workloadUidOfPod,
} from "../../workloads/pod-selection.ts";
import type { SkipReason } from "../../workloads/reasons.ts";
import { type Inspection, type WorkloadId, workloadRef } from "../../workloads/rollout-plan.ts";
import { restartableKinds, templateDigest, templateOf, type Workload } from "../../workloads/workload.ts";
import { changedLabels, consentLabel, NamespaceStabilization, withoutConsent } from "./labels.ts";
import { Expectations } from "./expectations.ts";
import { type Expectation, expectationKey, expectationOf } from "./injection/expectation.ts";
import type { OutdatedReason } from "./injection/sidecar.ts";
import { InjectorConfiguration, keepInjectorConfigMap, keepInjectorWebhooks, keepProxyConfig, ProxyConfig } from "./injector-configuration.ts";
import { comparePods, podKeeper, type SidecarPod } from "./pod-comparison.ts";

/** What sidecars are compared with, and how. */
export interface InspectionOptions {
  readonly compareHub: boolean;
  /** Which differences count. */
  readonly reasons: ReadonlySet<OutdatedReason>;
  /** Compares the whole sidecar, not only its image and revision. */
  readonly whole: boolean;
  readonly stabilizeMs: number;
  /** How often everything is asked again; 0 for never. */
  readonly periodMs: number;
  /** How often it is looked whether an injector answers otherwise than before; 0 for never. */
  readonly probeMs: number;
  readonly skipNamespaces: readonly string[];
  readonly istioNamespaces: readonly string[];
  /** Only what is labelled `enabled` is restarted. */
  readonly optIn: boolean;
  /** Which pods of nobody are looked at. */
  readonly selects: (object: { readonly namespace: string; readonly labels: Readonly<Record<string, string>> }) => boolean;
}

/** Asks what a new pod would get, with the labels of its namespace. */
export type Expect = (
  source: PodSource,
  asked: { readonly namespaceLabels: Readonly<Record<string, string>>; readonly whole: boolean },
) => Promise<Expectation>;

/** Who is asked. */
export interface Asking {
  /** What new pods would get; often enough for looking. */
  readonly expect: (configuration: InjectorConfiguration) => Expect;
  /** Asks each injector about the same pod again and again: another answer says that it was restarted or changed. By injector, of those that answer. */
  readonly probe?: ((configuration: InjectorConfiguration) => Promise<ReadonlyMap<string, string>>) | undefined;
}

/** Where pods come from, and what a new one would be made of. */
interface Asked {
  readonly source: Omit<PodSource, "template">;
  readonly templateDigest: string;
  readonly template: () => PodTemplateSpec;
}

/** What is asked about them, and by which key the answer is kept. */
interface Question {
  readonly key: string;
  readonly ask: () => Promise<Expectation>;
}

type KeptPod = SidecarPod | typeof deadPod;

type ComparesPods = (pods: readonly DeepReadonly<SidecarPod>[]) => Pick<Finding, "inspection" | "againInMs">;

const justChanged = { type: "unknown", reason: "Pending", message: "the configuration has just changed" } satisfies Inspection;

/** Follows pods, and the configuration of the injectors. */
export class SidecarsInspector implements Inspector {
  readonly caches: readonly Cache<unknown>[];
  readonly #scope: InspectorScope;
  readonly #options: InspectionOptions;
  readonly #pods: Cache<KeptPod>;
  readonly #replicaSets: Cache<ReplicaSetOwner>;
  readonly #configuration: InjectorConfiguration;
  readonly #stabilization: NamespaceStabilization;
  readonly #expectations: Expectations;
  readonly #expect: Expect;
  readonly #probe: Asking["probe"];
  /** What injectors have answered under this version of their configuration. */
  #probed: { readonly version: string; readonly answers: ReadonlyMap<string, string> } = { version: "", answers: new Map() };
  readonly #keep: (pod: Stored<Pod>) => KeptPod;

  constructor(scope: InspectorScope, options: InspectionOptions, { expect, probe }: Asking) {
    const { watch, clock, namespaces, due, ids } = scope;
    const { skipNamespaces, istioNamespaces, stabilizeMs } = options;
    this.#scope = scope;
    this.#options = options;
    this.#keep = podKeeper(options);
    this.#pods = watch(Pod, {
      ...fieldsOutside(skipNamespaces, [livePhases]),
      keep: this.#keep,
      indexes: { owner: ownerUids, direct: directOwners },
    });
    this.#replicaSets = watch(ReplicaSet, {
      ...fieldsOutside(skipNamespaces),
      only: "metadata",
      keep: keepReplicaSetOwner,
      indexes: { owner: (owner) => (owner ? [owner.uid] : []) },
    });
    const webhooks = watch(MutatingWebhookConfiguration, { keep: keepInjectorWebhooks });
    const configMaps = [
      // Istio's chart labels them so, wherever it is installed; the namespace is for those that were made by hand.
      watch(ConfigMap, { labels: "istio.io/rev", keep: keepInjectorConfigMap }),
      // Who only looks may not be allowed to.
      ...(scope.asker === "viewer" ? [] : istioNamespaces).map((namespace) => watch(ConfigMap, { namespace, keep: keepInjectorConfigMap })),
    ];
    // Who only looks may not be allowed to read them, and hears of a change with the next period.
    const proxyConfigs = scope.asker === "viewer" ? undefined : watch(ProxyConfig, { optional: true, keep: keepProxyConfig });
    this.caches = [this.#pods, this.#replicaSets, webhooks, ...(proxyConfigs ? [proxyConfigs] : []), ...configMaps];
    const configuration = new InjectorConfiguration({ webhooks, configMaps, proxyConfigs, istioNamespaces }, { clock, stabilizeMs });
    const decidesInjection = (label: string): boolean => configuration.injectors.namespaceLabels.has(label);
    this.#configuration = configuration;
    this.#expect = expect(configuration);
    this.#expectations = new Expectations({ clock, onAnswer: (id) => due([id]) });
    this.#stabilization = new NamespaceStabilization(namespaces, { clock, stabilizeMs, matters: decidesInjection });
    configuration.onChange((namespace) => {
      // Answers are kept by the version of what they depend on; those of the version before are of no use any more.
      if (namespace === undefined) this.#expectations.clear();
      due(ids(namespace));
    });
    this.#pods.subscribe((change) => due(workloadsOfPodChange(change, this.#replicaSets)));
    this.#replicaSets.subscribe((change) => due(workloadsOfReplicaSetChange(change)));
    namespaces.subscribe((change) => {
      if (changedLabels(change).some((label) => label === consentLabel || decidesInjection(label))) due(ids(change.key));
    });
    this.#every(options.periodMs, () => configuration.nextPeriod());
    this.#probe = options.probeMs > 0 ? probe : undefined;
    this.#every(options.probeMs, () => void (scope.isWanted() && this.#lookAtInjectors()));
  }

  inspect(id: WorkloadId, workload: DeepReadonly<Workload> | undefined): Finding | undefined {
    if (!workload) return this.#inspectUnrestartable(id);
    return this.#finding(workload, this.#podsOf(workload), (pods) => this.#inspectPods(id, pods, askedOf(workload)));
  }

  /**
   * While webhooks do not answer, the API server could make no pods either. What comes of it is made from the answers to this very look: what is kept may be
   * replaced meanwhile, by what webhooks alone have said.
   */
  async lookAgain(workload: DeepReadonly<Workload>, asking: LastLook): Promise<Finding | undefined> {
    const { kind, namespace, name, uid } = workload.source;
    const asked = askedOf(workload);
    const { items } = await asking.client.list(Pod, { namespace, labels: workload.selector }, asking.signal);
    const question = this.#question(asked);
    const renewed = "key" in question ? await this.#renew(`${kind}/${namespace}/${name}`, question, asking) : undefined;
    const live = items.map(this.#keep).filter((pod) => pod !== deadPod);
    const own = live.filter((pod) => workloadUidOfPod(pod, namespace, this.#replicaSets) === uid);
    return this.#finding(workload, own, (pods) => {
      const now = this.#question(asked);
      if (!("key" in now)) return now;
      if (!renewed || !("key" in question) || now.key !== question.key) return { inspection: justChanged, againInMs: undefined };
      return { inspection: comparePods(pods, renewed, this.#options), againInMs: undefined };
    });
  }

  /** Asks the webhooks, and if they answer the API server, whose pod is kept as what a new one would get. */
  async #renew(id: WorkloadId, { key, ask }: Question, { admission, signal }: LastLook): Promise<Expectation> {
    const expectation = await abortRace(this.#expectations.renew(key, id, ask), signal);
    if (expectation.type === "failed") this.#expectations.doubt(expectation.webhook, this.#scope.ids());
    if (expectation.type !== "known") return expectation;
    const admitted = expectationOf(await admission(), this.#options);
    return admitted?.type === "known" ? this.#expectations.renew(key, id, () => Promise.resolve(admitted)) : expectation;
  }

  *ids(namespace?: string): Iterable<WorkloadId> {
    for (const [key, pod] of this.#pods.entries(namespace)) if (pod !== deadPod && pod.outline) yield directOwnerId(pod, nameOf(key).namespace ?? "");
  }

  uidOf(id: WorkloadId): string | undefined {
    const { kind, namespace, name } = workloadRef(id);
    return kind === Pod.kind ? this.#pods.identity(`${namespace}/${name}`)?.uid : undefined;
  }

  answered(): Promise<void> {
    return this.#expectations.answered();
  }

  #finding(workload: DeepReadonly<Workload>, pods: readonly DeepReadonly<SidecarPod>[], compare: ComparesPods): Finding | undefined {
    const counted = countedPods(workload, pods);
    // Nobody need be asked about a workload without pods.
    if (!workload.restarting && counted.length === 0) return undefined;
    const blocker = withoutConsent(workload.labels, this.#scope.namespaces.get(workload.ref.namespace), this.#options);
    return { ...compare(counted), replaced: counted.length >= workload.desired, blocker };
  }

  /** Pods that nobody can restart are only reported, by what they belong to. */
  #inspectUnrestartable(id: WorkloadId): Finding | undefined {
    const { kind, namespace, name } = workloadRef(id);
    const pods = this.#live(this.#pods.byIndex("direct", id)).filter((pod) => {
      const owner = restartableId(replicaSetOf(pod, namespace, this.#replicaSets)?.owner, namespace);
      return owner === undefined || !this.#scope.workloads.has(workloadRef(owner).kind);
    });
    const [first] = pods;
    const template = first?.outline;
    if (!template || !this.#options.selects({ namespace, labels: template.metadata?.labels ?? {} })) return undefined;
    const source = { kind: "Pod", namespace, name, uid: "" } as const;
    const blocker: SkipReason = kind === "Pod" ? "BarePod" : kind === "Job" ? "Job" : "UnsupportedOwner";
    return {
      ...this.#inspectPods(id, pods, { source, templateDigest: templateDigest(template), template: () => template }),
      replaced: true,
      blocker,
    };
  }

  #inspectPods(id: WorkloadId, pods: readonly DeepReadonly<SidecarPod>[], asked: Asked): Pick<Finding, "inspection" | "againInMs"> {
    const question = this.#question(asked);
    if (!("key" in question)) return question;
    const { expectation, againInMs } = this.#expectations.get(question.key, id, question.ask);
    return { inspection: comparePods(pods, expectation, this.#options), againInMs };
  }

  /** What is to be asked, or why nobody can be asked yet. */
  #question(asked: Asked): Question | Pick<Finding, "inspection" | "againInMs"> {
    const { namespace } = asked.source;
    const { injectors } = this.#configuration;
    const namespaceLabels = this.#scope.namespaces.get(namespace);
    const stabilizesInMs = Math.max(this.#configuration.stabilizesInMs(namespace), this.#stabilization.stabilizesInMs(namespace));
    if (!namespaceLabels || stabilizesInMs > 0) {
      const inspection: Inspection = namespaceLabels ? justChanged : { ...justChanged, message: "its namespace has not been seen yet" };
      return { inspection, againInMs: stabilizesInMs || undefined };
    }
    // What belongs to nobody we know is compared by image and revision only: without a template, the rest of its sidecar is not known.
    const options = { namespaceLabels, injectors, whole: this.#options.whole && asked.source.kind !== "Pod" };
    const key = expectationKey({ ...asked, ...options, configurationVersion: this.#configuration.versionIn(namespace) });
    const source = (): PodSource => ({ ...asked.source, template: asked.template() });
    const ask = (): Promise<Expectation> => {
      // What injectors say to the first question of a version is what later answers are compared with: one may be changed before the next probe.
      if (this.#probed.version !== this.#configuration.versionIn("")) void this.#lookAtInjectors();
      return this.#expect(source(), options);
    };
    return { key, ask };
  }

  #podsOf({ source }: DeepReadonly<Workload>): readonly DeepReadonly<SidecarPod>[] {
    const sets = restartableKinds.get(source.kind)?.viaReplicaSets ? this.#replicaSets.byIndex("owner", source.uid) : undefined;
    const owners = sets?.flatMap((key) => this.#replicaSets.identity(key)?.uid ?? []) ?? [source.uid];
    return this.#live(owners.flatMap((uid) => this.#pods.byIndex("owner", uid)));
  }

  #live(keys: readonly string[]): readonly DeepReadonly<SidecarPod>[] {
    return keys.map((key) => this.#pods.get(key)).filter((pod) => pod !== undefined && pod !== deadPod);
  }

  /** Everything is asked again if an injector answers otherwise than before, although nothing has changed that is watched. Never rejects. */
  async #lookAtInjectors(): Promise<void> {
    const version = this.#configuration.versionIn("");
    if (this.#probed.version !== version) this.#probed = { version, answers: new Map() };
    // What is not known tells nothing.
    const answers = (await this.#probe?.(this.#configuration).catch(() => undefined)) ?? new Map<string, string>();
    const before = this.#probed;
    // What has been changed meanwhile is asked about anyway.
    if (before.version !== version) return;
    this.#probed = { version, answers: new Map([...before.answers, ...answers]) };
    const isOther = Array.from(answers).some(([injector, answer]) => (before.answers.get(injector) ?? answer) !== answer);
    if (isOther) this.#configuration.nextPeriod();
  }

  /** Does something now and then; 0 for never. */
  #every(periodMs: number, work: () => void): void {
    if (periodMs === 0) return;
    const { clock, signal } = this.#scope;
    const next = (): void => {
      if (signal.aborted) return;
      timer = clock.setTimer(periodMs, next);
      work();
    };
    let timer = clock.setTimer(periodMs, next);
    signal.addEventListener("abort", () => timer.cancel(), { once: true });
  }
}

function askedOf(workload: DeepReadonly<Workload>): Asked {
  return { source: workload.source, templateDigest: workload.templateDigest, template: () => templateOf(workload) };
}

function ownerUids(pod: DeepReadonly<KeptPod>): readonly string[] {
  return pod === deadPod || !pod.owner ? [] : [pod.owner.uid];
}

function directOwners(pod: DeepReadonly<KeptPod>, key: ObjectKey): readonly string[] {
  return pod === deadPod || !pod.outline ? [] : [directOwnerId(pod, nameOf(key).namespace ?? "")];
}

/** The workloads whose inspection a change of a pod may change. Most changes of a pod are about something else. */
function workloadsOfPodChange(change: Change<KeptPod>, replicaSets: Cache<ReplicaSetOwner>): readonly WorkloadId[] {
  const before = "previous" in change && change.previous !== deadPod ? change.previous : undefined;
  const after = "value" in change && change.value !== deadPod ? change.value : undefined;
  if (change.type === "updated" && before?.sidecar === after?.sidecar && before?.restartedAt === after?.restartedAt && !before === !after) return [];
  const namespace = nameOf(change.key).namespace ?? "";
  const ids = new Set<WorkloadId>();
  for (const pod of [before, after]) {
    const workload = pod && workloadOfPod(pod, namespace, replicaSets);
    if (workload !== undefined) ids.add(workload);
    if (pod?.outline) ids.add(directOwnerId(pod, namespace));
  }
  return Array.from(ids);
}

/** The workload whose pods a change of a ReplicaSet may add or take away. */
function workloadsOfReplicaSetChange(change: Change<ReplicaSetOwner>): readonly WorkloadId[] {
  if (change.type === "updated") return [];
  return statesOf(change).flatMap((owner) => restartableId(owner, nameOf(change.key).namespace ?? "") ?? []);
}
