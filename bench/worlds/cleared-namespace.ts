// Removes what a run left in a namespace: more objects make the next run slower, and the API server looks for a free address among all Services.
import { type Client, collectionPath, type Kind } from "@keyturn/runtime";

/** Deletes every object of these kinds in the namespace. */
export async function clearNamespace(client: Client, namespace: string, kinds: readonly Kind[]): Promise<void> {
  for (const kind of kinds) await client.request({ method: "DELETE", path: collectionPath(kind, namespace), timeoutMs: 300_000 });
}
