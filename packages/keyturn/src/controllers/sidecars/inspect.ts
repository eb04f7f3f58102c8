// Looks at one workload at a time: its pods, what new ones would get, and what follows from that for the plan.
import { abortRace, type Cache, type Clock, type DeepReadonly, keyOf, nameOf, type Pod, type PodTemplateSpec, type Stored } from "@keyturn/runtime";
import type { Selects } from "../../feature/pause-and-selection.ts";
import { type Candidate, type WorkloadId, workloadId, workloadRef } from "./rollout-plan.ts";
import type { Expectations } from "./expectations.ts";
import { type Expectation, expectationKey, templateDigest } from "./injection/expectation.ts";
import type { PodSource } from "./injection/pod-draft.ts";
import type { InjectorConfiguration } from "./injector-configuration.ts";
import { comparePods } from "./pod-comparison.ts";
import { countedPods } from "./pod-selection.ts";
import { deadPod, directOwnerId, type LivePod, podKeeper, replicaSetOf, restartableId, workloadUidOfPod } from "./pods.ts";
import { consentLabel, RestartTimes } from "./annotations.ts";
import type { SkipReason } from "./reasons.ts";
import { Rollout, templateOf, type Workload } from "./workload.ts";
import { idOfWorkload, type SidecarsWatches } from "./watches.ts";

/** What an inspection is made with. */
export interface InspectorOptions {
  readonly clock: Pick<Clock, "now">;
  readonly watches: SidecarsWatches;
  readonly configuration: InjectorConfiguration;
  readonly expectations: Expectations;
  /** Asks what a new pod would get, with the labels of its namespace. */
  readonly expect: (
    source: PodSource,
    asked: { readonly namespaceLabels: Readonly<Record<string, string>>; readonly whole: boolean },
  ) => Promise<Expectation>;
  readonly compareHub: boolean;
  /** Compares the whole sidecar, not only its image and revision. */
  readonly whole: boolean;
  /** Which workloads are looked at. */
  readonly selects: Selects;
  /** How much longer the labels of a namespace are given to stabilize. */
  readonly namespaceStabilizesInMs: (namespace: string) => number;
}

/** What an inspection gives: a candidate for the plan if there is something to plan, and when to look again. */
export interface InspectionResult {
  readonly candidate: Omit<Candidate, "retryAtMs"> | undefined;
  /** Why there is nothing to plan, in words. */
  readonly whyNone?: string;
  readonly againInMs: number | undefined;
}

const gone: InspectionResult = { candidate: undefined, whyNone: "it is gone", againInMs: undefined };
const notSelected: InspectionResult = { candidate: undefined, whyNone: "it is not selected", againInMs: undefined };
const withoutPods: InspectionResult = { candidate: undefined, whyNone: "it has no pods that count", againInMs: undefined };
const currentInWords = "its pods have the sidecar that new ones would get";

/** Where pods come from, and what a new one would be made of. */
interface Asked {
  readonly source: Omit<PodSource, "template">;
  readonly templateDigest: string;
  readonly template: () => PodTemplateSpec;
}

/** An inspection, and when it is to be looked at again. */
interface DatedInspection {
  readonly inspection: Candidate["inspection"];
  readonly againInMs: number | undefined;
}

/** Inspects workloads from what the caches show. */
export class Inspector {
  readonly #options: InspectorOptions;
  readonly #keep: (pod: Stored<Pod>) => LivePod | typeof deadPod;
  readonly #restartTimes = new RestartTimes();

  constructor(options: InspectorOptions) {
    this.#options = options;
    this.#keep = podKeeper(options);
  }

  /** The workload as the cache shows it. */
  workload(id: WorkloadId): DeepReadonly<Workload> | undefined {
    const { kind, namespace, name } = workloadRef(id);
    return this.#options.watches.workloads.get(kind)?.get(keyOf({ namespace, name }));
  }

  /** When the workload was last restarted; see `RestartTimes`. */
  restartedAtMs({ ref, restartedAt }: Pick<DeepReadonly<Workload>, "ref" | "restartedAt">): number | undefined {
    return this.#restartTimes.timeOf(workloadId(ref), restartedAt, this.#options.clock.now());
  }

