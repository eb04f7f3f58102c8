// What there is in a cluster that Keyturn serves or keeps: a live list for `keyturn dev`.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Cache,
  type Condition,
  ConfigMap,
  type createCaches,
  Deployment,
  findCondition,
  type Kind,
  type KubeObject,
  managedBySelector,
  nameOf,
  Secret,
  Service,
  StatefulSet,
} from "@keyturn/runtime";
import { type Feature, keyturn } from "../feature/feature.ts";
import { UsageError } from "../feature/flag.ts";
import { renderAge, renderTable } from "../text.ts";

/** One object of the list. */
export interface InventoryRow {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** `True`, `False`, `Unknown`, or `-` for objects that have no such condition. */
  readonly ready: string;
  /** The reason beside it, or what else is worth knowing. */
  readonly detail: string;
  readonly createdMs: number;
}

interface Summary {
  readonly ready: string;
  readonly detail: string;
  readonly createdMs: number;
}

interface Conditioned extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** Keeps of an object only what a row shows; in particular no Secret's content. */
function summarise(object: Conditioned & { readonly type?: string }): Summary {
  const condition = findCondition(object.status?.conditions, "Ready") ?? findCondition(object.status?.conditions, "Available");
  return {
    ready: condition?.status ?? "-",
    detail: condition?.reason ?? object.type ?? "",
    createdMs: Date.parse(object.metadata.creationTimestamp ?? ""),
  };
}

/** The list as a table. */
export function renderInventory(rows: readonly InventoryRow[], nowMs: number): string {
  if (rows.length === 0) return "nothing is managed yet";
  const cells = rows.map((row) => [row.kind, row.namespace, row.name, row.ready, row.detail, renderAge(row.createdMs, nowMs)]);
  return renderTable(["kind", "namespace", "name", "ready", "detail", "age"], cells);
}

/** Watches everything that the features serve, what they keep, and the workloads and Secrets of the given namespaces. */
export function watchInventory(options: {
  readonly caches: ReturnType<typeof createCaches>;
  readonly features: readonly Feature[];
  readonly namespaces: readonly string[];
}): { rows(): readonly InventoryRow[]; readonly caches: readonly Cache<Summary>[] } {
  const served: readonly Kind[] = options.features.flatMap((feature) => feature.kinds);
  const kept: readonly Kind[] = [ConfigMap, Service];
  const seen: readonly Kind[] = [Deployment, StatefulSet, Secret];
  const caches = [
    ...served.map((kind) => options.caches.watch<KubeObject, Summary>(kind, { keep: summarise })),
    ...kept.map((kind) => options.caches.watch<KubeObject, Summary>(kind, { keep: summarise, labels: managedBySelector(keyturn) })),
    ...options.namespaces.flatMap((namespace) => seen.map((kind) => options.caches.watch<KubeObject, Summary>(kind, { keep: summarise, namespace }))),
  ];
  return { caches, rows: () => caches.flatMap(rowsOf) };
}

function rowsOf(cache: Cache<Summary>): readonly InventoryRow[] {
  return Array.from(cache.entries(), ([key, summary]) => {
    const { namespace = "", name } = nameOf(key);
    return { kind: cache.kind.kind, namespace, name, ...summary };
  }).sort((left, right) => (`${left.namespace}/${left.name}` < `${right.namespace}/${right.name}` ? -1 : 1));
}

// Files of the checkout that `keyturn dev` shows: it is a command for people who have one.

/** Where the examples are in a checkout. */
export const examplesFolder: string = fileURLToPath(new URL("../../../../examples", import.meta.url));

/** Every manifest below a folder, in the order of their names. */
export async function readManifests(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder, { recursive: true }).catch((error: unknown) => {
    throw new UsageError(`there are no examples in ${folder}: run keyturn dev from a checkout, or name a folder with --examples`, { cause: error });
  });
  const manifests = names.filter((name) => name.endsWith(".yaml")).sort();
  return Promise.all(manifests.map((name) => readFile(join(folder, name), "utf8")));
}
