// The sources of the rotation scenarios, and how all of them are changed at once.
import { type Client, Secret } from "@keyturn/runtime";
import { rotationSetAnnotation, sourceAnnotation } from "../../packages/keyturn/src/controllers/rotation/api.ts";
import { forEachIndex } from "./for-each-index.ts";

/** The name of a set. */
export function setName(index: number): string {
  return `set-${String(index).padStart(4, "0")}`;
}

/** The source of a set. */
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
