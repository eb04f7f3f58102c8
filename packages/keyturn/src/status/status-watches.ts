// Watches everything that all stages leave for people to see, puts it together at any moment, and tells what has changed since another.
import { type Cache, type Caches, type Clock, type Kind, Lease, type Logger, Namespace, type WatchStatus } from "@keyturn/runtime";
import type { ObjectReport } from "@keyturn/dashboard/contract";
import { type Feature, type FeatureName, type FlagReader, keyturn, type StageController } from "../feature/feature.ts";
import { leaseSummary, type LeaseSummary, placeOf, type RecordSource, valuesOf } from "../feature/record.ts";
import { type CredentialStatus, leadershipOf, placed, type StageStatus, stageStatus, type Unread } from "./credentials.ts";
import { believedStatus, type ServerContact } from "./server-contact.ts";

// Watches everything that all steps leave for people to see, and puts it together at any moment.

/** Where to look. */
export interface StatusWatchOptions {
  /** For the objects of the steps; limited to `namespace` if one is given. */
  readonly caches: Caches;
  /** For features with objects in other namespaces that are about this one too. Default `caches`. */
  readonly wider?: ReadonlyMap<FeatureName, Caches>;
  /** For the operator's Leases, wherever they are. */
  readonly everywhere: Caches;
  /** Undefined for all. */
  readonly namespace: string | undefined;
  /** Where the operator's Leases are; undefined if that is not known. */
  readonly operatorNamespace: string | undefined;
  readonly registry: readonly Feature[];
  /** Of each feature. */
  readonly controllers: Readonly<Record<FeatureName, readonly StageController[]>>;
  /** The operator's flags, as far as they are known here. */
  readonly flag: FlagReader;
  /** Kinds that are not served, and that nobody misses. */
  readonly unserved: readonly Kind[];
  readonly clock: Clock;
  readonly log: Logger;
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

/** Declares the watches. Nothing is requested before the caches are started. */
export function watchStatus(options: StatusWatchOptions): StatusWatches {
  const { namespace, controllers, contact, registry } = options;
  const cachesOf = (feature: FeatureName): Caches => options.wider?.get(feature) ?? options.caches;
  const stages = registry.flatMap(({ name, stage, records }) => {
    const caches = cachesOf(name);
    const source = records.watch({ ...options, watch: caches.watch.bind(caches), touch: () => {}, viewer: "status" });
    return source ? [{ feature: name, step: stage.verb, records, source }] : [];
  });
  const leases = watchLeases(options, Object.values(controllers).flat());
  const watched = ({ feature, source }: { readonly feature: FeatureName; readonly source: RecordSource }): readonly WatchedCache[] =>
    source.caches().map((cache) => ({ cache, status: () => believedStatus(cachesOf(feature).statusOf(cache), contact) }));
  return {
    caches: [...stages.flatMap(watched), leases],
    at(nowMs) {
      const held = leases.summaries(nowMs);
      const leasesUnread = unreadOf(leases.status());
      return {
        atMs: nowMs,
        namespace,
        steps: stages.map((stage) => {
          const { feature, step, records } = stage;
          const own = watched(stage);
          const read = {
            step,
            feature,
            perNamespace: records.perNamespace ?? false,
            objects: reportsOf(stage.source, nowMs),
            unread: uniqueUnread(own),
            controllers: controllers[feature] ?? [],
            leases: held.filter(({ controller }) => controllers[feature]?.some(({ name }) => name === controller)),
            absent: own.every(({ cache, status }) => !isOwnKind(cache.kind) || status().state.type === "missing"),
          };
          return stageStatus(read, leasesUnread);
        }),
        leasesUnread,
      };
    },
  };
}

/** Leases and Namespaces are looked at for a step, and are no kinds of its own. */
function isOwnKind(kind: Kind): boolean {
  return kind !== Lease && kind !== Namespace;
}

/** What a source says about each object; of a record about several objects, about each of them. */
export function reportsOf(source: RecordSource, nowMs: number): readonly ObjectReport[] {
  return Array.from(source.ids()).flatMap((id): readonly ObjectReport[] => {
    const record = source.make(id, nowMs)?.record;
    if (!record || record.type === "step") return [];
    return record.lanes ?? [record];
  });
}

/** The operator's Leases, and how the watch of them fares. */
export interface WatchedLeases extends WatchedCache {
  summaries(nowMs: number): readonly LeaseSummary[];
}

/** Declares the watch. The Leases of nodes are not even asked for: there is one for each, renewed every ten seconds. */
export function watchLeases(
  { everywhere, operatorNamespace, contact }: Pick<StatusWatchOptions, "everywhere" | "operatorNamespace" | "contact">,
  controllers: readonly StageController[],
): WatchedLeases {
  const ours = controllers.map(({ name }) => name);
  const names = new Set(ours.map((name) => `${keyturn.name}-${name}`));
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
      return valuesOf(cache).flatMap((lease) => (lease && leaseSummary(lease, ours, atMs)) ?? []);
    },
  };
}

function uniqueUnread(sources: readonly WatchedCache[]): readonly Unread[] {
  const unread = sources.flatMap((source) => unreadOf(source.status()) ?? []);
  return [...new Map(unread.map((each) => [each.resource, each])).values()];
}

/** Why a watch shows nothing, or nothing new; undefined if it does. */
export function unreadOf({ resource, state }: WatchStatus): Unread | undefined {
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
      readonly step: string;
      /** As it is now; for one that is gone, as it was. */
      readonly report: ObjectReport;
    }
  /** What of a step cannot be read now; without a step, of the Leases. Empty if all of it can be again. */
  | { readonly type: "unread"; readonly step: string | undefined; readonly unread: readonly Unread[] }
  /** Somebody else leads a step, or nobody. */
  | { readonly type: "leaders"; readonly step: string; readonly stage: StageStatus };

/** The changes: objects in the order of the steps, then what cannot be read, then who leads. Everything is new if there is no `before`. */
export function changesOf(before: CredentialStatus | undefined, after: CredentialStatus): readonly StatusChange[] {
  return [...objectChanges(before, after), ...unreadChanges(before, after), ...leaderChanges(before, after)];
}

function objectChanges(before: CredentialStatus | undefined, after: CredentialStatus): readonly StatusChange[] {
  const old = new Map(before ? placed(before).map((each) => [idOf(each), each]) : []);
  const now = new Map(placed(after).map((each) => [idOf(each), each]));
  const came = [...now].flatMap(([id, { step, report }]): readonly StatusChange[] => {
    const earlier = old.get(id)?.report;
    if (!earlier) return [{ type: "added", step, report }];
    return saying(earlier) === saying(report) ? [] : [{ type: "changed", step, report }];
  });
  const went = [...old].flatMap(([id, { step, report }]): readonly StatusChange[] => (now.has(id) ? [] : [{ type: "removed", step, report }]));
  return [...came, ...went];
}

function idOf({ step, report }: { readonly step: string; readonly report: ObjectReport }): string {
  return `${step} ${placeOf(report)}`;
}

function saying({ health, reason, message, detail, next }: ObjectReport): string {
  return JSON.stringify([health, reason, message, detail, next]);
}

function unreadChanges(before: CredentialStatus | undefined, after: CredentialStatus): readonly StatusChange[] {
  // The words of a failure are others at every attempt.
  const saying = (unread: readonly Unread[]): string => JSON.stringify(unread.map(({ resource, reason }) => [resource, reason]));
  const all = (status: CredentialStatus | undefined): ReadonlyMap<string | undefined, readonly Unread[]> =>
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
