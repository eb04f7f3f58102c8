// Applies manifests as the administrator: YAML or objects of any kind the server knows, found through discovery.
import { setTimeout as delay } from "node:timers/promises";
import { parseAllDocuments } from "yaml";
import * as z from "zod";
import { isApiError } from "../../client/api-error.ts";
import type { Client } from "../../client/client.ts";
import { apiVersionOf, collectionPath, type Kind, type KubeObject, objectPath, type Stored } from "../../client/kind.ts";
import { systemClock } from "../../clock.ts";

/** Manifests to apply: YAML of one or more documents, or objects. `List`s are taken apart. */
export type Manifests = string | KubeObject | readonly KubeObject[];

const fieldManager = "keyturn-testing";
/** How long a kind may take to appear after its CRD was applied. */
const discoveryTimeoutMs = 10_000;
const pollMs = 25;

/** Applies the objects in order, taking over fields of other managers; a CRD is waited for until it is served. Resolves to what the server stored. */
export async function applyManifests(client: Client, manifests: Manifests): Promise<readonly Stored<KubeObject>[]> {
  const applied: Stored<KubeObject>[] = [];
  for (const object of objectsOf(manifests)) {
    const kind = await discover(client, object);
    const { name, namespace = "default" } = object.metadata;
    if (!name) throw new Error(`applying a ${object.kind}: it has no metadata.name`);
    const placed = kind.namespaced ? { ...object, metadata: { ...object.metadata, namespace } } : object;
    applied.push(await client.apply(kind, placed, { fieldManager, force: true }));
    if (object.kind === "CustomResourceDefinition") await served(client, objectPath(kind, { name }));
  }
  return applied;
}

const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string().optional(), namespace: z.string().optional() }),
});
const listSchema = z.looseObject({ kind: z.string().endsWith("List"), items: z.array(z.unknown()) });

function objectsOf(manifests: Manifests): (KubeObject & z.infer<typeof objectSchema>)[] {
  if (typeof manifests === "string") return parseAllDocuments(manifests).flatMap(documentObjects);
  return [manifests].flat().flatMap(flatten);
}

function documentObjects(document: ReturnType<typeof parseAllDocuments>[number]): (KubeObject & z.infer<typeof objectSchema>)[] {
  const [error] = document.errors;
  if (error) throw new Error(`reading manifests: ${error.message}`, { cause: error });
  const value: unknown = document.toJS();
  return value === null ? [] : flatten(value);
}

function flatten(value: unknown): (KubeObject & z.infer<typeof objectSchema>)[] {
  const list = listSchema.safeParse(value);
  return list.success ? list.data.items.flatMap(flatten) : [objectSchema.parse(value) as KubeObject & z.infer<typeof objectSchema>];
}

const resourceListSchema = z.object({ resources: z.array(z.object({ name: z.string(), kind: z.string(), namespaced: z.boolean() })) });

async function discover(client: Client, object: z.infer<typeof objectSchema>): Promise<Kind> {
  const { apiVersion, kind } = object;
  const [version = "", group = ""] = apiVersion.split("/").toReversed();
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const deadlineMs = systemClock.monotonic() + discoveryTimeoutMs;
  for (;;) {
    const resources = await resourcesAt(client, path);
    const found = resources.find((resource) => resource.kind === kind && !resource.name.includes("/"));
    if (found) return { group, version, kind, plural: found.name, namespaced: found.namespaced };
    if (systemClock.monotonic() > deadlineMs)
      throw new Error(`applying a ${kind} of ${apiVersion}: the server does not know it; apply its CRD first`);
    await delay(pollMs);
  }
}

async function resourcesAt(client: Client, path: string): Promise<z.infer<typeof resourceListSchema>["resources"]> {
  try {
    return resourceListSchema.parse(await client.request({ method: "GET", path })).resources;
  } catch (error) {
    if (isApiError(error, "NotFound")) return [];
    throw error;
  }
}

const conditionSchema = z.object({ type: z.string(), status: z.string() });
const definitionSchema = z.object({
  spec: z.object({
    group: z.string(),
    names: z.object({ kind: z.string(), plural: z.string() }),
    scope: z.string(),
    versions: z.array(z.object({ name: z.string(), served: z.boolean() })),
  }),
  /** The server writes `null` where a CRD has no conditions yet. */
  status: z.object({ conditions: z.array(conditionSchema).nullish() }).optional(),
});

/** The API server says that a CRD is established a moment before it serves the kind, and discovery shows it another moment later. */
async function served(client: Client, path: string): Promise<void> {
  for (;;) {
    const { spec, status } = definitionSchema.parse(await client.request({ method: "GET", path }));
    if (status?.conditions?.some(({ type, status }) => type === "Established" && status === "True")) {
      const { group, names, scope, versions } = spec;
      const { kind, plural } = names;
      for (const { name: version, served: isServed } of versions)
        if (isServed) await answered(client, { group, version, kind, plural, namespaced: scope !== "Cluster" });
      return;
    }
    await delay(pollMs);
  }
}

async function answered(client: Client, kind: Kind): Promise<void> {
  for (;;) {
    const isListed = (await resourcesAt(client, `/apis/${apiVersionOf(kind)}`)).some(({ name }) => name === kind.plural);
    if (isListed && (await client.request({ method: "GET", path: `${collectionPath(kind)}?limit=1` }).catch(notServed))) return;
    await delay(pollMs);
  }
}

function notServed(error: unknown): undefined {
  if (!isApiError(error, "NotFound")) throw error;
}
