// The next step for an EventingAuth that is being deleted: its application, then its Secret, then the object itself.
import { abandonAnnotation } from "./api.ts";
import { type Observation, ownerOfObservation } from "./observation.ts";
import type { Verdict } from "./status.ts";
import type { Rest, Step } from "./step.ts";
import { ownershipOfTarget, type TargetSecret } from "./target-secret.ts";

/**
 * Decides the next step. What stands in the way is reported. A cluster that does not answer is waited for no longer than `deletionPatienceMs`; an
 * application is given up only if somebody says so in the annotation, because its credentials would go on working.
 */
export function planDeletionStep(observation: Observation, nowMs: number): Step {
  const { object, holder, target } = observation;
  // What has its name belongs to the other one; the original let two have one application.
  const id = object.status?.iasApplication?.uuid;
  if (holder !== undefined && (id === undefined || id === holder.application)) return { type: "release", abandoned: [] };
  // What is there, and whether it is ours, can best be told while the application exists; the answer or the trouble is a matter of seconds.
  if (target.type === "unseen" && target.trouble.reason === "TargetConnecting") {
    return { type: "rest", verdicts: {}, settled: false, nextAtMs: undefined, quiet: true };
  }
  const abandoned = abandonedParts(object.metadata.annotations?.[abandonAnnotation]);

  const secret = target.type === "seen" && !target.trouble ? target.secret : undefined;
  const application = abandoned.has("application") ? "gone" : deleteApplication(observation, secret);
  if (typeof application !== "string") return application;

  const leftBehind = abandoned.has("application") && object.status?.iasApplication ? [`application ${object.status.iasApplication.uuid}`] : [];
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

/** The step that deletes the application, or `gone` if there is none any more. */
function deleteApplication({ object, tenant, provider }: Observation, secret: TargetSecret | undefined): Step | "gone" {
  if (provider.type === "closed") return waitingForProvider(provider.message);
  const id = object.status?.iasApplication?.uuid;
  if (id !== undefined) {
    if (tenant.application === undefined) return { type: "look", at: "application", id };
    if (tenant.application !== "gone") {
      const { endpoints, application } = tenant;
      // The Secret of the original has no mark. It gets one while its application can still tell that it is ours.
      const adopts = secret?.clientId === application.clientId && secret.digest !== undefined && secret.noted.application !== application.id;
      if (!adopts) return { type: "deleteApplication", id, why: "deletion" };
      return endpoints ? { type: "mend", application, endpoints } : { type: "look", at: "endpoints" };
    }
    // Others of its name are somebody's, and no reason to keep the object.
    return "gone";
  }
  // One whose id was never written down is known by its name alone.
  if (tenant.namesakes === undefined) return { type: "look", at: "namesakes" };
  const [namesake, ...others] = tenant.namesakes;
  if (namesake === undefined) return "gone";
  if (others.length === 0) return { type: "deleteApplication", id: namesake, why: "deletion" };
  return waitingForProvider(`found multiple applications with the same name ${object.metadata.name}; none was deleted`);
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
