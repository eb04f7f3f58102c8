// The sidecars controller. One key per workload inspects it; one key for all of them plans and restarts, because what may happen at a time is counted over all.
import {
  type AccessRule,
  ConfigMap,
  type ControllerDefinition,
  type ControllerScope,
  DaemonSet,
  Deployment,
  MutatingWebhookConfiguration,
  Namespace,
  type Outcome,
  Pod,
  type Reconcile,
  ReplicaSet,
  type Run,
  StatefulSet,
} from "@keyturn/runtime";
import type { Selects } from "../../feature/pause-and-selection.ts";
import { consentLabel } from "./annotations.ts";
import { FleetRecord, inspectorOver, type SidecarsView } from "./fleet.ts";
import { expectSidecar } from "./injection/expectation.ts";
import { createWebhookCaller, gateCalls, type WebhookCallerOptions } from "./injection/webhook.ts";
import { idsIn, rolloutsIn } from "./inspect.ts";
import { fleetMetrics } from "./metrics.ts";
import { changedLabels } from "./namespace-labels.ts";
import type { Limits } from "./rollout-plan.ts";
import { Rollouts, controllerName } from "./rollouts.ts";
import { idOfWorkload, skippedFields, watchSidecars, workloadsOfPodChange, workloadsOfReplicaSetChange } from "./watches.ts";
import { lookForRolloutsMs, Rollout, servesRollouts, watchRollouts } from "./workload.ts";

/** How the controller works; the flags say it. */
export interface SidecarsOptions {
  readonly limits: Limits;
  /** Which workloads are looked at. */
  readonly selects: Selects;
  readonly dryRun: boolean;
  readonly compareHub: boolean;
  /** Compares the whole sidecar, not only its image and revision. */
  readonly whole: boolean;
  readonly stabilizeMs: number;
  /** 0 for none. */
  readonly periodMs: number;
  readonly skipNamespaces: readonly string[];
  readonly istioNamespaces: readonly string[];
  readonly argoRollouts: boolean;
  /** Where webhooks are reached; for those who do not run in the cluster. */
  readonly webhooks?: Pick<WebhookCallerOptions, "resolveService">;
  /** Called when the watches are declared: others in this process may look through them too, whether or not it leads. */
  readonly onSetUp?: (view: SidecarsView) => void;
}

/** Keys that stand for no workload; those of workloads have slashes. */
const planKey = "plan";
const periodKey = "period";
const argoKey = "argo-rollouts";

/** Many workloads change at a time, and one plan serves them all. */
const planAfterMs = 20;
/** istiod renders a template in milliseconds; more at a time would only wait there. */
const callsAtATime = 8;

/** The controller. */
export function sidecarsControllerOf(options: SidecarsOptions): ControllerDefinition {
  return {
    name: controllerName,
    access: sidecarsAccess(options),
    // Most runs only compare strings; no webhook is waited for.
    concurrency: 16,
    backoff: { firstMs: 1000, maxMs: 300_000, spread: 0.2 },
    setup: (scope) => setUp(scope, options),
  };
}

