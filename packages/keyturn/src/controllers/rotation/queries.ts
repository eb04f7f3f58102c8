// The commands `keyturn plan` and `keyturn history`: a set as a person's own kubeconfig shows it.
import { readFile } from "node:fs/promises";
import {
  type Client,
  ConfigMap,
  defineKind,
  formatDuration,
  isApiError,
  keyOfObject,
  type Kind,
  type KubeObject,
  type ObjectKey,
  resourceOf,
  Secret,
  type Stored,
} from "@keyturn/runtime";
import type { Query, Report } from "../../feature/feature.ts";
import { UsageError } from "../../feature/flag.ts";
import type { MaintenanceWindows } from "../../feature/maintenance-window.ts";
import { selectsAll } from "../../feature/pause-and-selection.ts";
import { renderAge, renderRows, renderTable } from "../../text.ts";
import { keepPublisher } from "../../key-publication.ts";
import { keepAnnotations, type RotationAnnotations, targetKeeper, type TargetSettings } from "./annotations.ts";
import { RotationTarget } from "./api.ts";
import { forecast, type ForecastStep, outlookOf } from "./forecast.ts";
import { contentOfRecord } from "./history.ts";
import { createReadMemory, type Observed, observeSet, type RecordObservation, type SetObservation, type TargetObservation } from "./observe.ts";
import type { RotationPlan } from "./plan.ts";
import { ranksOf } from "./shape.ts";
import { sourceKinds } from "./source.ts";
import { type DeclaredTarget, declaredTargets, differenceOf, withDeclared } from "./what-if.ts";
import { annotationIndexes, JWKSConfig, type Looked, type RotationWatches, setKey, targetIndexes } from "./watches.ts";

/** What an observation depends on, but for kinds that only a set's history knows of. */
export const rotationKinds: readonly Kind[] = [RotationTarget, Secret, ConfigMap];

/** The names of the sets in a place, once for each of their targets. */
export async function rotationSets(client: Client, place: { readonly namespace?: string }, signal: AbortSignal): Promise<readonly string[]> {
  return (await client.list(RotationTarget, place, signal)).items.map(({ spec }) => spec.rotationSet);
}

/** Observes a set. Rejects with a `UsageError` that names the sets there are if this is none. */
export async function querySet({ client, namespace, nowMs, signal }: Query, set: string, maintenance?: MaintenanceWindows): Promise<Observed> {
  const targets = await list(client, RotationTarget, { namespace, signal, keep: targetKeeper(selectsAll), indexes: targetIndexes });
  const secrets = await list(client, Secret, { namespace, signal, keep: keepAnnotations, indexes: annotationIndexes });
  const key = setKey(namespace, set);
  const kinds = sourceKinds(await recordedKinds(client, { secrets, key, namespace, signal }));
  const objects = new Map<string, Looked<RotationAnnotations>>([[resourceOf(Secret), secrets]]);
  for (const kind of kinds) {
    if (!objects.has(resourceOf(kind)))
      objects.set(resourceOf(kind), await list(client, kind, { namespace, signal, keep: keepAnnotations, indexes: annotationIndexes }));
  }
  const observed = await observeSet(key, {
    watches: {
      targets,
      objects,
      publishers: await publishersOf(client, { targets, namespace, signal }),
      isWatched: (resource) => objects.has(resource),
    },
    kinds,
    memory: createReadMemory(),
    ...(maintenance && { maintenance }),
    nowMs,
    run: { client, signal },
  });
  if (observed) return observed;
  const sets = [...new Set([...targets.entries()].map(([, target]) => target?.set ?? ""))].filter((other) => other !== "").toSorted();
  throw new UsageError(
    `there is no RotationTarget of set ${set} in namespace ${namespace}; ${sets.length > 0 ? `its sets are ${sets.join(", ")}` : "it has no sets"}`,
  );
}

