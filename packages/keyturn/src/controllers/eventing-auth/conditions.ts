// What the status of an EventingAuth says, in the predecessor's words where it has them.
import { type Condition, type DeepReadonly, findCondition, setCondition, type Stored } from "@keyturn/runtime";
import type { EventingAuth, EventingAuthStatus } from "./api.ts";
import type { ConditionReason } from "./reasons.ts";

/** What one condition says. */
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

/** The predecessor's two good conditions, word for word: its users' scripts may look for them. */
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

/** What the status is made from, besides reports. */
export interface StatusFacts {
  /** `none` takes it out; absent leaves it as it is. */
  readonly iasApplication?: EventingAuthStatus["iasApplication"] | "none";
  readonly secret?: EventingAuthStatus["secret"];
}

const types = { application: "IASApplicationReady", secret: "SecretReady", target: "TargetReachable", credentials: "CredentialsValid" } as const;

/** The predecessor's first; whichever was set first, people find them in the same place. */
const order: readonly string[] = [...Object.values(types), "Ready"];

/** The whole status. Equal input gives an equal status, so that nothing is written when nothing happened. */
export function statusOf(
  object: Stored<EventingAuth>,
  reports: ConditionReports,
  facts: StatusFacts & { readonly nowMs: number },
): EventingAuthStatus {
  const before = object.status;
  const observedGeneration = object.metadata.generation;
  let conditions: readonly Condition[] = before?.conditions ?? [];
  const set = (type: string, { holds, reason, message }: Blocker): void => {
    conditions = setCondition(conditions, { type, status: holds ? "True" : "False", reason, message, observedGeneration }, facts.nowMs);
  };
  for (const aspect of ["application", "secret", "target", "credentials"] as const) {
    const report = reports[aspect];
    if (report) set(types[aspect], report);
  }
  const missing = reports.blocker ?? firstBlocker(conditions);
  set("Ready", missing ?? { holds: true, reason: "Ready", message: "the application and the Secret are there" });
  const iasApplication = facts.iasApplication === "none" ? undefined : (facts.iasApplication ?? before?.iasApplication);
  const secret = facts.secret ?? before?.secret;
  const ordered = conditions.toSorted((a, b) => order.indexOf(a.type) - order.indexOf(b.type));
  return { state: missing ? "NotReady" : "Ready", conditions: ordered, ...(iasApplication && { iasApplication }), ...(secret && { secret }) };
}

/** A report, or what the status says of an earlier one. */
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

// When the credentials were issued: written into a condition with the token that they were tried with, and read from there for people.

/** What is said when a token was given for credentials; their date shows later whether it is about the present ones. */
export function tokenIssued(issuedAtMs: number): ConditionReport {
  return { holds: true, reason: "TokenIssued", message: `a token was issued for the credentials of ${new Date(issuedAtMs).toISOString()}` };
}

/** What is known: exact if a token was issued for these very credentials, else since when there is a Secret at all. */
interface IssuedAt {
  readonly atMs: number;
  readonly exact: boolean;
}

const date = /\d{4}-\d{2}-\d{2}T[\d:.]+Z/;

/** Reads the date that `tokenIssued` puts into the condition. */
export function issuedAtOf(conditions: readonly DeepReadonly<Condition>[] | undefined): IssuedAt | undefined {
  const checked = findCondition(conditions, "CredentialsValid");
  const checkedMs = checked?.status === "True" ? Date.parse(date.exec(checked.message)?.[0] ?? "") : Number.NaN;
  if (!Number.isNaN(checkedMs)) return { atMs: checkedMs, exact: true };
  const secret = findCondition(conditions, "SecretReady");
  const secretMs = secret?.status === "True" ? Date.parse(secret.lastTransitionTime ?? "") : Number.NaN;
  return Number.isNaN(secretMs) ? undefined : { atMs: secretMs, exact: false };
}
