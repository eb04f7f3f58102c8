// What the statuses of a set's targets say, and what is reported once as an Event: made from a plan.
import { type ConditionReport, type Failure, formatDuration, type PlannedEvent, type StatusObject, type StatusReport } from "@keyturn/runtime";
import { RotationTarget, type RotationTargetStatus } from "./api.ts";
import type { SetBlocker } from "./blockers.ts";
import type { TargetObservation } from "./observe.ts";
import type { RotationPlan, RotationWrite, TargetSchedule } from "./plan.ts";
import type { Unpublished } from "./publish-before.ts";
import type { ConditionReason, VersionReason } from "./reasons.ts";

type RotationCondition = ConditionReport<ConditionReason>;
type RotationReport = Pick<RotationCondition, "reason" | "message">;

/** Conditions that are there only while they are true. */
const exceptional = ["VisibilityGap", "SourceConflict", "NameConflict", "PathNotFound", "ClockSkew"] as const;
const withoutExceptional: Readonly<Record<string, null>> = Object.fromEntries(exceptional.map((type) => [type, null]));

/** A target as an object that shows how its set fares. Whole statuses are reported of whatever state it is in. */
export function statusObjectOf(
  namespace: string,
  target: Pick<TargetObservation, "name" | "uid" | "generation" | "statusDigest">,
  resourceVersion = "",
): StatusObject {
  const { name, uid, generation, statusDigest = "none" } = target;
  const metadata = { namespace, name, uid, resourceVersion, ...(generation !== undefined && { generation }) };
  return { kind: RotationTarget, object: { metadata }, statusDigest };
}

/**
 * The whole status of one target. Equal input gives an equal report, so that nothing is written when nothing happened. `shown` makes the digest of a version
 * that everybody may see; without it there is none.
 */
export function reportOf(
  regarding: StatusObject,
  schedule: TargetSchedule,
  plan: RotationPlan,
  shown?: (version: { readonly seq: number; readonly digest: string }) => string,
): StatusReport<Omit<RotationTargetStatus, "conditions">> {
  const { generation } = regarding.object.metadata;
  const { held, pending, rank, removed } = schedule;
  const conditions = conditionsOf(schedule, plan);
  // What was reported before is evidence of what a target held.
  if (isUnknown(plan.setBlocker)) return { regarding, conditions };
  return {
    regarding,
    conditions,
    fields: {
      ...(generation !== undefined && { observedGeneration: generation }),
      rank,
      ...(plan.source && { sourceRef: { kind: plan.source.resource, name: plan.source.name } }),
      ...(held && !removed && { currentVersion: { seq: held.seq, ...(shown && { digest: shown(held) }), appliedAt: timestamp(held.atMs) } }),
      ...(pending && { pending: { seq: pending.seq, notBefore: timestamp(pending.notBeforeMs), reason: pending.reason } }),
    },
  };
}

/** True if nobody can say what targets hold: then only conditions are reported, of the very state that was observed. */
export function isUnknown(setBlocker: SetBlocker | undefined): boolean {
  const reason = setBlocker?.reason;
  return reason === "VersionLost" || reason === "HistoryDamaged" || reason === "KindNotWatched";
}

/** What a target says when a run failed: nothing moves. What it holds is still there. */
export function failedReport(regarding: StatusObject, { reason, message }: Failure): StatusReport {
  const condition: ConditionReport = { status: "False", reason, message };
  return { regarding, conditions: { Ready: condition, Progressing: condition } };
}

/** What a write does to the versions of its target, in words for people; undefined if that is nothing, or another write of the plan does it. */
export function versionEvent(write: RotationWrite, { targets, writes }: RotationPlan): PlannedEvent | undefined {
  const schedule = "target" in write ? targets.get(write.target) : undefined;
  if (!schedule) return undefined;
  const event = (reason: VersionReason, message: string): PlannedEvent => ({ type: "Normal", reason, message });
  if (write.verb === "deleteTarget") {
    const isLast = write === writes.findLast((other) => other.verb === "deleteTarget" && other.target === write.target);
    return schedule.removed && isLast ? event("TargetRemoved", "the source is gone for longer than the delay; the object was deleted") : undefined;
  }
  const { held, replaced, restored } = schedule;
  if (!held || write.verb !== "writeTarget") return undefined;
  if (restored) return event("DriftRepaired", `the object was not as it should be; it has the content of version ${held.seq} again`);
  if (replaced === undefined) return event("VersionFilled", `got version ${held.seq}`);
  return event("VersionRotated", `version ${held.seq} has taken the place of version ${replaced}`);
}

