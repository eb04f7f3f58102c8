// What the statuses of a set's targets say, and what is reported once as an Event: made from a plan.
import { type Condition, formatDuration, type PlannedEvent, removeCondition, setCondition } from "@keyturn/runtime";
import type { RotationTargetStatus } from "./api.ts";
import type { TargetObservation } from "./observe.ts";
import type { ConditionReason, VersionReason } from "./reasons.ts";
import type { RotationPlan, TargetSchedule } from "./plan.ts";

/** What is reported in one condition; absent conditions are those with nothing to report. */
interface ConditionReport {
  readonly status: "True" | "False";
  readonly reason: ConditionReason;
  readonly message: string;
}

/** Conditions that are there only while they are true. */
const exceptional = ["VisibilityGap", "SourceConflict", "NameConflict", "PathNotFound", "ClockSkew"] as const;

/** What a status goes on from. */
interface StatusContext {
  readonly before: RotationTargetStatus | undefined;
  readonly nowMs: number;
}

/** The whole status of one target. Equal input gives an equal status, so that nothing is written when nothing happened. */
export function statusOf(target: TargetObservation, plan: RotationPlan, { before, nowMs }: StatusContext): RotationTargetStatus {
  const schedule = plan.targets.get(target.name);
  const { generation } = target;
  const { held, pending, rank, removed } = schedule ?? { held: undefined, pending: undefined, rank: undefined, removed: false };
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    ...(rank !== undefined && { rank }),
    ...(plan.source && { sourceRef: { kind: plan.source.resource, name: plan.source.name } }),
    ...(held && !removed && { currentVersion: { seq: held.seq, digest: held.digest, appliedAt: timestamp(held.atMs) } }),
    ...(pending && { pending: { seq: pending.seq, notBefore: timestamp(pending.notBeforeMs), reason: pending.reason } }),
    conditions: [...conditionsOf(target, plan, { before, nowMs })],
  };
}

/** What has happened to the versions of one target, in words for people. */
export function versionEvents({ name }: TargetObservation, { targets, writes }: RotationPlan): readonly PlannedEvent[] {
  const schedule = targets.get(name);
  if (!schedule) return [];
  const event = (reason: VersionReason, message: string): readonly PlannedEvent[] => [{ type: "Normal", reason, message }];
  const { held, replaced, restored } = schedule;
  const isWritten = writes.some((write) => write.verb === "writeTarget" && write.target === name);
  const isDeleted = schedule.removed && writes.some((write) => write.verb === "deleteTarget" && write.target === name);
  if (isDeleted) return event("TargetRemoved", "the source is gone for longer than the delay; the object was deleted");
  if (!held || !isWritten) return [];
  if (restored) return event("DriftRepaired", `the object was not as it should be; it has the content of version ${held.seq} again`);
  if (replaced === undefined) return event("VersionFilled", `got version ${held.seq}`);
  return event("VersionRotated", `version ${held.seq} has taken the place of version ${replaced}`);
}

