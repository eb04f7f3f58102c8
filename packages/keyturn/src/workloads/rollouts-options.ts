// How the controller that restarts works, and what it may do: what each feature asks for, and what that comes to for several.
import { type AccessRule, DaemonSet, Deployment, Pod, StatefulSet } from "@keyturn/runtime";
import type { ReasonTable } from "../feature/feature.ts";
import { UsageError } from "../feature/flag.ts";
import type { FleetOptions } from "./fleet.ts";
import { restartMemoryAccess } from "./restart-memory.ts";
import type { Limits } from "./rollout-plan.ts";
import { Rollout } from "./workload.ts";

export interface RolloutsOptions extends FleetOptions {
  readonly limits: Limits;
  /** Restarts nothing and records nothing, whatever the rest of the operator does. */
  readonly dryRun: boolean;
  /** Of all inspectors. */
  readonly reasons: ReasonTable;
}

/** What two features ask for, in one process. Of their limits, the stricter counts. Throws a `UsageError` for what cannot be had at once. */
export function unitedOptions(left: RolloutsOptions, right: RolloutsOptions): RolloutsOptions {
  const names = [...left.inspectors, ...right.inspectors].map(({ name }) => name).join(" and ");
  if (left.dryRun !== right.dryRun) throw new UsageError(`${names} restart the same workloads: switch the dry run on for both of them, or for none`);
  return {
    inspectors: [...left.inspectors, ...right.inspectors],
    selects: left.selects,
    skipNamespaces: left.skipNamespaces.filter((namespace) => right.skipNamespaces.includes(namespace)),
    argoRollouts: left.argoRollouts || right.argoRollouts,
    checkAdmission: left.checkAdmission || right.checkAdmission,
    limits: unitedLimits(left.limits, right.limits, names),
    dryRun: left.dryRun,
    reasons: { ...left.reasons, ...right.reasons },
  };
}

function unitedLimits(left: Limits, right: Limits, names: string): Limits {
  return {
    maxRollouts: lesser(left.maxRollouts, right.maxRollouts),
    restartDelayMs: Math.max(left.restartDelayMs, right.restartDelayMs),
    cooldownMs: Math.max(left.cooldownMs, right.cooldownMs),
    rolloutTimeoutMs: lesser(left.rolloutTimeoutMs, right.rolloutTimeoutMs),
    continueWhenStuck: left.continueWhenStuck && right.continueWhenStuck,
    maintenance: unitedWindows(left.maintenance, right.maintenance, names),
  };
}

/** The lesser of two limits of which 0 is none. */
function lesser(left: number, right: number): number {
  return Math.min(left || right, right || left);
}

function unitedWindows(left: Limits["maintenance"], right: Limits["maintenance"], names: string): Limits["maintenance"] {
  if (left.windows.length === 0) return right;
  if (right.windows.length > 0 && JSON.stringify(left) !== JSON.stringify(right)) {
    throw new UsageError(`${names} restart the same workloads: give both of them the same maintenance windows, or only one of them any`);
  }
  return left;
}

const restarted = ["list", "watch", "patch"] as const;
const why = "to see what pods are made from and the status of rollouts, and to restart";

export function rolloutsAccess({ inspectors, argoRollouts, checkAdmission }: RolloutsOptions): readonly AccessRule[] {
  return [
    ...inspectors.flatMap(({ access }) => access),
    ...(checkAdmission
      ? [{ kind: Pod, verbs: ["create"] as const, why: "to ask, before a restart, whether a new pod would be admitted; none is stored" }]
      : []),
    ...restartMemoryAccess,
    ...[Deployment, StatefulSet, DaemonSet, ...(argoRollouts ? [Rollout] : [])].map((kind) => ({ kind, verbs: restarted, why })),
  ];
}
