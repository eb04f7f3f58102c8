// What the status of an EventingAuth says, in the predecessor's words where it has them.
import {
  type Condition,
  type ConditionReport as RuntimeReport,
  type DeepReadonly,
  findCondition,
  statusAfter,
  type StatusReport,
  type Stored,
} from "@keyturn/runtime";
import { type Pause, pausedReason, pauseInWords } from "../../feature/pause-and-selection.ts";
import { EventingAuth, type EventingAuthStatus } from "./api.ts";
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
  /** Absent leaves it as it is. */
  readonly iasApplication?: EventingAuthStatus["iasApplication"];
  readonly secret?: EventingAuthStatus["secret"];
}

const types = { application: "IASApplicationReady", secret: "SecretReady", target: "TargetReachable", credentials: "CredentialsValid" } as const;

/** The predecessor's first; whichever was set first, people find them in the same place. */
const order: readonly string[] = [...Object.values(types), "Ready"];

type StatusFields = Omit<EventingAuthStatus, "conditions">;

/** What the runtime is to write of an EventingAuth. */
export type EventingAuthReport = StatusReport<StatusFields> & { readonly fields: StatusFields };

/** The report. Equal input gives an equal one, so that nothing is written when nothing happened. */
export function reportOf(object: Stored<EventingAuth>, reports: ConditionReports, facts: StatusFacts = {}): EventingAuthReport {
  const before = object.status;
  const conditions: Record<string, RuntimeReport> = {};
  for (const aspect of ["application", "secret", "target", "credentials"] as const) {
    const report = reports[aspect];
    if (report) conditions[types[aspect]] = said(report);
  }
  const blocker = reports.blocker ? said(reports.blocker) : firstBlocker((type) => conditions[type] ?? findCondition(before?.conditions, type));
  conditions["Ready"] = blocker ?? { status: "True", reason: "Ready", message: "the application and the Secret are there" };
  const iasApplication = facts.iasApplication ?? before?.iasApplication;
  const secret = facts.secret ?? before?.secret;
  const fields = { state: blocker ? "NotReady" : "Ready", ...(iasApplication && { iasApplication }), ...(secret && { secret }) } as const;
  return asReport(object, conditions, fields);
}

/** Says that nothing is done for the object. Whether it is ready is as it was when it was last looked at, so that nobody is alarmed by a pause. */
export function pausedReport(object: Stored<EventingAuth>, pause: Pause): EventingAuthReport {
  const { conditions = [], ...fields }: EventingAuthStatus = { state: "NotReady", ...object.status };
  const status = findCondition(conditions, "Ready")?.status ?? "Unknown";
  return asReport(object, { Ready: { status, reason: pausedReason, message: pauseInWords(pause) } }, fields);
}

/** The id of an application is in the status, and another process may have written one: only what was observed is ever replaced. */
function asReport(object: Stored<EventingAuth>, conditions: StatusReport["conditions"], fields: StatusFields): EventingAuthReport {
  return { regarding: { kind: EventingAuth, object }, conditions, fields, order, onlyIfUnchanged: true };
}

/** The whole status that a report comes to. */
export function statusOf(report: EventingAuthReport, object: Stored<EventingAuth>, nowMs: number): EventingAuthStatus {
  return { ...report.fields, conditions: statusAfter(report, object.status, nowMs).conditions ?? [] };
}

function said({ holds, reason, message }: ConditionReport): RuntimeReport {
  return { status: holds ? "True" : "False", reason, message };
}

/** The predecessor's rule: ready once both conditions are true. What is in the way is said before what is only not there yet. */
function firstBlocker(conditionOf: (type: string) => RuntimeReport | undefined): RuntimeReport | undefined {
  const both = [types.application, types.secret].map(conditionOf);
  const failed = both.find((condition) => condition !== undefined && condition.status !== "True");
  if (failed) return { status: "False", reason: failed.reason, message: failed.message };
  return both.includes(undefined) ? { status: "False", reason: "InProgress", message: "not everything has been made yet" } : undefined;
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