  /** Inspects what the id names. Asks a webhook if need be, and does not wait for its answer. */
  inspect(id: WorkloadId): InspectionResult {
    const { kind } = workloadRef(id);
    if (!this.#options.watches.workloads.has(kind)) return this.#inspectUnrestartable(id);
    const workload = this.workload(id);
    if (!workload) this.#restartTimes.forget(id);
    if (!workload || workload.deleting) return gone;
    return this.#candidate(id, workload, this.#podsOf(workload));
  }

  /**
   * The same from pods that were read just now and with the webhooks asked anew, for a last look before a restart: while they do not answer, the API
   * server could make no pods either. Rejects only with the signal's reason.
   */
  async lookAgain(id: WorkloadId, pods: readonly Stored<Pod>[], signal: AbortSignal): Promise<InspectionResult> {
    const workload = this.workload(id);
    if (!workload || workload.deleting) return gone;
    const { watches, expectations } = this.#options;
    const question = this.#question(askedOf(workload));
    if ("key" in question) {
      const renewed = await abortRace(expectations.renew(question.key, id, question.ask), signal);
      if (renewed.type === "failed") expectations.doubt(renewed.webhook, idsIn(watches));
    }
    const { replicaSets } = watches;
    const { namespace, uid } = workload.source;
    const live = pods.map(this.#keep).filter((pod) => pod !== deadPod);
    return this.#candidate(
      id,
      workload,
      live.filter((pod) => workloadUidOfPod(pod, namespace, replicaSets) === uid),
    );
  }

  #candidate(id: WorkloadId, workload: DeepReadonly<Workload>, pods: readonly DeepReadonly<LivePod>[]): InspectionResult {
    const { ref, progress, restarting, blocker, restartedFor, desired } = workload;
    const restartedAtMs = this.restartedAtMs(workload);
    const counted = countedPods(workload, pods);
    // Nobody need be asked about a workload without pods. What we have begun is finished, whoever looks after it from then on.
    if (!restarting && !workload.isSelected) return notSelected;
    if (!restarting && counted.length === 0) return withoutPods;
    const { inspection, againInMs } = this.#inspectPods(id, counted, askedOf(workload));
    if (inspection.type === "current" && !restarting) return { candidate: undefined, whyNone: currentInWords, againInMs };
    const candidate = {
      ref,
      inspection,
      progress,
      restarting,
      restartedAtMs,
      replaced: counted.length >= desired,
      blocker,
      consent: this.#consent(workload.consent, ref.namespace),
      paused: workload.paused,
      restartedFor,
    };
    return { candidate, againInMs };
  }

