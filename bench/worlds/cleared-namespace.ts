// Removes what a run left in a namespace: more objects make the next run slower, and the API server looks for a free address among all Services.
import { type Client, collectionPath, type Kind } from "@keyturn/runtime";

/** Deletes every object of these kinds in the namespace. */
export async function clearNamespace(client: Client, namespace: string, kinds: readonly Kind[]): Promise<void> {
  // The API server deletes a collection one by one; different ones it deletes side by side.
  await Promise.all(kinds.map((kind) => client.request({ method: "DELETE", path: collectionPath(kind, namespace), timeoutMs: 300_000 })));
}