/** A report of every set of this name, one namespace after the other. Rejects with a `UsageError` that names the sets there are if there is none. */
export async function reportEverywhere(query: Query, set: string, report: (query: Query) => Promise<Report>): Promise<Report> {
  const { items } = await query.client.list(RotationTarget, {}, query.signal);
  const places = items.filter(({ spec }) => spec.rotationSet === set).map(({ metadata }) => metadata.namespace ?? "");
  const sets = new Set(items.map(({ spec }) => spec.rotationSet));
  if (places.length === 0) {
    const others = sets.size > 0 ? `the sets are ${[...sets].toSorted().join(", ")}` : "there are no sets";
    throw new UsageError(`there is no RotationTarget of set ${set} in any namespace; ${others}`);
  }
  const reports: Report[] = [];
  for (const namespace of [...new Set(places)].toSorted()) reports.push(await report({ ...query, namespace }));
  return {
    text: reports.map(({ text }) => text).join("\n\n"),
    wide: reports.map(({ text, wide = text }) => wide).join("\n\n"),
    data: { items: reports.map(({ data }) => data) },
  };
}

/** The JWKSConfigs, if a target waits for one; undefined if they cannot be read. */
async function publishersOf(
  client: Client,
  { targets, ...place }: { readonly targets: Looked<TargetSettings | undefined>; readonly namespace: string; readonly signal: AbortSignal },
): Promise<RotationWatches["publishers"]> {
  if (![...targets.entries()].some(([, target]) => target?.publishBefore !== undefined)) return undefined;
  try {
    return await list(client, JWKSConfig, { ...place, keep: keepPublisher, indexes: {} });
  } catch (error) {
    if (isApiError(error, "Forbidden", "NotFound")) return undefined;
    throw error;
  }
}

/** A list that can be looked at like a cache. */
async function list<T extends KubeObject, V>(
  client: Client,
  kind: Kind<T>,
  options: {
    readonly namespace: string;
    readonly signal: AbortSignal;
    readonly keep: (object: Stored<T>) => V;
    readonly indexes: Readonly<Record<string, (value: V, key: ObjectKey) => readonly string[]>>;
  },
): Promise<Looked<V>> {
  const { items } = await client.list(kind, { namespace: options.namespace }, options.signal);
  const kept = new Map(items.map((object) => [keyOfObject(object), { value: options.keep(object), identity: object.metadata }] as const));
  return {
    get: (key) => kept.get(key)?.value,
    identity: (key) => kept.get(key)?.identity,
    byIndex: (index, value) => [...kept].flatMap(([key, entry]) => (options.indexes[index]?.(entry.value, key).includes(value) ? [key] : [])),
    entries: () => [...kept].map(([key, entry]) => [key, entry.value] as const),
  };
}

/** The kinds that the set's versions are of: only its history knows of others than Secrets and ConfigMaps. */
async function recordedKinds(
  client: Client,
  {
    secrets,
    key,
    namespace,
    signal,
  }: { readonly secrets: Looked<RotationAnnotations>; readonly key: ObjectKey; readonly namespace: string; readonly signal: AbortSignal },
): Promise<readonly Kind[]> {
  const kinds: Kind[] = [];
  for (const recordKey of secrets.byIndex("record", key)) {
    const name = { namespace, name: recordKey.slice(recordKey.indexOf("/") + 1) };
    const resource = secrets.get(recordKey)?.record?.resource ?? "";
    const record = resource.includes(".") ? await client.get(Secret, name, signal) : undefined;
    if (!record) continue;
    const { apiVersion, kind } = contentOfRecord(record, name);
    const [group = "", version = ""] = apiVersion.split("/");
    kinds.push(defineKind({ group, version, kind, plural: resource.slice(0, resource.indexOf(".")), namespaced: true }));
  }
  return kinds;
}

// `keyturn plan <set>`: what happens next and when, as a timeline. Never what the versions contain.

/** What happens to a set if nothing changes but the time. */
export async function rotationPlanReport(query: Query, set: string, maintenance?: MaintenanceWindows): Promise<Report> {
  return planReport((await querySet(query, set, maintenance)).observation, query);
}

