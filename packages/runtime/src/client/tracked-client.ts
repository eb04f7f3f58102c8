// A client that notes what it wrote, so that nobody acts on a cache older than its own writes.
import type { Client } from "./client.ts";
import type { Kind } from "./kind.ts";
import { keyOf, keyOfObject, type KubeObject, type Stored } from "./object.ts";
import { isLastSight } from "./object-answer.ts";
import type { WriteRecord } from "./write-record.ts";

/** A client like `client` that calls `onWrite` once for each write that the server confirmed and stored, before the write's promise resolves. */
export function trackWrites(client: Client, onWrite: (record: WriteRecord) => void): Client {
  const written = <T extends KubeObject>(kind: Kind, object: Stored<T>, dryRun: boolean | undefined): Stored<T> => {
    const { uid, resourceVersion, labels = {} } = object.metadata;
    // Reviews, such as SelfSubjectAccessReview, are answered and not stored: they have no version.
    if (dryRun || !resourceVersion) return object;
    const key = keyOfObject(object);
    // Taking the last finalizer off an object that is being deleted removes it.
    onWrite(isLastSight(object) ? { type: "deleted", kind, key, uid } : { type: "written", kind, key, uid, resourceVersion, labels });
    return object;
  };
  return {
    get: (kind, name, signal) => client.get(kind, name, signal),
    list: (kind, selection, signal) => client.list(kind, selection, signal),
    create: async (kind, object, options, signal) => written(kind, await client.create(kind, object, options, signal), options?.dryRun),
    replace: async (kind, object, options, signal) => written(kind, await client.replace(kind, object, options, signal), options?.dryRun),
    apply: async (kind, object, options, signal) => written(kind, await client.apply(kind, object, options, signal), options.dryRun),
    jsonPatch: async (kind, name, patch, options, signal) =>
      written(kind, await client.jsonPatch(kind, name, patch, options, signal), options?.dryRun),
    mergePatch: async (kind, name, patch, options, signal) =>
      written(kind, await client.mergePatch(kind, name, patch, options, signal), options?.dryRun),
    async delete(kind, name, options, signal) {
      const waiting = await client.delete(kind, name, options, signal);
      if (waiting) return written(kind, waiting, options?.dryRun);
      if (!options?.dryRun) onWrite({ type: "deleted", kind, key: keyOf(name), uid: options?.uid });
      return undefined;
    },
    request: (request, signal) => client.request(request, signal),
  };
}
