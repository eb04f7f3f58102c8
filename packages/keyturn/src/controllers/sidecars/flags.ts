// What the command line says about sidecars. The first seven are Fortsa's, with the defaults of its documentation.
import type { FlagReader } from "../../feature/feature.ts";
import { durationFlag, type Flag, listFlag, numberFlag, switchFlag } from "../../feature/flag.ts";
import { maintenanceFlags } from "../../feature/maintenance-window.ts";
import { selectionOf } from "../../feature/pause-and-selection.ts";
import type { Limits } from "../../workloads/rollout-plan.ts";
import type { SidecarsOptions } from "./controller.ts";
import type { OutdatedReason } from "./injection/sidecar.ts";

const skipped = listFlag({ name: "sidecars.skip-namespaces", help: "namespaces whose pods are not looked at" });
const skippedByDefault = "kube-system,istio-system";

const istioNamespaces = listFlag({
  name: "sidecars.istio-namespaces",
  help: "where injector ConfigMaps count even without the label istio.io/rev, by which they are found everywhere else",
});
const istioByDefault = "istio-system";

/** What a workload may be restarted for. */
const restartCauses = ["image", "revision", "injected", "removed", "whole"] as const;
type RestartCause = (typeof restartCauses)[number];

const restartFor = listFlag({
  name: "sidecars.restart-for",
  help: "what workloads are restarted for: image (another image), revision (another control plane), injected (a sidecar where there is none), removed (none where there is one), whole (any other difference; as with --sidecars.compare-whole)",
});
const restartForByDefault = "image,revision,injected,removed";

function parseRestartFor(text = restartForByDefault): readonly RestartCause[] {
  return restartFor.parse(text).map((word) => {
    const cause = restartCauses.find((known) => known === word);
    if (!cause) throw new Error(`"${word}" is not one of ${restartCauses.join(", ")}`);
    return cause;
  });
}

export const sidecarsFlags = {
  dryRun: switchFlag({ name: "sidecars.dry-run", default: false, help: "log what would be restarted and restart nothing" }),
  compareHub: switchFlag({ name: "sidecars.compare-hub", default: false, help: "count an image of another registry as outdated" }),
  restartDelay: durationFlag({ name: "sidecars.restart-delay", default: "0", help: "the least time between two restarts; 0 = none" }),
  istiodConfigReadDelay: durationFlag({
    name: "sidecars.istiod-config-read-delay",
    default: "10s",
    help: "how long a change of Istio's configuration or of a namespace's labels must have settled before istiod is asked",
  }),
  reconcilePeriod: durationFlag({
    name: "sidecars.reconcile-period",
    default: "1h",
    help: "how often istiod is asked about every workload again without a change; 0 = never",
  }),
  probeInterval: durationFlag({
    name: "sidecars.probe-interval",
    default: "1m",
    help: "how often each istiod is asked about one and the same pod; another answer than before says that it was restarted or changed; 0 = never",
  }),
  annotationCooldown: durationFlag({
    name: "sidecars.annotation-cooldown",
    default: "5m",
    help: "the least time between two restarts of one workload; 0 = none",
  }),
  skipNamespaces: { ...skipped, default: skippedByDefault, parse: (text = skippedByDefault) => skipped.parse(text) } satisfies Flag<
    readonly string[]
  >,
  compareWhole: switchFlag({
    name: "sidecars.compare-whole",
    default: false,
    help: "count any difference of the sidecar as outdated: resources, environment, volumes and the rest, not only image and revision",
  }),
  restartFor: { ...restartFor, default: restartForByDefault, parse: parseRestartFor } satisfies Flag<readonly RestartCause[]>,
  maxRollouts: numberFlag({
    name: "sidecars.max-rollouts",
    default: 5,
    least: 0,
    most: 100_000,
    help: "how many restarted workloads may be rolling at a time, 300 at most; 0 = no other limit",
  }),
  rolloutTimeout: durationFlag({
    name: "sidecars.rollout-timeout",
    default: "10m",
    help: "how long a rollout may take to get healthy; one that takes longer stops all further restarts in its namespace",
  }),
  continueWhenStuck: switchFlag({
    name: "sidecars.continue-when-stuck",
    default: false,
    help: "go on restarting others when a rollout does not get healthy in time",
  }),
  ...maintenanceFlags("sidecars", "workloads may be restarted"),
  checkAdmission: switchFlag({
    name: "sidecars.check-admission",
    default: true,
    help: "before a restart, let the API server make a pod of the template without storing it, and restart nothing whose pods it would refuse; needs the right to create pods. Without it, the next workload of a namespace waits for the first new pod of the one before",
  }),
  optIn: switchFlag({
    name: "sidecars.opt-in",
    default: false,
    help: "restart only what is labelled keyturn.io/sidecar-restarts=enabled, itself or by its namespace",
  }),
  istioNamespaces: { ...istioNamespaces, default: istioByDefault, parse: (text = istioByDefault) => istioNamespaces.parse(text) } satisfies Flag<
    readonly string[]
  >,
  argoRollouts: switchFlag({
    name: "sidecars.argo-rollouts",
    default: false,
    help: "restart Argo Rollouts too, by spec.restartAt; they are looked for once their CRD exists",
  }),
};

/** What is wrong with a sidecar, by what restarts are asked for. */
const reasonOf: Readonly<Record<RestartCause, OutdatedReason>> = {
  image: "ImageDiffers",
  revision: "RevisionDiffers",
  injected: "SidecarMissing",
  removed: "SidecarUnwanted",
  whole: "SidecarDiffers",
};

/** What the flags say. */
export function sidecarsOptions(flag: FlagReader): SidecarsOptions {
  return {
    limits: limitsOf(flag),
    selects: selectionOf(flag),
    dryRun: flag(sidecarsFlags.dryRun),
    compareHub: flag(sidecarsFlags.compareHub),
    whole: flag(sidecarsFlags.compareWhole) || flag(sidecarsFlags.restartFor).includes("whole"),
    reasons: new Set<OutdatedReason>([
      ...flag(sidecarsFlags.restartFor).map((cause) => reasonOf[cause]),
      ...(flag(sidecarsFlags.compareWhole) ? [reasonOf.whole] : []),
    ]),
    stabilizeMs: flag(sidecarsFlags.istiodConfigReadDelay),
    periodMs: flag(sidecarsFlags.reconcilePeriod),
    probeMs: flag(sidecarsFlags.probeInterval),
    skipNamespaces: flag(sidecarsFlags.skipNamespaces),
    istioNamespaces: flag(sidecarsFlags.istioNamespaces),
    argoRollouts: flag(sidecarsFlags.argoRollouts),
    optIn: flag(sidecarsFlags.optIn),
    checkAdmission: flag(sidecarsFlags.checkAdmission),
  };
}

function limitsOf(flag: FlagReader): Limits {
  return {
    maxRollouts: flag(sidecarsFlags.maxRollouts),
    restartDelayMs: flag(sidecarsFlags.restartDelay),
    cooldownMs: flag(sidecarsFlags.annotationCooldown),
    rolloutTimeoutMs: flag(sidecarsFlags.rolloutTimeout),
    continueWhenStuck: flag(sidecarsFlags.continueWhenStuck),
    maintenance: { ...flag(sidecarsFlags.maintenanceWindows), timeZone: flag(sidecarsFlags.maintenanceTimeZone) },
  };
}
