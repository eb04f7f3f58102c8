// An inspector says which workloads should be restarted, and why. It restarts nothing: that is planned over all inspectors, in `rollouts.ts`.
import {
  type AccessRule,
  type Cache,
  type Client,
  type Clock,
  type ControllerScope,
  DaemonSet,
  type DeepReadonly,
  Deployment,
  type Metrics,
  Namespace,
  type PlannedEvent,
  Pod,
  StatefulSet,
} from "@keyturn/runtime";
import type { Admission } from "./admission.ts";
import type { SkipReason } from "./reasons.ts";
import type { Inspection, Row, WorkloadId } from "./rollout-plan.ts";
import { restartMemoryAccess } from "./restart-memory.ts";
import { Rollout, type Workload } from "./workload.ts";

/** An inspector, before it works: plain data plus `setUp`. */
export interface InspectorDefinition {
  /** The name of its feature. */
  readonly name: string;
  /** What it may do beyond reading namespaces and workloads and restarting these. */
  readonly access: readonly AccessRule[];
  /** Names of the labels and annotations of workloads that it reads. Default none. */
  readonly reads?: (name: string) => boolean;
  /** What Events say of restarts that it asked for. */
  readonly events: RestartEvents;
  /** Declares watches. Called once for each fleet, before anything is inspected. */
  setUp(scope: InspectorScope): Inspector;
  /** Shows the rows that it has a part in, as metrics. Called by the controller alone. */
  metrics(metrics: Metrics): RolloutMetrics;
}

/** The Events about a workload that was restarted. */
export interface RestartEvents {
  /** The reason of the Event of a restart; its message says why. */
  readonly restarted: string;
  readonly finished: Pick<PlannedEvent, "reason" | "message">;
  /** What was restarted and does not get healthy. */
  readonly stuck: string;
}

/** What an inspector is made with. */
export interface InspectorScope extends Pick<ControllerScope, "watch"> {
  readonly client: Client;
  readonly clock: Clock;
  readonly metrics: Metrics | undefined;
  /** Aborts when nobody will inspect any more. */
  readonly signal: AbortSignal;
  /** `operator`: with the operator's rights and from within the cluster. `viewer`: with the rights of somebody who looks, from anywhere. */
  readonly asker: "operator" | "viewer";
  /** Whether somebody wants inspections at present: nobody is asked on behalf of a standby. */
  isWanted(this: void): boolean;
  /** The labels of each namespace. */
  readonly namespaces: Cache<Readonly<Record<string, string>>>;
  /** By the name of their kind. Rollouts join when their CRD is there. */
  readonly workloads: ReadonlyMap<string, Cache<Workload>>;
  /** Everything that is inspected, of one namespace or all. */
  ids(this: void, namespace?: string): readonly WorkloadId[];
  /** These are to be inspected again: something that they depend on has changed. */
  due(this: void, ids: Iterable<WorkloadId>): void;
}

/** Inspects. Everything is answered from caches at once; what has to be asked is asked without waiting, and `due` follows the answer. */
export interface Inspector {
  /** `workload` is undefined for what is no workload of a kind that can be restarted. Undefined: there is nothing to say about it. */
  inspect(id: WorkloadId, workload: DeepReadonly<Workload> | undefined): Finding | undefined;
  /** The same with everything that it depends on read and asked anew, right before a restart. Rejects if that cannot be read. */
  lookAgain(workload: DeepReadonly<Workload>, asking: LastLook): Promise<Finding | undefined>;
  /** What it inspects besides workloads. */
  ids(namespace?: string): Iterable<WorkloadId>;
  /** The uid of one of these, if it is known. */
  uidOf(id: WorkloadId): string | undefined;
  /** What it watches itself. */
  readonly caches: readonly Cache<unknown>[];
  /** Resolves when nothing is being asked. */
  answered(): Promise<void>;
}

/** What a last look is made with. */
export interface LastLook {
  readonly client: Client;
  readonly signal: AbortSignal;
  /** What the API server would make of a new pod, asked once for all inspectors. That it admits one is seen to for them. */
  admission(this: void): Promise<Admission>;
}

/** What an inspection gives. One that is not known keeps others from restarting the workload too: a new pod may not run. */
export interface Finding {
  readonly inspection: Inspection;
  /** The inspection is about as many pods of the last restart as there should be. */
  readonly replaced: boolean;
  /** Why it should not be restarted all the same. */
  readonly blocker: SkipReason | undefined;
  /** When to look again, unless `due` says so earlier. */
  readonly againInMs: number | undefined;
}

/** Counts and shows for an inspector. */
export interface RolloutMetrics {
  /** All rows of a plan that it has a part in. */
  show(rows: readonly Row[]): void;
  /** Another process shows them from now on. */
  hide(): void;
  restarted(reason: string): void;
  restartFailed(): void;
}

const seen = ["list", "watch"] as const;
const restarted = ["list", "watch", "patch"] as const;
const why = "to see what pods are made from and how rollouts fare, and to restart";

/** What the controller may do: for its inspectors, and to restart. */
export function rolloutsAccess(
  inspectors: readonly InspectorDefinition[],
  { argoRollouts, checkAdmission }: { readonly argoRollouts: boolean; readonly checkAdmission: boolean },
): readonly AccessRule[] {
  return [
    ...inspectors.flatMap(({ access }) => access),
    ...(checkAdmission
      ? [{ kind: Pod, verbs: ["create"] as const, why: "to ask, before a restart, whether a new pod would be admitted; none is stored" }]
      : []),
    ...restartMemoryAccess,
    { kind: Namespace, verbs: seen, why: "to read the labels that decide about injection and restarts" },
    ...[Deployment, StatefulSet, DaemonSet, ...(argoRollouts ? [Rollout] : [])].map((kind) => ({ kind, verbs: restarted, why })),
  ];
}
