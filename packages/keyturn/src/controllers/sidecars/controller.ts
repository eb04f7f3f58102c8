// Sidecars as a reason to restart workloads: an inspector, and the controller that restarts what it finds outdated.
import { type AccessRule, ConfigMap, type Metrics, MutatingWebhookConfiguration, Namespace, Pod, ReplicaSet } from "@keyturn/runtime";
import type { Selects } from "../../feature/pause-and-selection.ts";
import { Semaphore } from "../../semaphore.ts";
import { askAdmission } from "../../workloads/admission.ts";
import type { FleetOptions } from "../../workloads/fleet.ts";
import type { InspectorDefinition, InspectorScope } from "../../workloads/inspector.ts";
import type { Limits } from "../../workloads/rollout-plan.ts";
import { type RolloutsDefinition, rolloutsController } from "../../workloads/rollouts.ts";
import { consentLabel } from "./labels.ts";
import { apiServer, expectationOf, expectSidecar, probeInjectors } from "./injection/expectation.ts";
import { withoutResources } from "./injection/sidecar.ts";
import { createWebhookCaller, gateCalls, type WebhookCaller } from "./injection/webhook.ts";
import { ProxyConfig } from "./injector-configuration.ts";
import { type Asking, type Expect, type InspectionOptions, SidecarsInspector } from "./inspect.ts";
import { sidecarsRolloutMetrics, webhookMetrics } from "./metrics.ts";
import { type EventReason, sidecarsReasons } from "./reasons.ts";

/** How sidecars are looked after; the flags say it. */
export interface SidecarsOptions extends InspectionOptions {
  readonly limits: Limits;
  /** Which workloads are looked at. */
  readonly selects: Selects;
  readonly dryRun: boolean;
  readonly argoRollouts: boolean;
  readonly checkAdmission: boolean;
  /** Who asks webhooks. Default: over the network, as the API server does. */
  readonly asksWebhooks?: WebhookCaller;
}

/** istiod renders a template in milliseconds; more at a time would only wait there. The API server has others to serve, too. */
const questionsAtATime = 8;

/** The controller that restarts for sidecars. */
export function sidecarsControllerOf(options: SidecarsOptions): RolloutsDefinition {
  return rolloutsController({ ...sidecarsFleet(options), limits: options.limits, dryRun: options.dryRun, reasons: sidecarsReasons });
}

/** The fleet as sidecars look at it. */
export function sidecarsFleet(options: SidecarsOptions): FleetOptions {
  const { selects, skipNamespaces, argoRollouts, checkAdmission } = options;
  return { inspectors: [sidecarsInspector(options)], selects, skipNamespaces, argoRollouts, checkAdmission };
}

const restarted: EventReason = "SidecarRestart";
const finished: EventReason = "SidecarRolloutFinished";

function sidecarsInspector(options: SidecarsOptions): InspectorDefinition {
  return {
    name: "sidecars",
    access: inspectorAccess(options),
    reads: (name) => name === consentLabel,
    events: {
      restarted,
      finished: { reason: finished, message: "the rollout is finished and every pod has the expected sidecar" },
      stuck: "was restarted for its sidecar and is not healthy in time; see its pods",
    },
    setUp: (scope) => {
      const asking = scope.asker === "viewer" ? { expect: askApiServer(scope, options) } : askWebhooks(scope, options);
      return new SidecarsInspector(scope, options, asking);
    },
    metrics: (metrics: Metrics) => sidecarsRolloutMetrics(metrics),
  };
}

/** What a new pod would get is asked of the webhooks themselves. */
function askWebhooks({ client, signal, clock, metrics }: InspectorScope, options: SidecarsOptions): Asking {
  const { asksWebhooks, checkAdmission } = options;
  const gate = new Semaphore(questionsAtATime);
  const onAnswer = metrics && webhookMetrics(metrics);
  const caller = gateCalls(asksWebhooks ?? createWebhookCaller({ clock, closed: signal, ...(onAnswer && { onAnswer }) }), questionsAtATime);
  return {
    expect: (configuration) => async (source, asked) => {
      const expected = await expectSidecar(source, { ...asked, injectors: configuration.injectors, caller });
      if (!asked.whole || expected.type !== "known") return expected;
      // The whole of a sidecar is known when the API server has filled in what is left out.
      const admitted = checkAdmission ? expectationOf(await gate.run(() => askAdmission(client, source, signal)), asked) : undefined;
      if (!admitted) return { ...expected, sidecar: withoutResources(expected.sidecar) };
      return admitted.type === "known" ? { ...admitted, webhooks: expected.webhooks } : admitted;
    },
    probe: ({ injectors }) => probeInjectors(injectors, caller),
  };
}

/** It is asked of the API server, by creating pods that are not stored: from outside the cluster too, with the right to create pods. */
function askApiServer({ client, signal }: InspectorScope, { whole }: SidecarsOptions): () => Expect {
  const gate = new Semaphore(questionsAtATime);
  return () => async (source) => {
    const admission = await gate.run(() => askAdmission(client, source, signal));
    return expectationOf(admission, { whole }) ?? { type: "refused", webhook: apiServer, message: "message" in admission ? admission.message : "" };
  };
}

const seen = ["list", "watch"] as const;
const configured = "to notice when Istio's injectors are configured anew";

/** The rights depend on where Istio is: also an operator that is limited to some namespaces has to look there. */
function inspectorAccess({ istioNamespaces }: SidecarsOptions): readonly AccessRule[] {
  return [
    { kind: MutatingWebhookConfiguration, verbs: seen, why: "to know which webhook would inject a pod" },
    { kind: ConfigMap, verbs: seen, why: configured },
    { kind: ProxyConfig, verbs: seen, why: configured },
    { kind: Pod, verbs: seen, why: "to compare their sidecars with what new ones would get" },
    { kind: Namespace, verbs: seen, why: "to read the labels that decide about injection and restarts" },
    { kind: ReplicaSet, verbs: seen, why: "to know which Deployment a pod belongs to; only their metadata is read" },
    ...istioNamespaces.map((namespace): AccessRule => ({ kind: ConfigMap, verbs: seen, namespace, why: configured })),
  ];
}
