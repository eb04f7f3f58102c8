// The records of EventingAuths.
import type { IssuedRecord } from "@keyturn/dashboard/contract";
import { type DeepReadonly, earliest, type Stored } from "@keyturn/runtime";
import { EventingAuth } from "../../controllers/eventing-auth/api.ts";
import { issuedAtOf } from "../../controllers/eventing-auth/issued-at.ts";
import { eventingAuthSummary } from "../../controllers/eventing-auth/summary.ts";
import { timeMs } from "../../controllers/summary.ts";
import type { Made } from "../record-source.ts";
import { defined, recordBase, summaryAgainAtMs } from "./record-base.ts";

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
  const base = recordBase(EventingAuth, object, { summary, workingCondition: "Ready" });
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

export function issuedId({ namespace = "", name }: { readonly namespace?: string | undefined; readonly name: string }): string {
  return `issued/${namespace}/${name}`;
}
