// The next step for an EventingAuth that is being deleted: its application, then its Secret, then the object itself. Pure.
import { abandonAnnotation } from "./api.ts";
import { awaitedApplication, doubtOf, doubtOfIntent, isOwn, ownNamesake } from "./application-choice.ts";
import { applicationFailed, type ConditionReport } from "./conditions.ts";
import { type Observation, ownerOfObservation } from "./observe.ts";
import { idle, type Idle, type Step } from "./step.ts";
import { isUsedBy, ownershipOfTarget, type TargetSecret } from "./target-secret.ts";

/**
 * Plans the next step. What blocks it is reported. A cluster that does not answer is waited for no longer than `deletionPatienceMs`; an
 * application is given up only if somebody says so in the annotation, because its credentials would go on working.
 */
export function planDeletionStep(observation: Observation, nowMs: number): Step {
  const { object, refusal, target } = observation;
  const recorded = object.status?.iasApplication ? [`application ${object.status.iasApplication.uuid}`] : [];
  // It reaches nothing, also not what an earlier version or the predecessor made for it.
  if (refusal) return { type: "release", abandoned: recorded };
  const hasReached = object.status?.secret !== undefined || object.status?.iasApplication !== undefined;
  // What is there, and whether it is ours, is best decided while the application exists; the response or the trouble is a matter of seconds.
  if (hasReached && target.type === "unobserved" && target.trouble.reason === "TargetConnecting") {
    return { ...idle({}), quiet: true };
  }
  const abandoned = abandonedParts(object.metadata.annotations?.[abandonAnnotation]);

  const secret = target.type === "observed" && !target.trouble ? target.secret : undefined;
  const application = abandoned.has("application") ? "left" : deleteApplications(observation, secret, nowMs);
  if (typeof application !== "string") return application;

  const leftBehind = application === "left" ? recorded : [];
  if (target.type === "unknown") return { type: "release", abandoned: leftBehind };
  if (target.type === "observed" && !target.trouble) {
    if (secret && ownershipOfTarget(secret, ownerOfObservation(observation)) === "ours") return { type: "deleteTargetSecret" };
    const late = secret || abandoned.has("target") ? undefined : waitingForSecret(observation, nowMs);
    return late ?? { type: "release", abandoned: leftBehind };
  }
  // The id of an application is recorded before it gets a secret, so nothing of this object can be in the cluster.
  if (!hasReached) return { type: "release", abandoned: leftBehind };
  return waitForTarget(observation, leftBehind, nowMs);
}

/** The step that deletes what was made for the object; `gone` if there is none any more, `left` if the recorded one is somebody else's. */
function deleteApplications(observation: Observation, secret: TargetSecret | undefined, nowMs: number): Step | "gone" | "left" {
  const { object, tenant, provider } = observation;
  if (provider.type === "closed") return waitingForProvider(provider.message);
  const id = object.status?.iasApplication?.uuid;
  const { endpoints, application } = tenant;
  if (id !== undefined && application === undefined) return { type: "look", at: "application", id };
  if (id !== undefined && typeof application === "object" && isOwn(observation, application)) {
    // The Secret of the predecessor has no owner labels. It gets them while its application still shows that it is ours.
    const adopts = isUsedBy(secret, application) && secret.digest !== undefined && secret.noted.application !== application.id;
    if (!adopts) return { type: "deleteApplication", id };
    return endpoints ? { type: "mend", application, endpoints } : { type: "look", at: "endpoints" };
  }
  if (tenant.namesakes === undefined) return { type: "look", at: "namesakes" };
  // One whose id was never recorded, or a second one, is known by the mark in it. One that has but the name is somebody's.
  const second = tenant.namesakes.find(({ id: other, trace }) => trace === "ours" && other !== id);
  const own = id === undefined ? ownNamesake(observation) : second;
  if (own) return "type" in own ? own : { type: "deleteApplication", id: own.id };
  if (typeof application === "object") return "left";
  if (application === "deleted") return "gone";
  const awaited = waitingForApplication(observation, nowMs);
  if (awaited) return awaited;
  const doubt = application === "gone" ? doubtOf(observation) : doubtOfIntent(observation);
  return doubt?.type === "idle" ? waitingForProvider(doubt.reports.blocker?.message ?? "") : (doubt ?? "gone");
}

function waitingForApplication(observation: Observation, nowMs: number): Step | undefined {
  const awaited = awaitedApplication(observation, nowMs);
  if (!awaited || "type" in awaited) return awaited;
  return waiting({ holds: false, reason: "DeletionWaiting", message: awaited.message }, { nextAtMs: awaited.nextAtMs });
}

/** One that was asked for, and of which nobody heard what became, may still turn up in the cluster. */
function waitingForSecret({ unheardAtMs = -Infinity, settings }: Observation, nowMs: number): Idle | undefined {
  const untilMs = unheardAtMs + settings.shownWithinMs;
  if (nowMs >= untilMs) return undefined;
  const message = `the Secret that was asked for at ${new Date(unheardAtMs).toISOString()} may still turn up in the cluster of the runtime; it is waited for until ${new Date(untilMs).toISOString()}, or until the annotation ${abandonAnnotation} says "target"`;
  return waiting({ holds: false, reason: "DeletionWaiting", message }, { nextAtMs: untilMs });
}

function waitingForProvider(message: string): Idle {
  const advice = `put that right, or leave the application behind with the annotation ${abandonAnnotation}: application`;
  return waiting({ holds: false, reason: "DeletionWaiting", message: `${message}; ${advice}` }, { application: applicationFailed(message) });
}

/** How long the object waits for a cluster in which its Secret cannot be deleted, whatever the cluster does instead. */
interface TargetPatience {
  readonly isOver: boolean;
  readonly untilMs: number;
  /** What is to be said besides the cluster's own words. */
  readonly advice: string;
}

export function patienceWithTarget({ object, settings }: Observation, nowMs: number): TargetPatience {
  const { annotations, deletionTimestamp = "" } = object.metadata;
  const untilMs = Date.parse(deletionTimestamp) + settings.deletionPatienceMs;
  const advice = `the deletion waits for it until ${new Date(untilMs).toISOString()}, or until the annotation ${abandonAnnotation} says "target"`;
  return { isOver: nowMs >= untilMs || abandonedParts(annotations?.[abandonAnnotation]).has("target"), untilMs, advice };
}

function waitForTarget(observation: Observation, leftBehind: readonly string[], nowMs: number): Step {
  const { target, settings } = observation;
  const { namespace, name } = settings.targetSecret;
  const { isOver, untilMs, advice } = patienceWithTarget(observation, nowMs);
  if (isOver) return { type: "release", abandoned: [...leftBehind, `Secret ${namespace}/${name} in the cluster of the runtime`] };
  const trouble = target.type === "unknown" ? undefined : target.trouble;
  const { reason, message } = trouble ?? { reason: "TargetUnreachable", message: "the cluster does not answer" };
  return waiting(
    { holds: false, reason: "DeletionWaiting", message: `${message}; ${advice}` },
    { target: { holds: false, reason, message }, nextAtMs: untilMs },
  );
}

function waiting(
  blocker: ConditionReport,
  { nextAtMs, ...reports }: { readonly target?: ConditionReport; readonly application?: ConditionReport; readonly nextAtMs?: number },
): Idle {
  return idle({ ...reports, blocker }, nextAtMs);
}

function abandonedParts(annotation = ""): ReadonlySet<string> {
  return new Set(annotation.split(",").map((part) => part.trim()));
}
