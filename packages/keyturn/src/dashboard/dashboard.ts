// The whole dashboard: sources, records, access and server, put together.
import { randomBytes } from "node:crypto";
import type { Hello } from "@keyturn/dashboard/contract";
import { type Client, type Clock, type ControllerScope, type Logger, type Metrics, metricsOf, type Selection } from "@keyturn/runtime";
import { IngressCheckSum, SecretCheckSum } from "../controllers/checksum/api.ts";
import { checksumFlags, memberFlags } from "../controllers/checksum/flags.ts";
import { eventingAuthFlags } from "../controllers/eventing-auth/flags.ts";
import type { FeatureName, FlagReader } from "../controllers/feature.ts";
import { rotationFlags } from "../controllers/rotation/flags.ts";
import { sourceKinds } from "../controllers/rotation/source-kinds.ts";
import { sidecarsFlags } from "../controllers/sidecars/flags.ts";
import type { SidecarsSight } from "../controllers/sidecars/sight.ts";
import type { AccessCheck } from "./access-check.ts";
import { ObjectDetails } from "./details/object-detail.ts";
import { dashboardMetrics } from "./metrics.ts";
import { RecordKeeper } from "./record-keeper.ts";
import type { SourceSetup, StatusOf } from "./record-source.ts";
import { RecordStore } from "./record-store.ts";
import { type DashboardServer, type DashboardServerOptions, startDashboardServer } from "./server.ts";
import { checksumSource, type ChecksumSourceOptions } from "./sources/checksum.ts";
import { issuedSource } from "./sources/issued.ts";
import { jwksSource } from "./sources/jwks.ts";
import { rotationSource } from "./sources/rotation.ts";
import { sidecarsSource } from "./sources/sidecars.ts";
import { stepsSource } from "./sources/steps.ts";
import { readStaticFiles, type StaticFiles } from "./static-files.ts";
import type { StepLeaders } from "./step-leaders.ts";

/** What a dashboard is made with. */
export interface DashboardOptions extends Pick<DashboardServerOptions, "bindAddress" | "version" | "rates" | "streamTimes" | "mostStreams"> {
  readonly watch: ControllerScope["watch"];
  readonly statusOf: StatusOf;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** The steps that are shown. */
  readonly features: readonly FeatureName[];
  /** Whether somebody works on them. */
  readonly leaders: StepLeaders;
  /** The controllers' flags: plans and times are made with them. */
  readonly flag: FlagReader;
  /** Through whose eyes workloads are looked at; undefined to leave them out. */
  readonly sidecars: SidecarsSight | undefined;
  /** Which objects may be kept for rotation targets, see `RotationSourceOptions`. */
  readonly rotationObjects: Pick<Selection, "labels">;
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
  const { clock, log, watch, client, flag } = options;
  const stop = new AbortController();
  const metrics = metricsOf(options.metrics, dashboardMetrics);
  const store = new RecordStore(randomBytes(9).toString("base64url"));
  store.onChange(() => metrics.keyturn_dashboard_records.set(store.size));
  const keeper = new RecordKeeper({ store, clock, log, watch });
  for (const setUp of sourcesOf(options)) keeper.add(setUp);
  const sources = (): typeof keeper.sources => keeper.sources;
  const shown: ShownObjects = {
    resources: () => [...new Set(sources().flatMap(({ resources }) => resources))],
    namespacesOf: (resource) => store.namespacesOf(resource),
  };
  keeper.addSteps((touch) => stepsSource(touch, { sources, statusOf: options.statusOf, leaders: options.leaders }));
  const secrets = {
    rules: { versionAnnotations: flag(memberFlags.versionAnnotations) },
    labels: flag(memberFlags.secretSelector),
    types: flag(memberFlags.secretTypes),
  };
  const details = new ObjectDetails({ client, clock, log, store, sources, secrets, signal: stop.signal });
  const server: DashboardServer = await startDashboardServer({
    ...options,
    files: options.files ?? (await readStaticFiles()),
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

function sourcesOf({ features, flag, sidecars, rotationObjects }: DashboardOptions): readonly SourceSetup[] {
  const setups: Readonly<Record<FeatureName, SourceSetup | undefined>> = {
    "eventing-auth": (scope) => issuedSource(scope, { rotateAfterMs: flag(eventingAuthFlags.rotateAfter) }),
    rotation: (scope) => rotationSource(scope, { kinds: sourceKinds(flag(rotationFlags.kinds)), objects: rotationObjects }),
    jwks: jwksSource,
    checksum: (scope) => checksumSource(scope, checksumPlaces(flag)),
    sidecars: sidecars && ((scope) => sidecarsSource(scope, { sight: sidecars, argoRollouts: flag(sidecarsFlags.argoRollouts) })),
  };
  return features.flatMap((name) => setups[name] ?? []);
}

/** Where the controller publishes, and of what: elsewhere the operator may have no right to look. */
function checksumPlaces(flag: FlagReader): ChecksumSourceOptions {
  const kinds = { secrets: SecretCheckSum, ingresses: IngressCheckSum };
  const names = flag(checksumFlags.namespaces);
  return {
    kinds: flag(checksumFlags.kinds).map((kind) => kinds[kind]),
    places: names.length > 0 ? names.map((namespace) => ({ namespace })) : [{}],
  };
}
