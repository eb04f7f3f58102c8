// What the command line says about workloads that use credentials.
import type { FlagReader } from "../../feature/feature.ts";
import { durationFlag, listFlag, numberFlag, switchFlag } from "../../feature/flag.ts";
import { maintenanceFlags } from "../../feature/maintenance-window.ts";
import { selectionOf } from "../../feature/pause-and-selection.ts";
import type { ConsumersOptions } from "./controller.ts";
import type { SourceKind } from "./references.ts";

export const consumersFlags = {
  dryRun: switchFlag({ name: "consumers.dry-run", default: false, help: "log what would be restarted and restart nothing" }),
  auto: switchFlag({
    name: "consumers.auto",
    default: false,
    help: "restart every workload when a Secret or ConfigMap that it uses changes, unless an annotation on it says otherwise",
  }),
  configMaps: switchFlag({ name: "consumers.config-maps", default: true, help: "count changes of ConfigMaps, not only of Secrets" }),
  secretStores: switchFlag({
    name: "consumers.secret-stores",
    default: false,
    help: "count changes of what the Secrets Store CSI driver mounts, by its SecretProviderClassPodStatuses",
  }),
  imagePullSecrets: switchFlag({
    name: "consumers.image-pull-secrets",
    default: false,
    help: "count changes of the Secrets with which images are pulled",
  }),
  settle: durationFlag({
    name: "consumers.settle",
    default: "5s",
    help: "how long to wait for more changes of the same Secret or ConfigMap before workloads are restarted for it",
  }),
  skipNamespaces: listFlag({ name: "consumers.skip-namespaces", help: "namespaces whose workloads are not restarted" }),
  maxRollouts: numberFlag({
    name: "consumers.max-rollouts",
    default: 5,
    least: 0,
    most: 100_000,
    help: "how many restarted workloads may be rolling at a time; 0 = no limit",
  }),
  restartDelay: durationFlag({ name: "consumers.restart-delay", default: "0", help: "the least time between two restarts; 0 = none" }),
  cooldown: durationFlag({ name: "consumers.cooldown", default: "0", help: "the least time between two restarts of one workload; 0 = none" }),
  rolloutTimeout: durationFlag({
    name: "consumers.rollout-timeout",
    default: "10m",
    help: "how long a rollout may take to get healthy; one that takes longer stops all further restarts in its namespace",
  }),
  continueWhenStuck: switchFlag({
    name: "consumers.continue-when-stuck",
    default: false,
    help: "go on restarting workloads for other changes when a rollout does not get healthy in time",
  }),
  ...maintenanceFlags("consumers", "workloads may be restarted"),
  checkAdmission: switchFlag({
    name: "consumers.check-admission",
    default: true,
    help: "before a restart, let the API server make a pod of the template without storing it, and restart nothing whose pods it would refuse; needs the right to create pods",
  }),
  argoRollouts: switchFlag({
    name: "consumers.argo-rollouts",
    default: false,
    help: "restart Argo Rollouts too, by spec.restartAt; they are looked for once their CRD exists",
  }),
};

/** What the flags say. */
export function consumersOptions(flag: FlagReader): ConsumersOptions {
  const kinds: readonly SourceKind[] = [
    "Secret",
    ...(flag(consumersFlags.configMaps) ? (["ConfigMap"] as const) : []),
    ...(flag(consumersFlags.secretStores) ? (["SecretProviderClass"] as const) : []),
  ];
  return {
    auto: flag(consumersFlags.auto),
    imagePullSecrets: flag(consumersFlags.imagePullSecrets),
    kinds: new Set(kinds),
    settleMs: flag(consumersFlags.settle),
    skipNamespaces: flag(consumersFlags.skipNamespaces),
    selects: selectionOf(flag),
    dryRun: flag(consumersFlags.dryRun),
    argoRollouts: flag(consumersFlags.argoRollouts),
    checkAdmission: flag(consumersFlags.checkAdmission),
    limits: {
      maxRollouts: flag(consumersFlags.maxRollouts),
      restartDelayMs: flag(consumersFlags.restartDelay),
      cooldownMs: flag(consumersFlags.cooldown),
      rolloutTimeoutMs: flag(consumersFlags.rolloutTimeout),
      continueWhenStuck: flag(consumersFlags.continueWhenStuck),
      maintenance: { ...flag(consumersFlags.maintenanceWindows), timeZone: flag(consumersFlags.maintenanceTimeZone) },
    },
  };
}
