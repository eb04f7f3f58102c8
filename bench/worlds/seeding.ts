// How worlds are filled and emptied: many small requests at a time, objects of the product's kinds, and the sources of rotation sets, which one of our programs changes too.
import { apiVersionOf, type Client, collectionPath, type Kind, Secret } from "@keyturn/runtime";
import { rotationSetAnnotation, sourceAnnotation } from "../../packages/keyturn/src/controllers/rotation/api.ts";

/** As many as a controller has workers by default. */
const workers = 16;

/** Runs `work` for every index below `count`, 16 at a time. */
export async function forEachIndex(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: workers }, worker));
}

/** An object of a kind of the product, without status and with no more of the spec than is said. */
interface CustomObject {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Creates it, as a user's manifest has it. */
export async function createCustom(client: Client, { kind, namespace, name, spec }: CustomObject): Promise<void> {
  await client.request({
    method: "POST",
    path: collectionPath(kind, namespace),
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { namespace, name }, spec }),
  });
}

/** Deletes every object of these kinds in the namespace: more objects make the next run slower, and the API server looks for a free address among all Services. */
export async function clearNamespace(client: Client, namespace: string, kinds: readonly Kind[]): Promise<void> {
  // The API server deletes a collection one by one; different ones it deletes side by side.
  await Promise.all(kinds.map((kind) => client.request({ method: "DELETE", path: collectionPath(kind, namespace), timeoutMs: 300_000 })));
}

/** The name of a rotation set. */
export function setName(index: number): string {
  return `set-${String(index).padStart(4, "0")}`;
}

/** The source of a rotation set. */
export function sourceOf(namespace: string, index: number, value: string): Secret {
  return {
    metadata: { namespace, name: `${setName(index)}-source`, annotations: { [rotationSetAnnotation]: setName(index), [sourceAnnotation]: "true" } },
    type: "Opaque",
    data: { key: Buffer.from(value.padEnd(1000, ".")).toString("base64") },
  };
}

/** Gives every source another value. */
export async function changeSources(
  client: Client,
  { namespace, sets, value }: { readonly namespace: string; readonly sets: number; readonly value: string },
): Promise<void> {
  await forEachIndex(sets, async (index) => void (await client.replace(Secret, sourceOf(namespace, index, value), { fieldManager: "bench" })));
}
