// `keyturn plan sidecars`: what would be restarted now, what waits for what, and what nobody restarts; from the operator's own plan.
import {
  type Cache,
  type Client,
  isApiError,
  type Kind,
  type KubeObject,
  type MetadataWatchOptions,
  Pod,
  systemClock,
  type WatchOptions,
} from "@keyturn/runtime";
import { Semaphore } from "../../semaphore.ts";
import { renderTable } from "../../text.ts";
import type { Query, Report } from "../../feature/feature.ts";
import { servesRollouts, watchRollouts } from "./workload.ts";
import { type Decision, lastOf, planRollouts, type Row, workloadId } from "./rollout-plan.ts";
import { Expectations } from "./expectations.ts";
import type { Expectation } from "./injection/expectation.ts";
import { draftPod, type PodSource } from "./injection/pod-draft.ts";
import { invalidImageIn, sidecarOf } from "./injection/sidecar.ts";
import { InjectorConfiguration } from "./injector-configuration.ts";
import { idsIn, Inspector } from "./inspect.ts";
import { ListedCache } from "./listed-cache.ts";
import { skipInWords } from "./rollouts.ts";
import type { SidecarsOptions } from "./controller.ts";
import { skippedFields, watchSidecars } from "./watches.ts";

/** What to plan for. */
interface PlanReportOptions {
  /** As the operator's flags say. */
  readonly options: SidecarsOptions;
  /** Plans for every namespace, not only for the query's. */
  readonly allNamespaces: boolean;
}

/** The API server has others to serve, too. */
const questionsAtATime = 16;

/**
 * The plan as it stands. What a new pod would get is asked of the API server itself, by creating one without storing it, so that this works from
 * outside the cluster too; who asks needs the right to create pods.
 */
export async function sidecarsPlanReport(query: Query, { options, allNamespaces }: PlanReportOptions): Promise<Report> {
  const { client, signal, nowMs } = query;
  const { compareHub, whole, limits, selects } = options;
  const namespace = allNamespaces ? undefined : query.namespace;
  const lists: Pick<ListedCache<KubeObject, unknown>, "fill">[] = [];
  function watch<V>(kind: Kind, wanted: MetadataWatchOptions<V>): Cache<V>;
  function watch<T extends KubeObject, V>(kind: Kind<T>, wanted?: WatchOptions<T, V>): Cache<V>;
  function watch<T extends KubeObject, V>(kind: Kind<T>, wanted: WatchOptions<T, V> = {}): Cache<V> {
    const cache = new ListedCache(kind, wanted);
    lists.push(cache);
    return cache;
  }
  const scope = { watch };
  const watches = watchSidecars(scope, { ...options, istioNamespaces: [] });
  if (options.argoRollouts && (await servesRollouts(client, signal))) {
    watchRollouts(scope, watches, { fields: skippedFields(options.skipNamespaces), selects, onChange: () => {} });
  }
  await Promise.all(lists.map((list) => list.fill(client, namespace, signal)));

  const expectations = new Expectations({ clock: systemClock, onAnswer: () => {} });
  const configuration = new InjectorConfiguration(watches.configuration, { clock: systemClock, stabilizeMs: 0 });
  const gate = new Semaphore(questionsAtATime);
  const expect = (source: PodSource): Promise<Expectation> => gate.run(() => expectedByApiServer(client, source, { whole, signal }));
  const inspector = new Inspector({
    clock: { now: () => nowMs },
    watches,
    configuration,
    expectations,
    expect,
    compareHub,
    whole,
    selects,
    namespaceStabilizesInMs: () => 0,
  });
  const ids = idsIn(watches, namespace);
  for (const id of ids) inspector.inspect(id);
  await expectations.answered();
  const candidates = ids.flatMap((id) => {
    const { candidate } = inspector.inspect(id);
    return candidate ? [{ ...candidate, retryAtMs: undefined }] : [];
  });
  const workloads = Array.from(watches.workloads.values()).flatMap((cache) => Array.from(cache.entries(), ([, workload]) => workload));
  const rolling = new Map(
    workloads.filter(({ restarting }) => restarting).map((workload) => [workloadId(workload.ref), inspector.restartedAtMs(workload)] as const),
  );
  const lastRestartMs = lastOf(
    workloads.map((workload) => inspector.restartedAtMs(workload)),
    nowMs,
  );
  const { rows } = planRollouts({ candidates, rolling, lastRestartMs }, limits, nowMs);
  return { text: textOf(rows), data: { workloads: rows.map(dataOf) } };
}

/** What the API server would make of a new pod, all its webhooks included. */
export async function expectedByApiServer(
  client: Client,
  source: PodSource,
  { whole, signal }: { readonly whole: boolean; readonly signal: AbortSignal },
): Promise<Expectation> {
  try {
    const draft = draftPod(source);
    const { name, ...metadata } = draft.metadata;
    // A name of its own: a pod of a StatefulSet has one that is taken.
    const pod = await client.create(
      Pod,
      { ...draft, metadata: name === undefined ? metadata : { ...metadata, generateName: `${name}-` } },
      { dryRun: true },
      signal,
    );
    return { type: "known", sidecar: sidecarOf(pod, { whole }), invalidImage: invalidImageIn(pod, draft), webhooks: [] };
  } catch (error) {
    signal.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    return { type: isApiError(error, "Forbidden") || isApiError(error, "Invalid") ? "refused" : "failed", webhook: "of the API server", message };
  }
}

function textOf(rows: readonly Row[]): string {
  if (rows.length === 0) return "every pod has the sidecar that a new one would get";
  return renderTable(
    ["namespace", "workload", "decision", "why"],
    rows.map(({ ref, decision, why }) => [ref.namespace, `${ref.kind.toLowerCase()}/${ref.name}`, inWords(decision), why]),
  );
}

function inWords(decision: Decision): string {
  switch (decision.type) {
    case "restart":
      return "restart";
    case "rolling":
      return decision.stuck ? "rolling, stuck" : "rolling";
    case "finish":
      return "rolled out";
    case "wait":
      return `wait: ${decision.reason}${untilInWords(decision.untilMs)}`;
    case "skip":
      return `leave${untilInWords(decision.untilMs)}: ${skipInWords(decision.reason)}`;
    case "unknown":
    default:
      return `unknown: ${decision.reason}`;
  }
}

function untilInWords(untilMs: number | undefined): string {
  return untilMs === undefined ? "" : ` until ${new Date(untilMs).toISOString()}`;
}

function dataOf({ ref, decision, outdated, why }: Row): object {
  const until = "untilMs" in decision && decision.untilMs !== undefined ? { until: new Date(decision.untilMs).toISOString() } : {};
  return {
    ...ref,
    decision: decision.type,
    ...("reason" in decision && { reason: decision.reason }),
    ...until,
    ...(outdated && { outdated }),
    ...(why !== "" && { why }),
  };
}