function planReport(observation: SetObservation, query: Query): Report & { readonly data: object } {
  const { set } = observation;
  const { nowMs } = query;
  const { plan, steps } = forecast(observation, nowMs);
  const targets = ranksOf(observation.targets).flatMap(({ members }) => members);
  const held = new Map(targets.map((target) => [target.name, heldNow(target)]));
  return {
    text: [
      `set ${set} in namespace ${query.namespace}`,
      ...remarksOf(plan),
      "",
      timeline(targets, { held, steps, nowMs }),
      ...(steps.length === 0 ? ["", outlookOf(plan)] : []),
    ].join("\n"),
    data: {
      set,
      namespace: query.namespace,
      ...(plan.source && { source: { resource: plan.source.resource, name: plan.source.name } }),
      ...(plan.setBlocker && { setBlocker: plan.setBlocker }),
      targets: targets.map(({ name, order, delayMs }) => ({ name, order, delay: formatDuration(delayMs), version: held.get(name) ?? null })),
      steps: steps.map(({ atMs, target, seq }) => ({ at: new Date(atMs).toISOString(), target, version: seq ?? null })),
    },
  };
}

/** What would happen if these manifests were applied: for each set that they name. Rejects with a `UsageError` if they name none. */
export async function rotationWhatIfReport(
  query: Query,
  {
    files,
    prune,
    maintenance,
    set,
  }: { readonly files: readonly string[]; readonly prune: boolean; readonly maintenance: MaintenanceWindows; readonly set: string },
): Promise<Report> {
  const declared: DeclaredTarget[] = [];
  for (const file of files) declared.push(...declaredTargets(file, await readFile(file, "utf8")));
  const here = declared.filter(({ namespace = query.namespace, spec }) => namespace === query.namespace && (set === "" || spec.rotationSet === set));
  if (here.length === 0)
    throw new UsageError(`${files.join(", ")}: there is no RotationTarget of namespace ${query.namespace}${set === "" ? "" : ` and set ${set}`}`);
  const reports: Report[] = [];
  for (const [name, targets] of Map.groupBy(here, ({ spec }) => spec.rotationSet)) {
    const { observation } = await querySet(query, name, maintenance);
    const after = withDeclared(observation, targets, prune);
    const { changes, dangers } = differenceOf(observation, after, query.nowMs);
    const { text, data } = planReport(after, query);
    const words = [...(changes.length > 0 ? changes : ["nothing is changed"]), ...dangers.map((danger) => `DANGER: ${danger}`)];
    reports.push({ text: [`if applied: ${words.join("\n            ")}`, text].join("\n"), data: { changes, dangers, ...data } });
  }
  return { text: reports.map(({ text }) => text).join("\n\n"), data: { items: reports.map(({ data }) => data) } };
}

/** The version that the target's object says it has. */
function heldNow({ objects }: TargetObservation): number | undefined {
  const seqs = objects.flatMap(({ ours, applied }) => (ours && applied ? [applied.seq] : []));
  return seqs.length > 0 ? Math.max(...seqs) : undefined;
}

function remarksOf({ source, setBlocker, targets, settlesAtMs, unstableSinceMs, policyConflict }: RotationPlan): readonly string[] {
  const blocked = [...targets].flatMap(([name, { blocker, unpublished }]) => {
    const waits = unpublished && `version ${unpublished.seq} waits: ${unpublished.message}`;
    return [blocker?.message, waits].flatMap((message) => (message === undefined ? [] : [`${name}: ${message}`]));
  });
  return [
    source ? `source: ${source.resource}/${source.name}` : "source: none",
    ...(setBlocker ? [`nothing moves: ${setBlocker.reason === "NoSource" ? "there is no source" : setBlocker.message}`] : []),
    ...(settlesAtMs === undefined ? [] : [`the set has been changed; nothing moves until ${timeInWords(settlesAtMs)}`]),
    ...(unstableSinceMs === undefined ? [] : ["the source changes more often than the first target's delay lets it settle"]),
    ...(policyConflict ? ["the targets differ in changePolicy; Settled is used for all"] : []),
    ...blocked,
  ];
}

