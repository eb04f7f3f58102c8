// Watches everything that the five stages leave for people to see, puts it together at any moment, and says what has changed since another.
import {
  type Cache,
  type Caches,
  DaemonSet,
  type DeepReadonly,
  Deployment,
  type Kind,
  type KubeObject,
  Lease,
  managedBySelector,
  StatefulSet,
  type Stored,
  type WatchStatus,
} from "@keyturn/runtime";
import { agentLeaseLabel, agentSummary } from "../agent/status.ts";
import { IngressCheckSum, SecretCheckSum } from "../controllers/checksum/api.ts";
import type { CheckSumObject } from "../controllers/checksum/check-sum-object.ts";
import { checksumSummaries, keepShownCheckSum } from "../controllers/checksum/summary.ts";
import { EventingAuth } from "../controllers/eventing-auth/api.ts";
import { eventingAuthSummary } from "../controllers/eventing-auth/summary.ts";
import { JWKS, JWKSConfig } from "../controllers/jwks/api.ts";
import { jwksSummary, keepShownJwks, type ShownJwks } from "../controllers/jwks/summary.ts";
import { RotationTarget } from "../controllers/rotation/api.ts";
import { rotationSummary } from "../controllers/rotation/summary.ts";
import { restartedForAnnotation, rolloutLabel } from "../controllers/sidecars/annotations.ts";
import { type RestartedWorkload, sidecarsSummary } from "../controllers/sidecars/summary.ts";
import { keepAny, Rollout } from "../controllers/sidecars/workload.ts";
import { type FeatureName, keyturn } from "../feature/feature.ts";
import { compareSummaries, type LeaseSummary, leaseSummary, placeOf, type Summary } from "../feature/summary.ts";
import { type CredentialStatus, leadershipOf, placed, type StageStatus, type Unread } from "./credentials.ts";
import { believedStatus, type ServerContact } from "./server-contact.ts";

// The five steps of a credential's status, and which feature does each.

/** The steps in their order. */
export const steps = [
  { step: "issue", feature: "eventing-auth" },
  { step: "rotate", feature: "rotation" },
  { step: "publish", feature: "jwks" },
  { step: "verify", feature: "checksum" },
  { step: "roll out", feature: "sidecars" },
] as const satisfies readonly { readonly step: string; readonly feature: FeatureName }[];

/** One of them. */
export type StageName = (typeof steps)[number]["step"];

// Watches everything that the five steps leave for people to see, and puts it together at any moment.

/** Where to look. */
interface StatusWatchOptions {
  /** For the objects of the steps; limited to `namespace` if one is given. */
  readonly caches: Caches;
  /** For the operator's Leases, wherever they are. */
  readonly everywhere: Caches;
  /** Undefined for all. */
  readonly namespace: string | undefined;
  /** Where the operator's Leases are; undefined if that is not known. */
  readonly operatorNamespace: string | undefined;
  /** The controllers of each feature, by the names that their Leases have. */
  readonly controllers: Readonly<Record<FeatureName, readonly string[]>>;
  /** As the operator's flag says. */
  readonly rolloutTimeoutMs: number;
  /** Whether Argo Rollouts are looked at: where they are not served, nobody misses them. */
  readonly argoRollouts: boolean;
  /** What is silent for too long counts as not read. */
  readonly contact: ServerContact;
}

/** The watches at work. */
export interface StatusWatches {
  /** All of them, to wait for. */
  readonly caches: readonly WatchedCache[];
  /** What they show. `nowMs` is the API server's time. */
  at(nowMs: number): CredentialStatus;
}

/** A cache and how its watch fares. */
interface WatchedCache {
  readonly cache: Cache<unknown>;
  readonly status: () => WatchStatus;
}

/** One kind of objects of a step. */
interface Source extends WatchedCache {
  summaries(nowMs: number): readonly Summary[];
}

/** Declares the watches. Nothing is requested before the caches are started. */
export function watchStatus(options: StatusWatchOptions): StatusWatches {
  const { namespace, controllers } = options;
  const sources = sourcesOf(options);
  const leases = watchLeases(options, Object.values(controllers).flat());
  return {
    caches: [...Object.values(sources).flat(), leases],
    at(nowMs) {
      const held = leases.summaries(nowMs);
      return {
        atMs: nowMs,
        namespace,
        steps: steps.map(({ step, feature }) => ({
          step,
          feature,
          objects: sources[feature].flatMap((source) => source.summaries(nowMs)).sort(compareSummaries),
          unread: uniqueUnread(sources[feature]),
          controllers: controllers[feature] ?? [],
          leases: held.filter(({ controller }) => controllers[feature]?.includes(controller)),
        })),
        leasesUnread: unreadOf(leases.status()),
      };
    },
  };
}

