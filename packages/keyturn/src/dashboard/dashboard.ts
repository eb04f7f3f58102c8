// The whole dashboard: sources, records, access and server, put together.
import { randomBytes } from "node:crypto";
import type { Hello, StageLayout, StageName, StageRecord, WatchTrouble } from "@keyturn/dashboard/contract";
import {
  type Cache,
  type Client,
  type Clock,
  Lease,
  type Logger,
  type MetricRow,
  type Metrics,
  metricsOf,
  resourceOf,
  type WatchStatus,
} from "@keyturn/runtime";
import type { Feature, FeatureName, FlagReader } from "../feature/feature.ts";
import { type RecordScope, type RecordSource, shownText } from "../feature/record.ts";
import { ObjectDetails } from "./object-detail.ts";
import { RecordKeeper } from "./record-keeper.ts";
import { RecordStore } from "./record-store.ts";
import { type DashboardServer, type DashboardServerOptions, startDashboardServer } from "./server.ts";
import { believedStatus, type ServerContact } from "../status/server-contact.ts";
import { readStaticFiles, type StaticFiles } from "./static-files.ts";
import type { StageLeaders } from "./stage-leaders.ts";
import type { AccessCheck } from "./viewer-rights.ts";

// The dashboard's own numbers.

export const dashboardMetrics = {
  keyturn_dashboard_streams: { type: "gauge", help: "Pages of the dashboard that are open.", labels: [] },
  keyturn_dashboard_records: { type: "gauge", help: "Records that the dashboard shows.", labels: [] },
  keyturn_dashboard_refused_total: {
    type: "counter",
    help: "Requests to the dashboard that were refused: token (missing or not good), rights, rate, host, full, or unavailable (the API server could not be asked).",
    labels: ["reason"],
  },
  keyturn_dashboard_streams_ended_total: {
    type: "counter",
    help: "Streams that ended: gone (the page was closed), slow (the page did not read), access (the token or its rights went), stopped.",
    labels: ["reason"],
  },
  keyturn_dashboard_resyncs_total: { type: "counter", help: "Pages that were too slow to follow and got everything anew.", labels: [] },
} as const satisfies Readonly<Record<string, MetricRow>>;

// The steps themselves: which are on, and what cannot be seen of them.

/** Watches notify nobody when their state changes. */
const lookEveryMs = 2000;

/** How a cache fares, asked of whoever made it. */
type StatusOf = (cache: Cache<unknown>) => WatchStatus;

/** What the steps are told from. */
interface StagesOptions {
  readonly registry: readonly Feature[];
  readonly sources: () => readonly RecordSource[];
  readonly statusOf: StatusOf;
  readonly leaders: StageLeaders;
  readonly contact: ServerContact;
}

/** One record for each step. */
export function stagesSource(
  touch: (key: string) => void,
  { registry, sources, statusOf, leaders, contact }: StagesOptions,
): Pick<RecordSource, "make"> {
  /** When the API server was last heard while all of a step was known to be as it is shown. */
  const knownMs = new Map<StageName, number>();
  for (const { name } of registry) touch(stageId(name));
  return {
    make(id, nowMs) {
      const feature = registry.find(({ name }) => stageId(name) === id);
      if (!feature) return undefined;
      const { name: step } = feature;
      const own = sources().filter((source) => source.step === step);
      const troubles = own.flatMap((source) => source.caches().flatMap((cache) => troubleOf(believedStatus(statusOf(cache), contact)) ?? []));
      const isOld = troubles.some(({ state }) => state === "retrying");
      if (!isOld) knownMs.set(step, contact.lastMs());
      const asOfMs = isOld ? knownMs.get(step) : undefined;
      const leader = leaders.of(step, nowMs);
      const state = stateOf(own, troubles, leaders.switchedOn);
      const record = { ...stageRecord(feature, own), state, troubles, ...(leader && { leader }), ...(asOfMs !== undefined && { asOfMs }) };
      return { record, againAtMs: nowMs + lookEveryMs };
    },
  };
}

function stageId(step: StageName): string {
  return `step/${step}`;
}

function stageRecord({ name: step, stage }: Feature, sources: readonly RecordSource[]): Omit<StageRecord, "state" | "troubles"> {
  return {
    type: "step",
    id: stageId(step),
    step,
    summary: stage.summary,
    resources: sources.flatMap(({ resources }) => resources),
    hidden: [],
  };
}