function timestamp(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

function conditionsOf(target: TargetObservation, plan: RotationPlan, { before, nowMs }: StatusContext): readonly Condition[] {
  const schedule = plan.targets.get(target.name);
  const reports = schedule ? reportsOf(schedule, plan) : {};
  let conditions: readonly Condition[] = before?.conditions ?? [];
  for (const [type, report] of Object.entries(reports)) {
    conditions = setCondition(conditions, { type, ...report, observedGeneration: target.generation }, nowMs);
  }
  for (const type of exceptional) if (!(type in reports)) conditions = removeCondition(conditions, type);
  return conditions;
}

function reportsOf(schedule: TargetSchedule, plan: RotationPlan): Readonly<Record<string, ConditionReport>> {
  const { blocker, gapMs } = schedule;
  const { setBlocker } = plan;
  const reports: Record<string, ConditionReport> = {
    Ready: readyReport(schedule, plan),
    Filled: filledReport(schedule),
    Progressing: progressReport(schedule, plan),
  };
  if (gapMs > 0) {
    const message = `a version is in neither target for ${formatDuration(gapMs)} on its way here, because this delay is so much longer than that of the target before`;
    reports["VisibilityGap"] = { status: "True", reason: "DelayLongerThanBefore", message };
  }
  if (setBlocker && setBlocker.reason !== "NoSource") {
    const { reason, message } = setBlocker;
    const type = reason === "InvalidPath" ? "PathNotFound" : reason;
    if (exceptional.some((known) => known === type)) reports[type] = { status: "True", reason, message };
  }
  if (blocker && exceptional.some((known) => known === blocker.reason))
    reports[blocker.reason] = { status: "True", reason: blocker.reason, message: blocker.message };
  return reports;
}

function readyReport({ held, blocker, pending, removed }: TargetSchedule, { setBlocker }: RotationPlan): ConditionReport {
  const pause = [blocker, setBlocker].find((each) => each?.reason === "Paused");
  // Nobody is to be alarmed by a pause.
  if (pause && "message" in pause) return { status: held ? "True" : "False", reason: "Paused", message: pause.message };
  if (blocker) return { status: "False", reason: blocker.reason, message: blocker.message };
  if (setBlocker && setBlocker.reason !== "NoSource") return { status: "False", reason: setBlocker.reason, message: setBlocker.message };
  if (removed) return { status: "False", reason: "Removed", message: "the source is gone, and the object went with it" };
  if (!held) {
    const missing: ConditionReport = { status: "False", reason: "InsufficientHistory", message: "there is no version for this target yet" };
    return setBlocker ? { status: "False", reason: "NoSource", message: "no object is marked as the source of this set" } : missing;
  }
  const holds = `holds version ${held.seq}`;
  if (setBlocker) return { status: "True", reason: "NoSource", message: `${holds}; the source is gone, and nothing moves until it is back` };
  if (pending) return { status: "True", reason: "Rotating", message: `${holds}; version ${pending.seq} follows` };
  return { status: "True", reason: "UpToDate", message: holds };
}

function filledReport({ held, backfilled }: TargetSchedule): ConditionReport {
  if (held && !backfilled) return { status: "True", reason: "HasOwnVersion", message: "holds a version of its own" };
  const instead = held ? "the oldest one is held instead" : "there is no object yet";
  return { status: "False", reason: "InsufficientHistory", message: `there are fewer versions than targets; ${instead}` };
}

function progressReport({ blocker }: TargetSchedule, { setBlocker, unstableSinceMs, policyConflict }: RotationPlan): ConditionReport {
  if (setBlocker) {
    const message = setBlocker.reason === "NoSource" ? "there is no source" : setBlocker.message;
    return { status: "False", reason: setBlocker.reason, message };
  }
  if (blocker) return { status: "False", reason: blocker.reason, message: blocker.message };
  if (policyConflict)
    return { status: "False", reason: "PolicyConflict", message: "the targets of this set differ in changePolicy; Settled is used for all" };
  if (unstableSinceMs !== undefined) {
    const message = `the source has been changing since ${timestamp(unstableSinceMs)} without ever staying for the first target's delay`;
    return { status: "False", reason: "SourceUnstable", message };
  }
  return { status: "True", reason: "Progressing", message: "versions move as they should" };
}

/** Recorded once: for as long as a condition says the same, nothing is new. What ends by itself, or was wanted, is no news. */
export function conditionEvents(before: RotationTargetStatus | undefined, after: RotationTargetStatus): readonly PlannedEvent[] {
  const reasons = new Set<string>();
  return (after.conditions ?? []).flatMap(({ type, status, reason, message }): readonly PlannedEvent[] => {
    const isBad = exceptional.some((known) => known === type) ? status === "True" : status === "False" && type !== "Filled";
    const last = before?.conditions?.find((condition) => condition.type === type);
    if (
      !isBad ||
      reason === "InsufficientHistory" ||
      reasons.has(reason) ||
      (last?.status === status && last.reason === reason && last.message === message)
    )
      return [];
    reasons.add(reason);
    return [{ type: ["NoSource", "Removed", "Paused"].includes(reason) ? "Normal" : "Warning", reason, message }];
  });
}