/** One row per moment: who changes, and what everybody else holds then. */
function timeline(
  targets: readonly TargetObservation[],
  { held, steps, nowMs }: { readonly held: ReadonlyMap<string, number | undefined>; readonly steps: readonly ForecastStep[]; readonly nowMs: number },
): string {
  const header = ["TIME", "IN", ...targets.map(({ name, order, delayMs }) => `${name} (${order}, ${formatDuration(delayMs)})`)];
  const state = new Map(held);
  const row = (time: string, after: string, changed: ReadonlySet<string>): readonly string[] => [
    time,
    after,
    ...targets.map(({ name }) => `${changed.has(name) ? "→ " : "  "}${versionInWords(state.get(name))}`),
  ];
  const rows = [row("now", "", new Set())];
  for (const [atMs, together] of Map.groupBy(steps, (step) => step.atMs)) {
    for (const { target, seq } of together) state.set(target, seq);
    rows.push(
      row(
        timeInWords(atMs),
        atMs <= nowMs ? "at once" : formatDuration(Math.ceil((atMs - nowMs) / 1000) * 1000),
        new Set(together.map(({ target }) => target)),
      ),
    );
  }
  return renderRows([header, ...rows]);
}

function versionInWords(seq: number | undefined): string {
  return seq === undefined ? "-" : `v${seq}`;
}

function timeInWords(timeMs: number): string {
  return new Date(timeMs).toISOString().replace("T", " ").slice(0, 19);
}

// `keyturn history <set>`: the versions, when each was seen, and where it is now. Never what they contain.

/** One version, for people and for programs. */
interface VersionFacts {
  readonly version: number;
  readonly seenAt: string;
  readonly resource: string;
  readonly digest: string;
  /** The source is this version. */
  readonly isSource: boolean;
  /** Targets that hold it. */
  readonly targets: readonly string[];
  /** When each target, also one that has moved on, got it. */
  readonly appliedAt: Readonly<Record<string, string>>;
}

/** Enough of a digest to distinguish versions. */
const shownDigits = 12;

/** The history of a set among others. */
export async function headedHistory(query: Query, set: string): Promise<Report> {
  const { text, wide, data } = await rotationHistoryReport(query, set);
  const title = `set ${set} in namespace ${query.namespace}`;
  return { text: `${title}\n${text}`, wide: `${title}\n${wide}`, data };
}

/** The history of a set, the newest version first. */
export async function rotationHistoryReport(query: Query, set: string): Promise<Report & { readonly wide: string }> {
  const { observation } = await querySet(query, set);
  const versions = observation.records.toSorted((a, b) => b.seq - a.seq).map((record) => factsOf(record, observation));
  const tableWith = (digits: number): string => {
    const rows = versions.map(({ version, seenAt, digest, isSource, targets }) => [
      `v${version}`,
      renderAge(Date.parse(seenAt), query.nowMs),
      seenAt,
      digest.slice(0, digits),
      [...(isSource ? ["source"] : []), ...targets].join(", ") || "-",
    ]);
    return versions.length > 0 ? renderTable(["version", "age", "seen", "digest", "where"], rows) : "no version has been seen yet";
  };
  return { text: tableWith(shownDigits), wide: tableWith(Number.POSITIVE_INFINITY), data: { set, namespace: query.namespace, versions } };
}

function factsOf({ seq, seenAtMs, resource, digest, watchDigest }: RecordObservation, { sources, targets, records }: SetObservation): VersionFacts {
  const newest = Math.max(...records.map((record) => record.seq));
  const content = sources.length === 1 ? sources[0]?.content : undefined;
  const commits = records.find((record) => record.seq === newest)?.log?.commits ?? [];
  const at = commits.find((commit) => commit.seq === seq)?.at ?? {};
  return {
    version: seq,
    seenAt: new Date(seenAtMs).toISOString(),
    resource,
    digest,
    isSource: seq === newest && content?.ok === true && content.watchDigest === watchDigest,
    targets: targets.filter(({ objects }) => objects.some(({ ours, applied }) => ours && applied?.seq === seq)).map(({ name }) => name),
    appliedAt: Object.fromEntries(Object.entries(at).map(([name, atMs]) => [name, new Date(atMs).toISOString()])),
  };
}