  /** Pods that nobody can restart are only reported, by what they belong to. */
  #inspectUnrestartable(id: WorkloadId): InspectionResult {
    const { pods: cache, replicaSets, workloads } = this.#options.watches;
    const ref = workloadRef(id);
    const pods = this.#live(cache.byIndex("direct", id)).filter((pod) => {
      const owner = restartableId(replicaSetOf(pod, ref.namespace, replicaSets)?.owner, ref.namespace);
      return owner === undefined || !workloads.has(workloadRef(owner).kind);
    });
    const [first] = pods;
    const template = first?.outline;
    if (!template || !this.#options.selects({ namespace: ref.namespace, labels: template.metadata?.labels ?? {} })) return withoutPods;
    const source = { kind: "Pod", namespace: ref.namespace, name: ref.name, uid: "" } as const;
    const { inspection, againInMs } = this.#inspectPods(id, pods, { source, templateDigest: templateDigest(template), template: () => template });
    if (inspection.type === "current") return { candidate: undefined, whyNone: currentInWords, againInMs };
    const blocker: SkipReason = ref.kind === "Pod" ? "BarePod" : ref.kind === "Job" ? "Job" : "UnsupportedOwner";
    const state = {
      progress: "finished",
      restarting: false,
      restartedAtMs: undefined,
      replaced: true,
      paused: undefined,
      restartedFor: undefined,
    } as const;
    return { candidate: { ref, inspection, ...state, blocker, consent: this.#consent(undefined, ref.namespace) }, againInMs };
  }

  #inspectPods(id: WorkloadId, pods: readonly DeepReadonly<LivePod>[], asked: Asked): DatedInspection {
    const question = this.#question(asked);
    if (!("key" in question)) return question;
    const { expectations, compareHub } = this.#options;
    const { expectation, againInMs } = expectations.get(question.key, id, question.ask);
    return { inspection: comparePods(pods, expectation, { compareHub }), againInMs };
  }

  /** What is to be asked, or why nobody can be asked yet. */
  #question(asked: Asked): { readonly key: string; readonly ask: () => Promise<Expectation> } | DatedInspection {
    const { configuration, watches, expect, whole, namespaceStabilizesInMs } = this.#options;
    const { namespace } = asked.source;
    const namespaceLabels = watches.namespaces.get(namespace);
    const stabilizesInMs = Math.max(configuration.stabilizesInMs, namespaceStabilizesInMs(namespace));
    if (!namespaceLabels || stabilizesInMs > 0) {
      const message = namespaceLabels ? "the configuration has just changed" : "its namespace has not been seen yet";
      return { inspection: { type: "unknown", reason: "Pending", message }, againInMs: stabilizesInMs || undefined };
    }
    // What belongs to nobody we know is compared by image and revision only: without a template, the rest of its sidecar is not known.
    const options = { namespaceLabels, injectors: configuration.injectors, whole: whole && asked.source.kind !== "Pod" };
    const key = expectationKey({ ...asked, ...options, configurationVersion: configuration.version });
    return { key, ask: () => expect({ ...asked.source, template: asked.template() }, options) };
  }

  #consent(own: string | undefined, namespace: string): Candidate["consent"] {
    const said = own ?? this.#options.watches.namespaces.get(namespace)?.[consentLabel];
    return said === "enabled" || said === "disabled" ? said : undefined;
  }

  #podsOf({ source }: DeepReadonly<Workload>): readonly DeepReadonly<LivePod>[] {
    const { pods, replicaSets } = this.#options.watches;
    const hasReplicaSets = source.kind === "Deployment" || source.kind === "Rollout";
    const owners = hasReplicaSets ? replicaSets.byIndex("owner", source.uid).flatMap((key) => uidIn(replicaSets, key)) : [source.uid];
    return this.#live(owners.flatMap((uid) => pods.byIndex("owner", uid)));
  }

  #live(keys: readonly string[]): readonly DeepReadonly<LivePod>[] {
    const { pods } = this.#options.watches;
    return keys.map((key) => pods.get(key)).filter((pod) => pod !== undefined && pod !== deadPod);
  }
}

function askedOf(workload: DeepReadonly<Workload>): Asked {
  return { source: workload.source, templateDigest: workload.templateDigest, template: () => templateOf(workload) };
}

function uidIn(cache: Cache<unknown>, key: string): readonly string[] {
  const uid = cache.identity(key)?.uid;
  return uid === undefined ? [] : [uid];
}

/** Everything that pods belong to as far as the caches show it, in one namespace or all. */
export function idsIn({ workloads, pods }: Pick<SidecarsWatches, "workloads" | "pods">, namespace?: string): readonly WorkloadId[] {
  const ids = new Set<WorkloadId>();
  for (const cache of workloads.values()) {
    for (const [key] of cache.entries(namespace)) ids.add(idOfWorkload(cache.kind, key));
  }
  for (const [key, pod] of pods.entries(namespace)) {
    if (pod !== deadPod && pod.outline) ids.add(directOwnerId(pod, nameOf(key).namespace ?? ""));
  }
  return Array.from(ids);
}

/** The Rollouts of a namespace, once they are watched. */
export function rolloutsIn({ workloads }: Pick<SidecarsWatches, "workloads">, namespace: string): readonly WorkloadId[] {
  return Array.from(workloads.get(Rollout.kind)?.entries(namespace) ?? [], ([key]) => idOfWorkload(Rollout, key));
}
