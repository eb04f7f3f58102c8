// A client whose writes are checked by the server and change nothing.
import type { Client } from "./client.ts";
import { keyOf, keyOfObject, type Kind, type ObjectKey, resourceOf } from "./kind.ts";

/** A write that was not made. */
interface WithheldWrite {
  readonly verb: "create" | "replace" | "apply" | "patch" | "delete" | "deletecollection";
  readonly resource: string;
  readonly key: ObjectKey;
}

/** Sends every write of `client` as a server-side dry run and reports it to `onWithheld`. Requests made with `request` pass as they are. */
export function dryRunClient(client: Client, onWithheld: (write: WithheldWrite) => void): Client {
  const dryRun = true;
  const report = (verb: WithheldWrite["verb"], kind: Kind, key: ObjectKey): void => onWithheld({ verb, resource: resourceOf(kind), key });
  return {
    ...client,
    create(kind, object, options, signal) {
      report("create", kind, keyOfObject(object));
      return client.create(kind, object, { ...options, dryRun }, signal);
    },
    replace(kind, object, options, signal) {
      report("replace", kind, keyOfObject(object));
      return client.replace(kind, object, { ...options, dryRun }, signal);
    },
    apply(kind, object, options, signal) {
      report("apply", kind, keyOfObject(object));
      return client.apply(kind, object, { ...options, dryRun }, signal);
    },
    jsonPatch(kind, name, patch, options, signal) {
      report("patch", kind, keyOf(name));
      return client.jsonPatch(kind, name, patch, { ...options, dryRun }, signal);
    },
    mergePatch(kind, name, patch, options, signal) {
      report("patch", kind, keyOf(name));
      return client.mergePatch(kind, name, patch, { ...options, dryRun }, signal);
    },
    deleteCollection(kind, selection, options, signal) {
      report("deletecollection", kind, selection.namespace ?? "");
      return client.deleteCollection(kind, selection, { ...options, dryRun }, signal);
    },
    delete(kind, name, options, signal) {
      report("delete", kind, keyOf(name));
      return client.delete(kind, name, { ...options, dryRun }, signal);
    },
    sendingAs: (sender) => dryRunClient(client.sendingAs?.(sender) ?? client, onWithheld),
  };
}
