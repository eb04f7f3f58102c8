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
  items: z.array(z.object({ metadata: z.object({ name: z.string(), namespace: z.string(), resourceVersion: z.string() }) })).nullable(),
});

/** How a list is compared. */
interface Comparison {
  readonly client: Client;
  /** The namespaces that are compared, each with how many objects the cache has there, asked after it was listed. */
  readonly expected: ReadonlyMap<string, () => number>;
  readonly signal: AbortSignal;
}

/** More namespaces than this are listed together. */
const maxSingleLists = 5;

/**
 * True if the cache shows, of some namespaces, exactly the objects that the API server has, each at the same version.
 *
 * Why this is right: a list without a resourceVersion is answered from a quorum, so it is at least as new as anything that was written before it was asked for;
 * its later pages are of the same moment as the first. An object that the cache shows at the listed version has the listed content. With as many
 * objects in the cache as in the list, and each of them found there, the two are the same set. A difference may be a change on its way: ask again.
 */
export async function showsLatest(cache: Cache<unknown>, { client, expected, signal }: Comparison): Promise<boolean> {
  const isTogether = expected.size > maxSingleLists && cache.selection.namespace === undefined;
  for (const listed of isTogether ? [undefined] : expected.keys()) {
    const found = await listedIn(cache, listed, { client, expected, signal });
    if (!found) return false;
    for (const [namespace, count] of expected) {
      if ((listed === undefined || listed === namespace) && (found.get(namespace) ?? 0) !== count()) return false;
    }
  }
  return true;
}

/** How many objects each namespace has; undefined if the cache shows another version of one of them. */
async function listedIn(
  cache: Cache<unknown>,
  listed: string | undefined,
  { client, expected, signal }: Comparison,
): Promise<ReadonlyMap<string, number> | undefined> {
  const { labels, fields } = cache.selection;
  const found = new Map<string, number>();
  let token: string | undefined;
  do {
    const path = collectionPath(cache.kind, listed) + queryOf({ labels, fields, token });
    const page = pageSchema.parse(await client.request({ method: "GET", path, headers: { accept } }, signal));
    for (const { metadata } of page.items ?? []) {
      const { name, namespace, resourceVersion } = metadata;
      if (!expected.has(namespace)) continue;
      if (cache.identity(keyOf({ namespace, name }))?.resourceVersion !== resourceVersion) return undefined;
      found.set(namespace, (found.get(namespace) ?? 0) + 1);
    }
    token = page.metadata.continue;
  } while (token);
  return found;
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