/** How a stage is called and laid out. */
export function stageLayout({ name, stage, records }: Pick<Feature, "name" | "stage" | "records">): StageLayout {
  const { verb, noun } = stage;
  const [one, many] = noun;
  return {
    step: name,
    verb: `${verb.slice(0, 1).toUpperCase()}${verb.slice(1)}`,
    one,
    many,
    ...(records.perNamespace && { perNamespace: true }),
    ...records.layout,
  };
}

function stateOf(sources: readonly RecordSource[], troubles: readonly WatchTrouble[], switchedOn: boolean): StageRecord["state"] {
  if (sources.length === 0) return "off";
  const missing = new Set(troubles.filter(({ state }) => state === "missing").map(({ resource }) => resource));
  // Leases are shown with a step and are no kind of its own.
  const own = sources.flatMap(({ resources }) => resources).filter((resource) => resource !== resourceOf(Lease));
  if (!switchedOn && own.every((resource) => missing.has(resource))) return "absent";
  return missing.size > 0 || troubles.some(({ state }) => state === "forbidden") ? "limited" : "on";
}

function troubleOf({ resource, namespace, state, synced }: WatchStatus): WatchTrouble | undefined {
  const where = { resource, ...(namespace !== undefined && { namespace }) };
  switch (state.type) {
    case "forbidden":
      return { ...where, state: "forbidden", message: `the right to ${state.rule} is missing` };
    case "missing":
      return { ...where, state: "missing", message: "the API server does not serve this kind; install its CRD" };
    case "retrying":
      return { ...where, state: "retrying", message: shownText(state.error) };
    case "idle":
    case "syncing":
      return synced ? undefined : { ...where, state: "syncing", message: "the first list is on its way" };
    case "live":
    default:
      return undefined;
  }
}

/** What a dashboard is made with. */
export interface DashboardOptions
  extends Pick<DashboardServerOptions, "bindAddress" | "version" | "rates" | "streamTimes" | "maxStreams">, Pick<RecordScope, "running" | "ask"> {
  readonly watch: RecordScope["watch"];
  readonly statusOf: StatusOf;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Every feature that there is. */
  readonly registry: readonly Feature[];
  /** The steps that are shown. Default: those of the registry. */
  readonly features?: readonly FeatureName[];
  /** Whether somebody works on them. */
  readonly leaders: StageLeaders;
  /** How old what is shown may be at most. */
  readonly contact: ServerContact;
  /** The controllers' flags: plans and times are made with them. */
  readonly flag: FlagReader;
  readonly viewer: "operator" | "page";
  readonly shown: Pick<Hello, "cluster" | "namespaces">;
  /** How viewers are checked; gets what there is to check them for. */
  readonly access: (shown: ShownObjects) => AccessCheck;
  /** Default: the files of this build. */
  readonly files?: StaticFiles;
}

/** What can be seen at all. */
export interface ShownObjects {
  /** `plural.group` of every kind. */
  readonly resources: () => readonly string[];
  /** Where there are objects of a kind. */
  readonly namespacesOf: (resource: string) => ReadonlySet<string>;
}

/** A running dashboard. */
export interface Dashboard extends AsyncDisposable {
  readonly url: string;
  readonly store: RecordStore;
}

/** Declares the watches and starts the server. Rejects with a `UsageError` if the address cannot be had. */
export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { clock, log, client, flag, registry } = options;
  const stop = new AbortController();
  const metrics = metricsOf(options.metrics, dashboardMetrics);
  const store = new RecordStore(randomBytes(9).toString("base64url"));
  store.onChange(() => metrics.keyturn_dashboard_records.set(store.size));
  const keeper = new RecordKeeper({ ...options, store, unserved: [] });
  for (const { name, records } of registry) if (options.features?.includes(name) ?? true) keeper.add(records.watch);
  const sources = (): typeof keeper.sources => keeper.sources;
  const shown: ShownObjects = {
    resources: () => [...new Set(sources().flatMap(({ resources }) => resources))],
    namespacesOf: (resource) => store.namespacesOf(resource),
  };
  keeper.addStages((touch) => stagesSource(touch, { ...options, registry, sources }));
  const details = new ObjectDetails({ client, clock, log, store, sources, registry, flag, signal: stop.signal });
  const server: DashboardServer = await startDashboardServer({
    ...options,
    files: options.files ?? (await readStaticFiles()),
    shown: { ...options.shown, stages: registry.map(stageLayout) },
    store,
    access: options.access(shown),
    detail: (object, asker) => details.of(object, asker),
    metrics,
  });
  const keeping = keeper.run(stop.signal);
  return {
    url: server.url,
    store,
    async [Symbol.asyncDispose]() {
      await server.close();
      stop.abort();
      await keeping;
    },
  };
}
