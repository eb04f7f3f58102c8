// The next step for an EventingAuth that is being deleted: its application, then its Secret, then the object itself.
import { abandonAnnotation } from "./api.ts";
import { type Observation, ownerOfObservation } from "./observation.ts";
import { awaitedApplication, isUsedBy } from "./plan.ts";
import type { Verdict } from "./status.ts";
import type { Rest, Step } from "./step.ts";
import { ownershipOfTarget, type TargetSecret } from "./target-secret.ts";

/**
 * Decides the next step. What stands in the way is reported. A cluster that does not answer is waited for no longer than `deletionPatienceMs`; an
 * application is given up only if somebody says so in the annotation, because its credentials would go on working.
 */
export function planDeletionStep(observation: Observation, nowMs: number): Step {
  const { object, isServed, target } = observation;
  const recorded = object.status?.iasApplication ? [`application ${object.status.iasApplication.uuid}`] : [];
  // It reaches nothing, also not what an earlier version or the original made for it.
  if (!isServed) return { type: "release", abandoned: recorded };
  // What is there, and whether it is ours, can best be told while the application exists; the answer or the trouble is a matter of seconds.
  if (target.type === "unseen" && target.trouble.reason === "TargetConnecting") {
    return { type: "rest", verdicts: {}, settled: false, nextAtMs: undefined, quiet: true };
  }
  const abandoned = abandonedParts(object.metadata.annotations?.[abandonAnnotation]);

  const secret = target.type === "seen" && !target.trouble ? target.secret : undefined;
  const application = abandoned.has("application") ? "gone" : deleteApplication(observation, secret, nowMs);
  if (typeof application !== "string") return application;

  const leftBehind = abandoned.has("application") ? recorded : [];
  const targetName = `Secret ${observation.settings.targetSecret.namespace}/${observation.settings.targetSecret.name} in the cluster of the runtime`;
  if (target.type === "unknown") return { type: "release", abandoned: leftBehind };
  if (target.type === "seen" && !target.trouble) {
    return secret && ownershipOfTarget(secret, ownerOfObservation(observation)) === "ours"
      ? { type: "deleteTargetSecret" }
      : { type: "release", abandoned: leftBehind };
  }
  const giveUpAtMs = Date.parse(object.metadata.deletionTimestamp ?? "") + observation.settings.deletionPatienceMs;
  if (abandoned.has("target") || nowMs >= giveUpAtMs) return { type: "release", abandoned: [...leftBehind, targetName] };
  const { reason, message } = target.trouble ?? { reason: "TargetUnreachable", message: "the cluster does not answer" };
  const until = `the deletion waits for it until ${new Date(giveUpAtMs).toISOString()}, or until the annotation ${abandonAnnotation} says "target"`;
  return waiting(
    { holds: false, reason: "DeletionWaiting", message: `${message}; ${until}` },
    { target: { holds: false, reason, message }, nextAtMs: giveUpAtMs },
  );
}

/** The step that deletes the application, or `gone` if there is none any more. Only one whose id is in the status is ever deleted. */
function deleteApplication({ object, tenant, provider }: Observation, secret: TargetSecret | undefined, nowMs: number): Step | "gone" {
  if (provider.type === "closed") return waitingForProvider(provider.message);
  const id = object.status?.iasApplication?.uuid;
  if (id !== undefined) {
    const { endpoints, application } = tenant;
    if (application === undefined) return { type: "look", at: "application", id };
    if (application === "deleted") return "gone";
    // Others of its name are somebody's, and no reason to keep the object.
    if (application === "gone") return waitingForApplication(object, nowMs) ?? "gone";
    // The Secret of the original has no mark. It gets one while its application can still tell that it is ours.
    const adopts = isUsedBy(secret, application) && secret.digest !== undefined && secret.noted.application !== application.id;
    if (!adopts) return { type: "deleteApplication", id };
    return endpoints ? { type: "mend", application, endpoints } : { type: "look", at: "endpoints" };
  }
  // One whose id was never written down is known by the trace in it. One that has but the name is somebody's.
  if (tenant.namesakes === undefined) return { type: "look", at: "namesakes" };
  const own = tenant.namesakes.find(({ isOurs }) => isOurs);
  if (own) return { type: "adopt", id: own.id };
  return waitingForApplication(object, nowMs) ?? "gone";
}

function waitingForApplication(object: Observation["object"], nowMs: number): Rest | undefined {
  const awaited = awaitedApplication(object, nowMs);
  return awaited && waiting({ holds: false, reason: "DeletionWaiting", message: awaited.message }, { nextAtMs: awaited.nextAtMs });
}

function waitingForProvider(message: string): Rest {
  const advice = `put that right, or leave the application behind with the annotation ${abandonAnnotation}: application`;
  return waiting(
    { holds: false, reason: "DeletionWaiting", message: `${message}; ${advice}` },
    { application: { holds: false, reason: "IASApplicationCreationFailed", message } },
  );
}

function waiting(
  hindrance: Verdict,
  { nextAtMs, ...verdicts }: { readonly target?: Verdict; readonly application?: Verdict; readonly nextAtMs?: number },
): Rest {
  return { type: "rest", verdicts: { ...verdicts, hindrance }, settled: false, nextAtMs };
}

function abandonedParts(annotation = ""): ReadonlySet<string> {
  return new Set(annotation.split(",").map((part) => part.trim()));
}
