// A release's record, put into a cluster as that release left it: contents, status, owners, and who wrote which field.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Client } from "@keyturn/runtime";
import { parseAllDocuments } from "yaml";
import * as z from "zod";
import { type RecordedResource, recordedResources } from "./recorded-resources.ts";

const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string(),
    uid: z.string(),
    managedFields: z.array(z.unknown()),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
  status: z.unknown().optional(),
});

/** An object of a record, or as it is now in a cluster. */
export type RecordedObject = z.infer<typeof objectSchema>;

/** The text of a file of a release's record. */
export async function recordedFile(version: string, file: "crds.yaml" | "objects.yaml"): Promise<string> {
  return readFile(fileURLToPath(new URL(`${version}/${file}`, import.meta.url)), "utf8");
}

/** The objects of a release's record, owners first. */
export async function recordedObjects(version: string): Promise<readonly RecordedObject[]> {
  const documents = parseAllDocuments(await recordedFile(version, "objects.yaml"));
  return documents.map((document) => objectSchema.parse(document.toJS()));
}

/** Whether Keyturn serves the object's kind, and writes its status. */
export function isOurs(object: RecordedObject): boolean {
  return resourceOf(object).ours;
}

function resourceOf({ apiVersion, kind, metadata }: RecordedObject): RecordedResource {
  const resource = recordedResources.find((each) => each.apiVersion === apiVersion && each.kind === kind);
  if (!resource) throw new Error(`restoring ${kind} ${metadata.name}: ${apiVersion} is not among the recorded resources`);
  return resource;
}

function pathOf(object: RecordedObject): string {
  return `${resourceOf(object).path(object.metadata.namespace)}/${object.metadata.name}`;
}

/** Puts the objects into the cluster, whose CRDs and namespaces are there. */
export async function restore(client: Client, objects: readonly RecordedObject[]): Promise<void> {
  /** A restored object has another uid; who refers to the old one must refer to the new one. */
  const uids = new Map<string, string>();
  for (const recorded of objects) {
    const text = JSON.stringify(recorded).replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (uid) => uids.get(uid) ?? uid);
    const object = objectSchema.parse(JSON.parse(text));
    const { uid, resourceVersion: _, managedFields, ...metadata } = object.metadata;
    const path = pathOf(object);
    const send = async (method: "POST" | "PATCH", to: string, body: object): Promise<RecordedObject> => {
      const type = method === "POST" ? "application/json" : "application/merge-patch+json";
      return objectSchema.parse(
        await client.request({ method, path: `${to}?fieldManager=record`, headers: { "content-type": type }, body: JSON.stringify(body) }),
      );
    };
    const made = await send("POST", path.slice(0, path.lastIndexOf("/")), { ...object, metadata });
    uids.set(uid, made.metadata.uid);
    if (isOurs(object)) await send("PATCH", `${path}/status`, { status: object.status });
    // Last, because every write before adds itself to them.
    await send("PATCH", path, { metadata: { managedFields } });
  }
}

/** An object as it is now. */
export async function readObject(client: Client, object: RecordedObject): Promise<RecordedObject> {
  return objectSchema.parse(await client.request({ method: "GET", path: pathOf(object) }));
}
