// The records of EventingAuths.
import type { IssuedRecord } from "@keyturn/dashboard/contract";
import { type DeepReadonly, earliest, keyOf, nameOf, resourceOf, type Stored } from "@keyturn/runtime";
import { EventingAuth } from "../../controllers/eventing-auth/api.ts";
import { issuedAtOf } from "../../controllers/eventing-auth/observe.ts";
import { eventingAuthSummary } from "../../controllers/eventing-auth/summary.ts";
import { timeMs } from "../../feature/summary.ts";
import { defined, keepShown, type Made, recordBase, type RecordSource, type SourceScope, summaryAgainAtMs } from "../record-source.ts";

/** The record of one object. `rotateAfterMs` is the operator's flag: 0 for never, undefined if it is not known here. */
export function issuedRecord(
  object: DeepReadonly<Stored<EventingAuth>>,
  { rotateAfterMs, nowMs }: { readonly rotateAfterMs: number | undefined; readonly nowMs: number },
): Made {
  const { metadata, status } = object;
  const summary = eventingAuthSummary(object);
  const issued = issuedAtOf(status?.conditions);
  const nextRotationMs = issued?.exact && rotateAfterMs ? issued.atMs + rotateAfterMs : undefined;
  const { iasApplication, secret } = status ?? {};
  const base = recordBase(EventingAuth, object, summary);
  const record: IssuedRecord = {
    type: "issued",
    id: issuedId(metadata),
    step: "eventing-auth",
    ...base,
    ...defined("nextMs", earliest([base.nextMs, nextRotationMs])),
    ...(iasApplication && { application: { name: iasApplication.name, id: iasApplication.uuid } }),
    ...(secret && { target: { clusterId: secret.clusterId, secret: secret.namespacedName } }),
    ...defined("issuedMs", issued?.atMs),
    ...defined("nextRotationMs", nextRotationMs),
    ...defined("deletingSinceMs", timeMs(metadata.deletionTimestamp)),
  };
  return { record, againAtMs: summaryAgainAtMs(summary, nowMs) };
}

function issuedId({ namespace = "", name }: { readonly namespace?: string | undefined; readonly name: string }): string {
  return `issued/${namespace}/${name}`;
}

// Watches the objects of the step "issue".

/** `rotateAfterMs` as in `issuedRecord`. */
export function issuedSource({ watch, touch }: SourceScope, { rotateAfterMs }: { readonly rotateAfterMs: number | undefined }): RecordSource {
  const cache = watch(EventingAuth, { keep: keepShown });
  cache.subscribe(({ key }) => touch(issuedId(nameOf(key))));
  return {
    step: "eventing-auth",
    resources: [resourceOf(EventingAuth)],
    caches: () => [cache],
    make(id, nowMs) {
      const [, namespace = "", name = ""] = id.split("/");
      const object = cache.get(keyOf({ namespace, name }));
      return object && issuedRecord(object, { rotateAfterMs, nowMs });
    },
    find: (resource, name) => (resource === resourceOf(EventingAuth) ? { kind: EventingAuth, id: issuedId(name) } : undefined),
  };
}
