// Credentials that workloads use as a reason to restart them: an inspector, and the controller that restarts what it finds behind.
import { type AccessRule, ConfigMap, installationKeyAccess, type Metrics, Pod, Secret } from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import type { Selects } from "../../feature/pause-and-selection.ts";
import type { FleetOptions } from "../../workloads/fleet.ts";
import type { InspectorDefinition } from "../../workloads/inspector.ts";
import type { Limits } from "../../workloads/rollout-plan.ts";
import { type RolloutsDefinition, rolloutsController } from "../../workloads/rollouts.ts";
import { isReadAnnotation, startedWithAnnotation } from "./annotations.ts";
import { SecretProviderClassPodStatus } from "./content.ts";
import { ConsumersInspector, followsIndex, type InspectionOptions, sourcesFollowed } from "./inspect.ts";
import { consumersRolloutMetrics } from "./metrics.ts";
import { consumersReasons, type EventReason } from "./reasons.ts";

/** How workloads that use credentials are looked after; the flags say it. */
export interface ConsumersOptions extends InspectionOptions {
  readonly limits: Limits;
  /** Which workloads are looked at. */
  readonly selects: Selects;
  readonly dryRun: boolean;
  readonly argoRollouts: boolean;
  readonly checkAdmission: boolean;
}

/** The controller that restarts workloads for what they use. */
export function consumersControllerOf(options: ConsumersOptions): RolloutsDefinition {
  return rolloutsController({ ...consumersFleet(options), limits: options.limits, dryRun: options.dryRun, reasons: consumersReasons });
}

/** The fleet as it is looked at for this. */
export function consumersFleet(options: ConsumersOptions): FleetOptions {
  const { selects, skipNamespaces, argoRollouts, checkAdmission } = options;
  return { inspectors: [consumersInspector(options)], selects, skipNamespaces, argoRollouts, checkAdmission };
}

const restarted: EventReason = "CredentialRestart";
const finished: EventReason = "CredentialRolloutFinished";

function consumersInspector(options: ConsumersOptions): InspectorDefinition {
  return {
    name: "consumers",
    access: inspectorAccess(options),
    reads: isReadAnnotation,
    recordAnnotation: startedWithAnnotation,
    indexes: { [followsIndex]: (workload) => sourcesFollowed(workload, options) },
    events: {
      restarted,
      finished: { reason: finished, message: "the rollout is finished and every pod uses the new content" },
      stuck: "was restarted because something that it uses has changed, and is not healthy in time; see its pods",
    },
    setUp: (scope) => new ConsumersInspector(scope, options),
    metrics: (metrics: Metrics) => consumersRolloutMetrics(metrics),
  };
}

const read = ["get", "list", "watch"] as const;
const why = "to notice when what workloads use changes, and to read it once more right before a restart";

function inspectorAccess({ kinds }: ConsumersOptions): readonly AccessRule[] {
  return [
    { kind: Secret, verbs: read, why },
    { kind: Pod, verbs: ["list"], why: "to see, before a restart, whether pods were made since what they use has changed" },
    ...(kinds.has("ConfigMap") ? [{ kind: ConfigMap, verbs: read, why }] : []),
    ...(kinds.has("SecretProviderClass")
      ? [
          {
            kind: SecretProviderClassPodStatus,
            verbs: ["list", "watch"] as const,
            why: "to notice when what the CSI driver of secret stores mounts changes",
          },
        ]
      : []),
    ...installationKeyAccess(keyturn),
  ];
}
