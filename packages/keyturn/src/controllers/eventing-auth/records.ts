// What people see of EventingAuths.
import type { DashboardRecord, Health, IssuedRecord, ObjectRef } from "@keyturn/dashboard/contract";
import { type DeepReadonly, findCondition, keyOf, nameOf, resourceOf, type Stored } from "@keyturn/runtime";
import {
  againAtMs,
  defined,
  happened,
  type HealthReport,
  healthReportOf,
  inNamespace,
  keepShown,
  type Made,
  noStory,
  objectReport,
  type ObjectStory,
  pauseCommand,
  readyHealth,
  type Records,
  timeMs,
} from "../../feature/record.ts";
import { abandonAnnotation, EventingAuth } from "./api.ts";
import { eventingAuthFlags } from "./flags.ts";
import { issuedAtOf } from "./conditions.ts";
import type { ConditionReason } from "./reasons.ts";

/** What passes by itself. */
const passing: ReadonlySet<string> = new Set<ConditionReason>(["InProgress", "TargetConnecting", "DeletionWaiting"]);

/** The record of one object. `rotateAfterMs` is the operator's flag: 0 for never, or not known. */
export function issuedRecord(
  object: DeepReadonly<Stored<EventingAuth>>,
  { rotateAfterMs, nowMs }: { readonly rotateAfterMs: number; readonly nowMs: number },
): Made & { readonly record: IssuedRecord } {
  const { metadata, status } = object;
  const { iasApplication, secret } = status ?? {};
  const issued = issuedAtOf(status?.conditions);
  const nextRotationMs = issued?.exact && rotateAfterMs > 0 ? issued.atMs + rotateAfterMs : undefined;
  const report = objectReport(EventingAuth, object, {
    ...eventingAuthHealth(object),
    detail: [iasApplication ? `application ${iasApplication.uuid}` : "no application", ...(secret ? [`Secret ${secret.namespacedName}`] : [])].join(
      ", ",
    ),
    about: [metadata.name],
    next: nextRotationMs === undefined ? undefined : { atMs: nextRotationMs, what: "gets new credentials" },
  });
  const record: IssuedRecord = {
    type: "issued",
    id: issuedId(metadata),
    step: "eventing-auth",
    ...report,
    ...defined("createdMs", timeMs(metadata.creationTimestamp)),
    ...(iasApplication && { application: { name: iasApplication.name, id: iasApplication.uuid } }),
    ...(secret && { target: { clusterId: secret.clusterId, secret: secret.namespacedName } }),
    ...defined("issuedMs", issued?.atMs),
    ...defined("nextRotationMs", nextRotationMs),
    ...defined("deletingSinceMs", timeMs(metadata.deletionTimestamp)),
  };
  return { record, againAtMs: againAtMs(report, nowMs) };
}

function eventingAuthHealth(object: DeepReadonly<Stored<EventingAuth>>): HealthReport {
  const verdict = readyHealth(object, ({ status, reason }): Health => {
    if (status === "True") return "healthy";
    return passing.has(reason) ? "progressing" : "failed";
  });
  if (verdict.health !== "healthy") return verdict;
  // Ready is the original's word for "made"; whether it works is known from these.
  const doubts = ["TargetReachable", "CredentialsValid"].map((type) => findCondition(object.status?.conditions, type));
  const doubt = doubts.find((condition) => condition?.status === "False" && !passing.has(condition.reason));
  return doubt ? healthReportOf(doubt, "degraded") : verdict;
}

function issuedId({ namespace = "", name }: { readonly namespace?: string | undefined; readonly name: string }): string {
  return `issued/${namespace}/${name}`;
}

function story(ref: ObjectRef, record: DashboardRecord): ObjectStory {
  if (record.type !== "issued") return noStory;
  const { createdMs, issuedMs, deletingSinceMs } = record;
  const abandon = `kubectl annotate ${ref.resource} ${ref.name}${inNamespace(ref)} ${abandonAnnotation}=target`;
  return {
    history: [
      ...happened(createdMs, "was created"),
      ...happened(issuedMs, "its credentials were issued"),
      ...happened(deletingSinceMs, "somebody asked for its deletion"),
    ],
    commands: [
      pauseCommand(ref),
      ...(deletingSinceMs === undefined ? [] : [{ what: "let it go although its cluster does not answer", command: abandon }]),
    ],
  };
}

export const eventingAuthRecords: Records = {
  story,
  watch({ watch, touch, flag }) {
    const rotateAfterMs = flag(eventingAuthFlags.rotateAfter);
    const cache = watch(EventingAuth, { keep: keepShown });
    cache.subscribe(({ key }) => touch(issuedId(nameOf(key))));
    return {
      step: "eventing-auth",
      resources: [resourceOf(EventingAuth)],
      caches: () => [cache],
      ids: () => Array.from(cache.entries(), ([key]) => issuedId(nameOf(key))),
      make(id, nowMs) {
        const [, namespace = "", name = ""] = id.split("/");
        const object = cache.get(keyOf({ namespace, name }));
        return object && issuedRecord(object, { rotateAfterMs, nowMs });
      },
      find: (resource, name) => (resource === resourceOf(EventingAuth) ? { kind: EventingAuth, id: issuedId(name) } : undefined),
    };
  },
};
