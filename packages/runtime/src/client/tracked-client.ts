// A client that notes what the API server told it, so that nobody acts on a cache older than that.
import type { Client } from "./client.ts";
import type { Kind } from "./kind.ts";
import { keyOf, keyOfObject, type KubeObject, type Stored } from "./object.ts";
import { isLastSight } from "./object-answer.ts";
import type { WriteRecord } from "./write-record.ts";

/**
 * A client like `client` that calls `onAnswer` once for each write that the server confirmed and stored, and for each object that `get` found,
 * before the promise resolves. A read counts because decisions are made on it: if the cache is older and what was read changes back before the cache
 * has seen it, no change of the cache would tell.
 */
export function trackAnswers(client: Client, onAnswer: (record: WriteRecord) => void): Client {
  const written = <Seen extends Stored<KubeObject>>(kind: Kind, object: Seen, dryRun: boolean | undefined): Seen => {
    const { uid, resourceVersion, labels = {} } = object.metadata;
    // Reviews, such as SelfSubjectAccessReview, are answered and not stored: they have no version.
    if (dryRun || !resourceVersion) return object;
    const key = keyOfObject(object);
    // Taking the last finalizer off an object that is being deleted removes it.
    onAnswer(isLastSight(object) ? { type: "deleted", kind, key, uid } : { type: "written", kind, key, uid, resourceVersion, labels });
    return object;
  };
  return {
    async get(kind, name, signal) {
      const object = await client.get(kind, name, signal);
      return object && written(kind, object, false);
    },
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
      if (!options?.dryRun) onAnswer({ type: "deleted", kind, key: keyOf(name), uid: options?.uid });
      return undefined;
    },
    request: (request, signal) => client.request(request, signal),
  };
}
