// Watches the objects of the step "issue".
import { keyOf, nameOf, resourceOf } from "@keyturn/runtime";
import { EventingAuth } from "../../controllers/eventing-auth/api.ts";
import type { RecordSource, SourceScope } from "../record-source.ts";
import { issuedId, issuedRecord } from "../records/issued.ts";
import { keepShown } from "../records/record-base.ts";

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
