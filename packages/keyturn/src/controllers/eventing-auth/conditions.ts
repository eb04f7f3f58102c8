// What the status of an EventingAuth says, in the predecessor's words where it has them, and what that means for people.
import { type Condition, setCondition, type Stored, type DeepReadonly, findCondition } from "@keyturn/runtime";
import type { EventingAuth, EventingAuthStatus } from "./api.ts";
import type { ConditionReason } from "./reasons.ts";
import { type Health, readyHealth, type Summary, type HealthReport, healthReportOf } from "../../feature/summary.ts";

/** One condition's verdict. */
export interface ConditionReport {
  readonly holds: boolean;
  readonly reason: ConditionReason;
  readonly message: string;
}

/** What is known about each aspect; what is absent stays as it was reported last. */
export interface ConditionReports {
  readonly application?: ConditionReport;
  readonly secret?: ConditionReport;
  readonly target?: ConditionReport;
  readonly credentials?: ConditionReport;
  /** Something else that stands in the way of being ready. */
  readonly blocker?: ConditionReport;
}

/** What the status is made from, besides verdicts. */
export interface StatusFacts {
  /** `none` takes it out; absent leaves it as it is. */
  readonly iasApplication?: EventingAuthStatus["iasApplication"] | "none";
  readonly secret?: EventingAuthStatus["secret"];
}

/** The predecessor's two good verdicts, word for word: its users' scripts may look for them. */
export const applicationCreated: ConditionReport = {
  holds: true,
  reason: "IASApplicationCreated",
  message: "IAS application is successfully created.",
};
export const secretCreated: ConditionReport = {
  holds: true,
  reason: "SecretCreated",
  message: "Eventing webhook authentication secret is successfully created.",
};
export const targetReached: ConditionReport = { holds: true, reason: "TargetReached", message: "the cluster of the runtime answers" };

export function applicationFailed(message: string): ConditionReport {
  return { holds: false, reason: "IASApplicationCreationFailed", message };
}

export function secretFailed(message: string): ConditionReport {
  return { holds: false, reason: "SecretCreationFailed", message };
}

const types = { application: "IASApplicationReady", secret: "SecretReady", target: "TargetReachable", credentials: "CredentialsValid" } as const;

/** The predecessor's first; whichever was set first, people find them in the same place. */
const order: readonly string[] = [...Object.values(types), "Ready"];

/** The whole status. Equal input gives an equal status, so that nothing is written when nothing happened. */
export function statusOf(
  object: Stored<EventingAuth>,
  verdicts: ConditionReports,
  facts: StatusFacts & { readonly nowMs: number },
): EventingAuthStatus {
  const before = object.status;
  const observedGeneration = object.metadata.generation;
  let conditions: readonly Condition[] = before?.conditions ?? [];
  const set = (type: string, { holds, reason, message }: Blocker): void => {
    conditions = setCondition(conditions, { type, status: holds ? "True" : "False", reason, message, observedGeneration }, facts.nowMs);
  };
  for (const aspect of ["application", "secret", "target", "credentials"] as const) {
    const verdict = verdicts[aspect];
    if (verdict) set(types[aspect], verdict);
  }
  const missing = verdicts.blocker ?? firstBlocker(conditions);
  set("Ready", missing ?? { holds: true, reason: "Ready", message: "the application and the Secret are there" });
  const iasApplication = facts.iasApplication === "none" ? undefined : (facts.iasApplication ?? before?.iasApplication);
  const secret = facts.secret ?? before?.secret;
  const ordered = conditions.toSorted((a, b) => order.indexOf(a.type) - order.indexOf(b.type));
  return { state: missing ? "NotReady" : "Ready", conditions: ordered, ...(iasApplication && { iasApplication }), ...(secret && { secret }) };
}

/** A verdict, or what an earlier one says in the status. */
type Blocker = Omit<ConditionReport, "reason"> & { readonly reason: string };

/** The predecessor's rule: ready once both conditions are true. */
function firstBlocker(conditions: readonly Condition[]): Blocker | undefined {
  for (const type of [types.application, types.secret]) {
    const condition = conditions.find((each) => each.type === type);
    if (!condition) return { holds: false, reason: "InProgress", message: "not everything has been made yet" };
    if (condition.status !== "True") return { holds: false, reason: condition.reason, message: condition.message };
  }
  return undefined;
}

// How an EventingAuth fares, for people.

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
    return passing.has(reason) ? "moving" : "attention";
  });
  if (verdict.health !== "healthy") return verdict;
  // Ready is the predecessor's word for "made"; whether it works is known from these.
  const doubts = ["TargetReachable", "CredentialsValid"].map((type) => findCondition(object.status?.conditions, type));
  const doubt = doubts.find((condition) => condition?.status === "False" && !passing.has(condition.reason));
  return doubt ? healthReportOf(doubt, "attention") : verdict;
}

/** What passes by itself. */
const passing: ReadonlySet<string> = new Set<ConditionReason>(["InProgress", "TargetConnecting", "DeletionWaiting"]);