function setUp(scope: ControllerScope, options: SidecarsOptions): Reconcile {
  const { clock, trigger, enqueue } = scope;
  const { periodMs } = options;
  const metrics = fleetMetrics(scope.metrics);
  const watches = watchSidecars(scope, options);
  const caller = gateCalls(createWebhookCaller({ ...options.webhooks, clock, onAnswer: (call) => metrics.called(call) }), callsAtATime);
  const { inspector, configuration, decidesInjection, onAnswer } = inspectorOver(watches, {
    clock,
    options,
    expect: (known) => (source, asked) => expectSidecar(source, { ...asked, injectors: known.injectors, caller }),
  });
  onAnswer((id) => enqueue(id));
  options.onSetUp?.({ watches, inspector, limits: options.limits, onAnswer });
  const record = new FleetRecord();
  const rollouts = new Rollouts({
    scope,
    watches,
    inspector,
    record,
    metrics,
    show: scope.show(metrics),
    limits: options.limits,
    dryRun: options.dryRun,
  });

  for (const cache of watches.workloads.values()) trigger(cache, ({ key }) => [idOfWorkload(cache.kind, key)]);
  trigger(watches.pods, (change) => workloadsOfPodChange(change, watches.replicaSets));
  trigger(watches.replicaSets, workloadsOfReplicaSetChange);
  trigger(watches.namespaces, (change) => {
    const { type, key } = change;
    // Each term of leadership begins with these: a plan, which may find what the term before has left waiting, and the Rollouts, whose watch came later.
    if (type === "added" && change.initial) return [planKey, ...rolloutsIn(watches, key)];
    // A workload may have been seen before its namespace.
    const concerns = type === "added" || changedLabels(change).some((label) => label === consentLabel || decidesInjection(label));
    return concerns ? idsIn(watches, key) : [];
  });
  // Whoever leads starts with every workload anyway; after that, each change of the configuration concerns them all.
  let seenVersion = "";
  const allIfChanged = (): readonly string[] => {
    if (configuration.version === seenVersion) return [];
    seenVersion = configuration.version;
    return idsIn(watches);
  };
  trigger(watches.configuration.webhooks, allIfChanged);
  for (const cache of watches.configuration.configMaps) trigger(cache, allIfChanged);

  const inspect = ({ key }: Run): Outcome => {
    const inspection = inspector.inspect(key);
    if (record.record(key, inspection)) enqueue(planKey, { afterMs: planAfterMs });
    return inspection.againInMs === undefined ? {} : { requeueAfterMs: inspection.againInMs };
  };

  const startPeriod = (): Outcome => {
    configuration.nextPeriod();
    for (const id of idsIn(watches)) enqueue(id);
    return { requeueAfterMs: periodMs };
  };

  const lookForRollouts = async ({ client, signal, log }: Run): Promise<Outcome> => {
    if (watches.workloads.has(Rollout.kind)) return {};
    if (!(await servesRollouts(client, signal))) return { requeueAfterMs: lookForRolloutsMs };
    log.info({}, "the API server serves Argo Rollouts; they are restarted too");
    watchRollouts(scope, watches, {
      fields: skippedFields(options.skipNamespaces),
      selects: options.selects,
      onChange: (cache, key) => enqueue(idOfWorkload(cache.kind, key)),
    });
    for (const id of idsIn(watches)) enqueue(id);
    return {};
  };

  if (periodMs > 0) enqueue(periodKey, { afterMs: periodMs });
  if (options.argoRollouts) enqueue(argoKey);
  return async (run) => {
    if (run.key === planKey) return rollouts.reconcile(run);
    if (run.key === periodKey) return startPeriod();
    if (run.key === argoKey) return lookForRollouts(run);
    return inspect(run);
  };
}

const seen = ["list", "watch"] as const;
const restarted = ["list", "watch", "patch"] as const;
const why = "to see what pods are made from and how rollouts fare, and to restart";

const configured = "to notice when Istio's injectors are configured anew";

const always: readonly AccessRule[] = [
  { kind: MutatingWebhookConfiguration, verbs: seen, why: "to know which webhook would inject a pod" },
  { kind: ConfigMap, verbs: seen, why: configured },
  { kind: Namespace, verbs: seen, why: "to read the labels that decide about injection and restarts" },
  { kind: Pod, verbs: seen, why: "to compare their sidecars with what new ones would get" },
  { kind: ReplicaSet, verbs: seen, why: "to know which Deployment a pod belongs to; only their metadata is read" },
  { kind: Deployment, verbs: restarted, why },
  { kind: StatefulSet, verbs: restarted, why },
  { kind: DaemonSet, verbs: restarted, why },
];

/** The rights, which depend on what is to be restarted, and on where Istio is: also an operator that is limited to some namespaces has to look there. */
function sidecarsAccess(options: { readonly argoRollouts: boolean; readonly istioNamespaces: readonly string[] }): readonly AccessRule[] {
  return [
    ...always,
    ...options.istioNamespaces.map((namespace): AccessRule => ({ kind: ConfigMap, verbs: seen, namespace, why: configured })),
    ...(options.argoRollouts ? [{ kind: Rollout, verbs: restarted, why }] : []),
  ];
}
