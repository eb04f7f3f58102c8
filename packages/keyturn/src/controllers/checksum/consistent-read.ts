// Proof that a cache is not behind: a list of names and resourceVersions, read from a quorum of etcd, agrees with it.
import { type Cache, type Client, collectionPath, keyOf } from "@keyturn/runtime";
import * as z from "zod";

/** client-go's page size. */
const pageSize = 500;

/** Only metadata is asked for, so that no content is read twice and none is held. */
const accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

const pageSchema = z.object({
  metadata: z.object({ continue: z.string().optional() }),
  // An empty list of metadata comes as null.
  items: z.array(z.object({ metadata: z.object({ name: z.string(), resourceVersion: z.string() }) })).nullable(),
});

/**
 * True if the cache shows, of one namespace, exactly the objects that the API server has, each at the same version.
 *
 * Why this is right: a list without a resourceVersion is answered from a quorum, so it is at least as new as anything that was written before it was asked for;
 * its later pages are of the same moment as the first. An object that the cache shows at the listed version has the listed content. With as many
 * objects in the cache as in the list, and each of them found there, the two are the same set. A difference may be a change on its way: ask again.
 */
export async function showsLatest(
  cache: Cache<unknown>,
  {
    client,
    namespace,
    objects,
    signal,
  }: { readonly client: Client; readonly namespace: string; readonly objects: number; readonly signal: AbortSignal },
): Promise<boolean> {
  const { labels, fields } = cache.selection;
  let listed = 0;
  let token: string | undefined;
  do {
    const path = collectionPath(cache.kind, namespace) + queryOf({ labels, fields, token });
    const page = pageSchema.parse(await client.request({ method: "GET", path, headers: { accept } }, signal));
    const items = page.items ?? [];
    for (const { metadata } of items) {
      if (cache.identity(keyOf({ namespace, name: metadata.name }))?.resourceVersion !== metadata.resourceVersion) return false;
    }
    listed += items.length;
    token = page.metadata.continue;
  } while (token);
  return listed === objects;
}

function queryOf({ labels, fields, token }: Readonly<Record<"labels" | "fields" | "token", string | undefined>>): string {
  const query = new URLSearchParams({
    limit: String(pageSize),
    ...(labels && { labelSelector: labels }),
    ...(fields && { fieldSelector: fields }),
    ...(token && { continue: token }),
  });
  return `?${query.toString()}`;
}
