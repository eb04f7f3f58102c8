// The next step for one EventingAuth: a pure function of what was observed and the time. After each step, the next is planned anew.
import { earliest, isBeingDeleted, type Moment, type Owner, type Plan } from "@keyturn/runtime";
import { EventingAuth } from "./api.ts";
import { chooseApplication, sweepDuplicates } from "./application-choice.ts";
import {
  applicationCreated,
  applicationFailed,
  type ConditionReport,
  type ConditionReports,
  type EventingAuthReport,
  reportOf,
  secretCreated,
  secretFailed,
  targetReached,
} from "./conditions.ts";
import { planDeletionStep } from "./deletion-plan.ts";
import type { Application } from "./identity/provider.ts";
import { type Observation, type Observed, ownerOfObservation } from "./observe.ts";
import { type Act, idle, type Idle, type Look, type Release, type Step } from "./step.ts";
import { isUsedBy, ownershipOfTarget, type TargetSecret } from "./target-secret.ts";
import type { TargetTrouble } from "./target.ts";

/** What the runtime carries out: one step, then the next is planned, until there is nothing more to do. */
export interface IssuingPlan extends Plan<Look, Act> {
  /** Set at the end. Without a report nothing is worth reporting. */
  readonly end?: { readonly complete: boolean; readonly report: EventingAuthReport | undefined };
  /** What is left behind when the object is let go. */
  readonly abandoned?: readonly string[];
}

/** Plans what is next, for an EventingAuth that is to stay or to go. */
export function planIssuing(
  { observation, idleUntilMs, limitedUntilMs, checkAfterMs }: Pick<Observed, "observation" | "idleUntilMs" | "limitedUntilMs" | "checkAfterMs">,
  { nowMs }: Pick<Moment, "nowMs">,
): IssuingPlan {
  if (idleUntilMs !== undefined) return { steps: [], status: [], nextAtMs: idleUntilMs };
  const { object, settings } = observation;
  const step = limitedUntilMs === undefined ? nextStep(observation, nowMs) : limited(observation, limitedUntilMs);
  if (step.type === "look") return { steps: [{ verb: "look", at: step }], more: true, status: [] };
  if (step.type === "release") return planRelease(observation, step);
  if (step.type !== "idle") return { steps: [{ verb: "do", action: step }], more: true, status: [] };
  const { targetSecret } = settings;
  const secret = { clusterId: object.metadata.name, namespacedName: `${targetSecret.namespace}/${targetSecret.name}` };
  const report = step.quiet ? undefined : reportOf(object, step.reports, step.reports.secret?.holds ? { secret } : {});
  return {
    steps: [],
    status: report ? [report] : [],
    ...(limitedUntilMs !== undefined && { deferred: true }),
    nextAtMs: Math.min(nowMs + checkAfterMs, step.nextAtMs ?? Infinity),
    end: { complete: step.complete, report },
  };
}

function nextStep(observation: Observation, nowMs: number): Step {
  return isBeingDeleted(observation.object) ? planDeletionStep(observation, nowMs) : planStep(observation, nowMs);
}

/**
 * Whoever changes the Secret in a loop must not use up what the identity provider grants to all, nor have the status written with each change: it says the
 * same until the provider is asked again.
 */
function limited({ object }: Observation, untilMs: number): Idle {
  const message =
    "the object or its Secret in the cluster of the runtime changes too often; the identity provider is asked about it every few seconds at most";
  return idle({ blocker: { holds: false, reason: isBeingDeleted(object) ? "DeletionWaiting" : "ChangesTooOften", message } }, untilMs);
}

function planRelease({ object, refusal, provider }: Observation, { abandoned }: Release): IssuingPlan {
  const hasGrant = !refusal && provider.type === "open" && provider.keepsGrants;
  const message = `${abandoned.join(" and ")} was left behind`;
  return {
    steps: hasGrant ? [{ verb: "do", action: { type: "forgetGrant" } }] : [],
    status: [],
    release: true,
    events: abandoned.length > 0 ? [{ regarding: { kind: EventingAuth, object }, type: "Warning", reason: "Abandoned", message }] : [],
    abandoned,
  };
}

