// A set as a person's own kubeconfig shows it: the same observation that the controller makes, from lists instead of watches.
import {
  type Client,
  ConfigMap,
  defineKind,
  type Kind,
  keyOfObject,
  type KubeObject,
  type ObjectKey,
  resourceOf,
  Secret,
  type Stored,
} from "@keyturn/runtime";
import { UsageError } from "../../flags/flag.ts";
import { selectsAll } from "../attention.ts";
import type { MaintenanceWindows } from "../maintenance-window.ts";
import type { Query, Report } from "../report.ts";
import { RotationTarget } from "./api.ts";
import { keepMarks, type Marks } from "./marks.ts";
import { createReadMemory, type Observed, observeSet } from "./observe.ts";
import { sourceKinds } from "./source-kinds.ts";
import { targetKeeper } from "./target-settings.ts";
import { contentOfRecord } from "./version-record.ts";
import { type Looked, markIndexes, setKey, targetIndexes } from "./watches.ts";

/** What an observation depends on, but for kinds that only a set's history knows of. */
export const rotationKinds: readonly Kind[] = [RotationTarget, Secret, ConfigMap];

/** Observes a set. Rejects with a `UsageError` that names the sets there are if this is none. */
export async function querySet({ client, namespace, nowMs, signal }: Query, set: string, maintenance?: MaintenanceWindows): Promise<Observed> {
  const targets = await list(client, RotationTarget, { namespace, signal, keep: targetKeeper(selectsAll), indexes: targetIndexes });
  const secrets = await list(client, Secret, { namespace, signal, keep: keepMarks, indexes: markIndexes });
  const key = setKey(namespace, set);
  const kinds = sourceKinds(await recordedKinds(client, { secrets, key, namespace, signal }));
  const objects = new Map<string, Looked<Marks>>([[resourceOf(Secret), secrets]]);
  for (const kind of kinds) {
    if (!objects.has(resourceOf(kind)))
      objects.set(resourceOf(kind), await list(client, kind, { namespace, signal, keep: keepMarks, indexes: markIndexes }));
  }
  const observed = await observeSet(key, {
    watches: { targets, objects },
    kinds,
    memory: createReadMemory(),
    client,
    serverAheadMs: undefined,
    ...(maintenance && { maintenance }),
    nowMs,
    signal,
  });
  if (observed) return observed;
  const sets = [...new Set(targets.values().map((target) => target?.set ?? ""))].filter((other) => other !== "").toSorted();
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
  return { text: reports.map(({ text }) => text).join("\n\n"), data: { items: reports.map(({ data }) => data) } };
}

/** A list that can be looked at like a cache. */
interface Listed<V> extends Looked<V> {
  values(): readonly V[];
}

async function list<T extends KubeObject, V>(
  client: Client,
  kind: Kind<T>,
  options: {
    readonly namespace: string;
    readonly signal: AbortSignal;
    readonly keep: (object: Stored<T>) => V;
    readonly indexes: Readonly<Record<string, (value: V, key: ObjectKey) => readonly string[]>>;
  },
): Promise<Listed<V>> {
  const { items } = await client.list(kind, { namespace: options.namespace }, options.signal);
  const kept = new Map(items.map((object) => [keyOfObject(object), { value: options.keep(object), identity: object.metadata }] as const));
  return {
    get: (key) => kept.get(key)?.value,
    identity: (key) => kept.get(key)?.identity,
    byIndex: (index, value) => [...kept].flatMap(([key, entry]) => (options.indexes[index]?.(entry.value, key).includes(value) ? [key] : [])),
    values: () => [...kept.values()].map((entry) => entry.value),
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
  }: { readonly secrets: Listed<Marks>; readonly key: ObjectKey; readonly namespace: string; readonly signal: AbortSignal },
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