function sourcesOf({
  caches,
  rolloutTimeoutMs,
  argoRollouts,
  contact,
}: StatusWatchOptions): Readonly<Record<(typeof steps)[number]["feature"], readonly Source[]>> {
  const source = <V>(cache: Cache<V>, summaries: (cache: Cache<V>, nowMs: number) => readonly Summary[]): Source => ({
    cache,
    status: () => believedStatus(caches.statusOf(cache), contact),
    summaries: (nowMs) => summaries(cache, nowMs),
  });
  const jwks = (kind: Kind<ShownJwks>): Source =>
    source(caches.watch(kind, { keep: keepShownJwks }), (cache, nowMs) => valuesOf(cache).map((object) => jwksSummary(kind, object, nowMs)));
  const checksums = (kind: Kind<CheckSumObject>): Source =>
    source(caches.watch(kind, { keep: keepShownCheckSum, labels: managedBySelector(keyturn) }), (cache, nowMs) =>
      checksumSummaries(kind, valuesOf(cache), nowMs),
    );
  const restarted = (workloads: readonly RestartedWorkload[], nowMs: number): readonly Summary[] =>
    workloads.flatMap((workload) => sidecarsSummary(workload, { rolloutTimeoutMs, nowMs }) ?? []);
  const workloadKinds: readonly Kind[] = [Deployment, StatefulSet, DaemonSet, ...(argoRollouts ? [Rollout] : [])];
  const workloads = workloadKinds.flatMap((kind): readonly Source[] => {
    const keepRolling = (object: Stored<KubeObject>): RestartedWorkload => keepAny(kind, object);
    const marked = caches.watch(kind, { only: "metadata", keep: (object: Stored<KubeObject>) => markedWorkload(kind, object) });
    return [
      source(caches.watch(kind, { labels: rolloutLabel, keep: keepRolling }), (cache, nowMs) => restarted(valuesOf(cache), nowMs)),
      // What is rolling is known better from the whole object.
      source(marked, (cache, nowMs) =>
        restarted(
          valuesOf(cache).flatMap((workload) => (workload && !workload.restarting ? [workload] : [])),
          nowMs,
        ),
      ),
    ];
  });
  const { key, value } = agentLeaseLabel;
  return {
    "eventing-auth": [source(caches.watch(EventingAuth), (cache) => valuesOf(cache).map((object) => eventingAuthSummary(object)))],
    rotation: [source(caches.watch(RotationTarget), (cache, nowMs) => valuesOf(cache).map((target) => rotationSummary(target, nowMs)))],
    jwks: [jwks(JWKSConfig), jwks(JWKS)],
    checksum: [
      checksums(SecretCheckSum),
      checksums(IngressCheckSum),
      source(caches.watch(Lease, { labels: `${key}=${value},${managedBySelector(keyturn)}` }), (cache, nowMs) =>
        valuesOf(cache).map((lease) => agentSummary(lease, nowMs)),
      ),
    ],
    sidecars: workloads,
  };
}

/** The operator's Leases, and how the watch of them fares. */
export interface WatchedLeases extends WatchedCache {
  summaries(nowMs: number): readonly LeaseSummary[];
}

/** Declares the watch. The Leases of nodes are not even asked for: there is one for each, renewed every ten seconds. */
export function watchLeases(
  { everywhere, operatorNamespace, contact }: Pick<StatusWatchOptions, "everywhere" | "operatorNamespace" | "contact">,
  controllers: readonly string[],
): WatchedLeases {
  const names = new Set(controllers.map((controller) => `${keyturn.name}-${controller}`));
  const cache = everywhere.watch(Lease, {
    ...(operatorNamespace === undefined ? { fields: "metadata.namespace!=kube-node-lease" } : { namespace: operatorNamespace }),
    keep: (lease) => (names.has(lease.metadata.name) ? lease : undefined),
  });
  return {
    cache,
    status: () => believedStatus(everywhere.statusOf(cache), contact),
    summaries(nowMs) {
      // A renewal that could not be heard may have been made all the same.
      const atMs = Math.min(nowMs, contact.lastMs());
      return valuesOf(cache).flatMap((lease) => (lease && leaseSummary(lease, controllers, atMs)) ?? []);
    },
  };
}