// The next step for an EventingAuth that is there to stay.

/** A client secret is added for each write that was lost. More than so many unknown ones are only ours, and go before there is another. */
const maxUnknownSecrets = 8;
/** When credentials that were refused are tried again: a new one may take a while to be known everywhere. */
const checkAgainMs = 300_000;

/**
 * Plans the next step.
 *
 * Nothing is made at the identity provider before the runtime's cluster has shown what it has: whether an application is a leftover, and whether a
 * client secret is lost, can only be decided from both sides.
 */
export function planStep(observation: Observation, nowMs: number): Step {
  const { refusal, target, provider } = observation;
  if (refusal) return idle({ blocker: refusal });
  if (target.type === "unknown") return withoutTarget(observation, { reason: "KubeconfigNotFound", message: target.message });
  if (target.type === "unobserved" || target.trouble) {
    return withoutTarget(observation, target.trouble ?? { reason: "TargetConnecting", message: "the first answer of the cluster is awaited" });
  }
  if (provider.type === "closed") return idle({ application: applicationFailed(provider.message), target: targetReached });

  const application = chooseApplication(observation, nowMs);
  return "type" in application ? application : planSecret(observation, { application, secret: target.secret, nowMs });
}

interface SecretPlanOptions {
  readonly application: Application;
  readonly secret: TargetSecret | undefined;
  readonly nowMs: number;
}

/** The steps that bring the runtime's Secret into line with its application. */
function planSecret(observation: Observation, { application, secret, nowMs }: SecretPlanOptions): Step {
  const { tenant, provider, settings } = observation;
  const { endpoints, secrets } = tenant;
  const owner = ownerOfObservation(observation);
  if (secret && !isUsedBy(secret, application) && ownershipOfTarget(secret, owner) !== "ours") {
    const { namespace, name } = settings.targetSecret;
    const message = `Secret ${namespace}/${name} exists in the cluster of the runtime and was not made for this application; it was left as it is: remove it`;
    return idle({ application: applicationCreated, secret: { holds: false, reason: "SecretConflict", message }, target: targetReached });
  }
  if (!endpoints) return { type: "look", at: "endpoints" };
  if (!secrets) return { type: "look", at: "secrets", id: application.id };

  const hints = secrets.map(({ hint }) => hint);
  const overlaps = provider.type === "open" && provider.secretsOverlap;
  const unknown = hints.filter((hint) => hint !== secret?.noted.hint);
  const issue = (why: "first" | "repair" | "rotation"): Step => {
    // In a Secret that was adopted, any of them may be in use.
    if (unknown.length > maxUnknownSecrets && (why !== "rotation" || secret?.noted.hint !== undefined))
      return { type: "deleteSecrets", id: application.id, hints: unknown };
    return { type: "issue", why, application, endpoints, known: hints };
  };
  const state = stateOf(secret, { application, owner });
  if (state === "missing" || state === "lost") return issue(observation.object.status?.secret ? "repair" : "first");
  const { rotateAfterMs, overlapMs, checkCredentials } = settings;
  const { issuedAtMs, noted } = state.secret;
  const isUnlisted = noted.hint !== undefined && !hints.includes(noted.hint);
  // Providers that keep one secret at a time may not list it; if they list one, that is the one.
  if (isUnlisted && !overlaps && hints.length > 0) return issue("repair");
  const unlisted = isUnlisted && overlaps ? lookAtUnlisted(observation, issuedAtMs, nowMs) : undefined;
  if (unlisted === "lost") return issue("repair");
  if (unlisted && "type" in unlisted) return unlisted;
  const validToMs = secrets.find(({ hint }) => hint === noted.hint)?.validToMs;
  const rotateAtMs = earliest([
    rotateAfterMs > 0 ? issuedAtMs + rotateAfterMs : undefined,
    // One that never works for as long as the overlap is not replaced again and again.
    validToMs === undefined ? undefined : Math.max(validToMs - overlapMs, (issuedAtMs + validToMs) / 2),
  ]);
  if (rotateAtMs !== undefined && nowMs >= rotateAtMs) return issue("rotation");
  if (state.type === "incomplete" || state.secret.tokenUrl !== endpoints.tokenUrl || state.secret.certsUrl !== endpoints.jwksUrl) {
    return { type: "mend", application, endpoints };
  }
  // Whose hint is not known may be in use: where a Secret was adopted, nothing is deleted before the first rotation.
  const old = noted.hint === undefined || !overlaps || isUnlisted ? [] : unknown;
  if (old.length > 0 && nowMs >= issuedAtMs + overlapMs) return { type: "deleteSecrets", id: application.id, hints: old };

  const sweep = sweepDuplicates(observation, application, nowMs);
  if ("type" in sweep) return sweep;
  const credentials = checkCredentials ? credentialsReport(observation, issuedAtMs) : undefined;
  if (credentials === "unchecked") return { type: "check" };
  return {
    ...idle({ application: applicationCreated, secret: secretCreated, target: targetReached, ...(credentials && { credentials }) }),
    complete: credentials?.holds ?? true,
    nextAtMs: earliest([
      rotateAtMs,
      unlisted?.nextAtMs,
      sweep.nextAtMs,
      old.length > 0 ? issuedAtMs + overlapMs : undefined,
      credentials?.holds === false ? nowMs + checkAgainMs : undefined,
    ]),
  };
}