function timestamp(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

function conditionsOf(schedule: TargetSchedule, plan: RotationPlan): StatusReport["conditions"] {
  const { blocker, gapMs } = schedule;
  const { setBlocker } = plan;
  const reports: Record<string, RotationCondition | null> = {
    Ready: readyReport(schedule, plan),
    Filled: filledReport(schedule),
    Progressing: progressReport(schedule, plan),
    ...withoutExceptional,
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

function readyReport(schedule: TargetSchedule, plan: RotationPlan): RotationCondition {
  const { held, blocker, pending, removed } = schedule;
  const { setBlocker } = plan;
  const pause = [blocker, setBlocker].find((each) => each?.reason === "Paused");
  // Nobody is to be alarmed by a pause.
  if (pause && "message" in pause) return { status: held ? "True" : "False", reason: "Paused", message: pause.message };
  if (blocker) return { status: "False", reason: blocker.reason, message: blocker.message };
  if (setBlocker && setBlocker.reason !== "NoSource") return { status: "False", reason: setBlocker.reason, message: setBlocker.message };
  if (removed) return { status: "False", reason: "Removed", message: "the source is gone, and the object went with it" };
  const { unpublished } = schedule;
  if (!held && unpublished)
    return { status: "False", reason: unpublishedReason(unpublished), message: `version ${unpublished.seq} waits: ${unpublished.message}` };
  if (!held) {
    const missing: RotationCondition = { status: "False", reason: "InsufficientHistory", message: "there is no version for this target yet" };
    return setBlocker ? { status: "False", reason: "NoSource", message: "no object is marked as the source of this set" } : missing;
  }
  const holds = `holds version ${held.seq}`;
  if (setBlocker) return { status: "True", reason: "NoSource", message: `${holds}; the source is gone, and nothing moves until it is back` };
  if (unpublished) {
    const message = `${holds}; version ${unpublished.seq} waits: ${unpublished.message}`;
    return { status: "True", reason: unpublishedReason(unpublished), message };
  }
  const standstill = standstillOf(schedule, plan);
  if (standstill) return { status: "True", reason: standstill.reason, message: `${holds}; ${standstill.message}` };
  if (pending) {
    const window = pending.reason === "OutsideWindow" ? ` when a maintenance window opens at ${timestamp(pending.notBeforeMs)}` : "";
    return { status: "True", reason: "Rotating", message: `${holds}; version ${pending.seq} follows${window}` };
  }
  return { status: "True", reason: "UpToDate", message: holds };
}

function unpublishedReason({ isLasting }: Unpublished): "KeyNotPublished" | "AwaitingPublication" {
  return isLasting ? "KeyNotPublished" : "AwaitingPublication";
}

/** What keeps a target that holds what it should from moving on, when its time comes. */
function standstillOf({ isRetaining }: TargetSchedule, { targets, settlesAtMs, unstableSinceMs }: RotationPlan): RotationReport | undefined {
  const other = [...targets].find(([, { blocker }]) => blocker);
  if (other?.[1].blocker) {
    const [name, { blocker }] = other;
    return {
      reason: "WaitingForTarget",
      message: `target ${name} of the same set cannot be written (${blocker.reason}), and no version moves past it`,
    };
  }
  const waiting = [...targets].find(([, { unpublished }]) => unpublished?.isLasting);
  if (waiting?.[1].unpublished) {
    const [name, { unpublished }] = waiting;
    return { reason: "WaitingForTarget", message: `target ${name} of the same set waits for its key to be published: ${unpublished.message}` };
  }
  if (isRetaining) return { reason: "WaitingForTarget", message: "no other target has this version, and it is kept until one has taken it" };
  if (settlesAtMs !== undefined) {
    const message = `targets were added, removed or given another order, and nothing moves until ${timestamp(settlesAtMs)}: what is changed must hold for the set's longest delay`;
    return { reason: "SetChanged", message };
  }
  if (unstableSinceMs === undefined) return undefined;
  const message = `the source has been changing since ${timestamp(unstableSinceMs)} without ever staying for the first target's delay`;
  return { reason: "SourceUnstable", message };
}

function filledReport({ held, backfilled }: TargetSchedule): RotationCondition {
  if (held && !backfilled) return { status: "True", reason: "HasOwnVersion", message: "holds a version of its own" };
  const instead = held ? "the oldest one is held instead" : "there is no object yet";
  return { status: "False", reason: "InsufficientHistory", message: `there are fewer versions than targets; ${instead}` };
}

function progressReport(schedule: TargetSchedule, plan: RotationPlan): RotationCondition {
  const { setBlocker, policyConflict } = plan;
  const { blocker } = schedule;
  if (setBlocker) {
    const message = setBlocker.reason === "NoSource" ? "there is no source" : setBlocker.message;
    return { status: "False", reason: setBlocker.reason, message };
  }
  if (blocker) return { status: "False", reason: blocker.reason, message: blocker.message };
  const { unpublished } = schedule;
  if (unpublished?.isLasting)
    return { status: "False", reason: "KeyNotPublished", message: `version ${unpublished.seq} waits: ${unpublished.message}` };
  const standstill = standstillOf(schedule, plan);
  if (standstill) return { status: "False", ...standstill };
  if (policyConflict)
    return { status: "False", reason: "PolicyConflict", message: "the targets of this set differ in changePolicy; Settled is used for all" };
  return { status: "True", reason: "Progressing", message: "versions move as they should" };
}