/** A workload by its labels and annotations alone. */
function markedWorkload({ kind }: Kind, { metadata }: Stored<KubeObject>): RestartedWorkload | undefined {
  const { namespace = "", name, labels = {}, annotations = {} } = metadata;
  const restartedFor = annotations[restartedForAnnotation];
  const restarting = labels[rolloutLabel] !== undefined;
  return restarting || restartedFor !== undefined ? { ref: { kind, namespace, name }, restarting, restartedAt: undefined, restartedFor } : undefined;
}

function valuesOf<V>(cache: Cache<V>): readonly DeepReadonly<V>[] {
  return Array.from(cache.entries(), ([, value]) => value);
}

function uniqueUnread(sources: readonly Source[]): readonly Unread[] {
  const unread = sources.flatMap((source) => unreadOf(source.status()) ?? []);
  return [...new Map(unread.map((each) => [each.resource, each])).values()];
}

function unreadOf({ resource, state }: WatchStatus): Unread | undefined {
  switch (state.type) {
    case "missing":
      return { resource, reason: "missing", message: "the API server does not serve it" };
    case "forbidden":
      return { resource, reason: "forbidden", message: state.rule };
    case "retrying":
      return { resource, reason: "failing", message: state.error };
    case "idle":
    case "syncing":
    case "live":
    default:
      return undefined;
  }
}

// What has changed between two moments.

/** Something that came, went or fares differently. Ages change all the time and count for nothing. */
export type StatusChange =
  | {
      readonly type: "added" | "changed" | "removed";
      readonly step: StageName;
      /** As it is now; for one that is gone, as it was. */
      readonly summary: Summary;
    }
  /** What of a step cannot be read now; without a step, of the Leases. Empty if all of it can be again. */
  | { readonly type: "unread"; readonly step: StageName | undefined; readonly unread: readonly Unread[] }
  /** Somebody else leads a step, or nobody. */
  | { readonly type: "leaders"; readonly step: StageName; readonly stage: StageStatus };

/** The changes: objects in the order of the steps, then what cannot be read, then who leads. Everything is new if there is no `before`. */
export function changesOf(before: CredentialStatus | undefined, after: CredentialStatus): readonly StatusChange[] {
  return [...objectChanges(before, after), ...unreadChanges(before, after), ...leaderChanges(before, after)];
}

function objectChanges(before: CredentialStatus | undefined, after: CredentialStatus): readonly StatusChange[] {
  const old = new Map(before ? placed(before).map((each) => [idOf(each), each]) : []);
  const now = new Map(placed(after).map((each) => [idOf(each), each]));
  const came = [...now].flatMap(([id, { step, summary }]): readonly StatusChange[] => {
    const earlier = old.get(id)?.summary;
    if (!earlier) return [{ type: "added", step, summary }];
    return saying(earlier) === saying(summary) ? [] : [{ type: "changed", step, summary }];
  });
  const went = [...old].flatMap(([id, { step, summary }]): readonly StatusChange[] => (now.has(id) ? [] : [{ type: "removed", step, summary }]));
  return [...came, ...went];
}

function idOf({ step, summary }: { readonly step: StageName; readonly summary: Summary }): string {
  return `${step} ${placeOf(summary)}`;
}

function saying({ health, reason, message, detail, next }: Summary): string {
  return JSON.stringify([health, reason, message, detail, next]);
}

function unreadChanges(before: CredentialStatus | undefined, after: CredentialStatus): readonly StatusChange[] {
  // The words of a failure are others at every attempt.
  const saying = (unread: readonly Unread[]): string => JSON.stringify(unread.map(({ resource, reason }) => [resource, reason]));
  const all = (status: CredentialStatus | undefined): ReadonlyMap<StageName | undefined, readonly Unread[]> =>
    new Map([
      ...(status?.steps ?? []).map(({ step, unread }) => [step, unread] as const),
      [undefined, status?.leasesUnread ? [status.leasesUnread] : []] as const,
    ]);
  const old = all(before);
  return [...all(after)].flatMap(([step, unread]) => (saying(old.get(step) ?? []) === saying(unread) ? [] : [{ type: "unread", step, unread }]));
}

function leaderChanges(before: CredentialStatus | undefined, after: CredentialStatus): readonly StatusChange[] {
  // While Leases cannot be read there is nothing new about who leads.
  if (after.leasesUnread) return [];
  const saying = (stage: StageStatus | undefined): string => JSON.stringify(stage && leadershipOf(stage, { leasesUnread: undefined }));
  return after.steps.flatMap((stage) => {
    const old = before?.steps.find(({ step }) => step === stage.step);
    return saying(old) === saying(stage) ? [] : [{ type: "leaders", step: stage.step, stage }];
  });
}
