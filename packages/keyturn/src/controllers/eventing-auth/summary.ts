// How an EventingAuth fares, for people.
import type { Health } from "@keyturn/dashboard/contract";
import { type DeepReadonly, findCondition, type Stored } from "@keyturn/runtime";
import { readyHealth, type Summary, type HealthReport, healthReportOf } from "../../feature/summary.ts";
import type { EventingAuth } from "./api.ts";
import type { ConditionReason } from "./reasons.ts";

/** What passes by itself. */
const passing: ReadonlySet<string> = new Set<ConditionReason>(["InProgress", "TargetConnecting", "DeletionWaiting"]);

/** From the object as it is stored. */
export function eventingAuthSummary(object: DeepReadonly<Stored<EventingAuth>>): Summary {
  const { metadata, status } = object;
  const { iasApplication, secret } = status ?? {};
  return {
    kind: "EventingAuth",
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    ...eventingAuthHealth(object),
    detail: [iasApplication ? `application ${iasApplication.uuid}` : "no application", ...(secret ? [`Secret ${secret.namespacedName}`] : [])].join(
      ", ",
    ),
    // When credentials are replaced depends on the operator's flags and on the Secret in the runtime's cluster.
    next: undefined,
    names: [metadata.name],
  };
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