/**
 * The client secret is not on the provider's list, which may be late, or wrong for ever. That it is gone is proven by the token endpoint alone, once a
 * new one has had the time to become known there.
 */
function lookAtUnlisted({ tenant, settings }: Observation, issuedAtMs: number, nowMs: number): "lost" | Step | { readonly nextAtMs: number } {
  const knownByMs = issuedAtMs + settings.shownWithinMs;
  if (issuedAtMs <= nowMs && nowMs < knownByMs) return { nextAtMs: knownByMs };
  if (!tenant.credentials) return { type: "check" };
  return tenant.credentials.reason === "CredentialsRefused" ? "lost" : { nextAtMs: nowMs + checkAgainMs };
}

type SecretState = "missing" | "lost" | { readonly type: "good" | "incomplete"; readonly secret: TargetSecret };

/** What the Secret in the cluster is worth. */
function stateOf(
  secret: TargetSecret | undefined,
  { application, owner }: { readonly application: Application; readonly owner: Owner },
): SecretState {
  if (!secret) return "missing";
  if (!isUsedBy(secret, application) || secret.digest === undefined) return "lost";
  const { noted } = secret;
  // Edited.
  if (noted.digest !== undefined && noted.digest !== secret.digest) return "lost";
  const isComplete = ownershipOfTarget(secret, owner) === "ours" && noted.application === application.id && noted.digest !== undefined;
  return { type: isComplete ? "good" : "incomplete", secret };
}

/** What is reported about credentials of this date, or that it is not known yet. */
function credentialsReport({ object, tenant }: Observation, issuedAtMs: number): ConditionReport | "unchecked" {
  if (tenant.credentials) return tenant.credentials;
  const before = object.status?.conditions?.find(({ type }) => type === "CredentialsValid");
  const issuedAt = new Date(issuedAtMs).toISOString();
  if (before?.status !== "True" || !before.message.includes(issuedAt)) return "unchecked";
  return { holds: true, reason: "TokenIssued", message: before.message };
}

/** Nothing can be observed or done in the cluster. What was reported about application and Secret stays, but nobody should take it for certain. */
function withoutTarget({ object }: Observation, { reason, message }: TargetTrouble): Idle {
  const report: ConditionReport = { holds: false, reason, message };
  const reports: ConditionReports = { target: report, blocker: report, ...(!object.status?.secret && { secret: secretFailed(message) }) };
  return { ...idle(reports), quiet: reason === "TargetConnecting" };
}
