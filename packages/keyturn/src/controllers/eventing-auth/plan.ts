// The next step for one EventingAuth: a pure function of what was observed and the time. After each step, the next is planned anew.
import { earliest, isBeingDeleted, type Moment, type Owner, type Plan } from "@keyturn/runtime";
import { abandonAnnotation, askedAtAnnotation, EventingAuth } from "./api.ts";
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
import type { Application, Endpoints } from "./identity/provider.ts";
import { type Observation, type Observed, ownerOfObservation } from "./observe.ts";
import { ownershipOfTarget, type TargetSecret } from "./target-secret.ts";
import type { TargetTrouble } from "./target.ts";

/** Questions to the identity provider. */
export type Look =
  | { readonly type: "look"; readonly at: "application"; readonly id: string }
  | { readonly type: "look"; readonly at: "namesakes" }
  | { readonly type: "look"; readonly at: "namesake"; readonly id: string }
  | { readonly type: "look"; readonly at: "secrets"; readonly id: string }
  | { readonly type: "look"; readonly at: "endpoints" };

/** Changes, each of which leaves something behind that the next decision can be made from. */
export type Act =
  /** Make an application, and write its id down before anything else. */
  | { readonly type: "create" }
  /** Take the time at which one was asked for, which is still to come by this clock, for now. */
  | { readonly type: "redate" }
  /** Write down that an application which was made for this object before, or which its runtime uses, is this object's. */
  | { readonly type: "adopt"; readonly id: string }
  /** Take the id of an application that is gone out of the status. */
  | { readonly type: "forget" }
  | { readonly type: "deleteApplication"; readonly id: string }
  /** Issue a client secret and write it to the runtime's cluster. */
  | {
      readonly type: "issue";
      readonly why: "first" | "repair" | "rotation";
      readonly application: Application;
      readonly endpoints: Endpoints;
      readonly known: readonly string[];
    }
  /** Put right what is not secret about the Secret. */
  | { readonly type: "mend"; readonly application: Application; readonly endpoints: Endpoints }
  | { readonly type: "deleteSecrets"; readonly id: string; readonly hints: readonly string[] }
  /** Fetch a token with what is in the runtime's cluster. */
  | { readonly type: "check" }
  | { readonly type: "deleteTargetSecret" }
  /** Give up the right to manage the application, before the object is let go. */
  | { readonly type: "forgetGrant" };

/** The end of a deletion: let the object go. */
interface Release {
  readonly type: "release";
  readonly abandoned: readonly string[];
}

/** Nothing more to do for now. */
export interface Idle {
  readonly type: "idle";
  readonly reports: ConditionReports;
  /** True if everything is as it should be, so that the identity provider need not be asked again soon. */
  readonly complete: boolean;
  /** When time alone brings something to do; undefined if it does not. */
  readonly nextAtMs: number | undefined;
  /** True if a watch shows what is awaited, and nothing is worth reporting meanwhile. */
  readonly quiet?: boolean;
}

type Step = Look | Act | Idle | Release;

/** What the runtime carries out: one step, then the next is planned, until there is nothing more to do. */
export interface IssuingPlan extends Plan<Look, Act> {
  /** Set at the end. Without a report nothing is worth reporting. */
  readonly end?: { readonly complete: boolean; readonly report: EventingAuthReport | undefined };
  /** What is left behind when the object is let go. */
  readonly abandoned?: readonly string[];
}

/** Plans what is next, for an EventingAuth that is to stay or to go. */
export function planIssuing(
  { observation, idleUntilMs, checkAfterMs }: Pick<Observed, "observation" | "idleUntilMs" | "checkAfterMs">,
  { nowMs }: Pick<Moment, "nowMs">,
): IssuingPlan {
  if (idleUntilMs !== undefined) return { steps: [], status: [], nextAtMs: idleUntilMs };
  const { object, settings } = observation;
  const step = isBeingDeleted(object) ? planDeletionStep(observation, nowMs) : planStep(observation, nowMs);
  if (step.type === "look") return { steps: [{ verb: "look", at: step }], more: true, status: [] };
  if (step.type === "release") return planRelease(observation, step);
  if (step.type !== "idle") return { steps: [{ verb: "do", action: step }], more: true, status: [] };
  const { targetSecret } = settings;
  const secret = { clusterId: object.metadata.name, namespacedName: `${targetSecret.namespace}/${targetSecret.name}` };
  const report = step.quiet ? undefined : reportOf(object, step.reports, step.reports.secret?.holds ? { secret } : {});
  return {
    steps: [],
    status: report ? [report] : [],
    nextAtMs: Math.min(nowMs + checkAfterMs, step.nextAtMs ?? Infinity),
    end: { complete: step.complete, report },
  };
}

function planRelease({ object, isServed, provider }: Observation, { abandoned }: Release): IssuingPlan {
  const hasGrant = isServed && provider.type === "open" && provider.keepsGrants;
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
  const { isServed, target, provider } = observation;
  if (!isServed) return idle({ blocker: notServed(observation) });
  if (target.type === "unknown") return withoutTarget(observation, { reason: "KubeconfigNotFound", message: target.message });
  if (target.type === "unobserved" || target.trouble) {
    return withoutTarget(observation, target.trouble ?? { reason: "TargetConnecting", message: "the first answer of the cluster is awaited" });
  }
  if (provider.type === "closed") return idle({ application: applicationFailed(provider.message), target: targetReached });

  const application = chooseApplication(observation, target.secret, nowMs);
  return "type" in application ? application : planSecret(observation, { application, secret: target.secret, nowMs });
}

/** The application that this object is to use, or the step that leads to one. */
function chooseApplication(observation: Observation, secret: TargetSecret | undefined, nowMs: number): Application | Step {
  const { object, tenant } = observation;
  const id = object.status?.iasApplication?.uuid;
  if (id !== undefined) {
    if (tenant.application === undefined) return { type: "look", at: "application", id };
    if (typeof tenant.application !== "string") {
      if (!tenant.secretLost) return tenant.application;
      return { type: "deleteApplication", id };
    }
    // An id in the status is always one that exists or did: a crash while another is made must leave that one to be found.
    return (tenant.application === "gone" && waitForApplication(observation, nowMs)) || { type: "forget" };
  }
  if (tenant.namesakes === undefined) return { type: "look", at: "namesakes" };
  const own = tenant.namesakes.find(({ isOurs }) => isOurs);
  if (own) return { type: "adopt", id: own.id };
  const [namesake, ...others] = tenant.namesakes;
  if (namesake === undefined) return waitForApplication(observation, nowMs) ?? { type: "create" };
  if (others.length === 0 && secret?.clientId !== undefined) {
    if (tenant.namesake === undefined) return { type: "look", at: "namesake", id: namesake.id };
    if (tenant.namesake !== "gone" && isUsedBy(secret, tenant.namesake)) return { type: "adopt", id: namesake.id };
  }
  return idle({ application: applicationFailed(foreignNamesakes(object.metadata.name, tenant.namesakes)), target: targetReached });
}

/**
 * A new application may take a while to be shown, and the response to the request for it may have been lost. So long nothing is concluded from its not
 * being there, and there is never more than one request for an application in this time.
 */
export const shownWithinMs = 60_000;
const firstLookMs = 1_000;

/** While an application that was asked for may still turn up: what is said about it, and when to look again, more and more rarely. */
function awaitedApplication(
  { object, askedAtMs: rememberedMs }: Observation,
  nowMs: number,
): { readonly message: string; readonly nextAtMs: number } | Extract<Act, { readonly type: "redate" }> | undefined {
  const notedMs = Date.parse(object.metadata.annotations?.[askedAtAnnotation] ?? "");
  const askedAtMs = Number.isNaN(notedMs) ? rememberedMs : notedMs;
  if (askedAtMs === undefined || nowMs - askedAtMs >= shownWithinMs) return undefined;
  // The clock of whoever asked is ahead of ours. How long ago it was cannot be known, and nobody is to wait until that time.
  if (askedAtMs > nowMs) return { type: "redate" };
  const sinceMs = nowMs - askedAtMs;
  const message = `an application was asked for at ${new Date(askedAtMs).toISOString()} and is not shown yet; it is looked for, and no other is made in the minute after that`;
  return { message, nextAtMs: nowMs + Math.min(Math.max(sinceMs, firstLookMs), shownWithinMs - sinceMs) };
}

function waitForApplication(observation: Observation, nowMs: number): Step | undefined {
  const awaited = awaitedApplication(observation, nowMs);
  if (!awaited || "type" in awaited) return awaited;
  const { message, nextAtMs } = awaited;
  const before = observation.object.status?.conditions?.find(({ type }) => type === "IASApplicationReady");
  // What the provider said when it was asked says more.
  const application: ConditionReport | undefined =
    before?.reason === applicationFailed("").reason ? undefined : { holds: false, reason: "InProgress", message };
  return { ...idle({ ...(application && { application }), target: targetReached }), nextAtMs };
}

/** Whether a Secret is of an application. One without a client ID has none. */
function isUsedBy(secret: TargetSecret | undefined, { clientId }: Application): secret is TargetSecret {
  return clientId !== undefined && secret?.clientId === clientId;
}

function foreignNamesakes(name: string, { length }: readonly unknown[]): string {
  const found = length === 1 ? `found an application with the name ${name}` : `found multiple applications with the same name ${name}`;
  return `${found}; nothing shows that it was made for this object, so it was left as it is and no other was made: delete or rename it`;
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
  const issue = (why: "first" | "repair" | "rotation"): Step => ({ type: "issue", why, application, endpoints, known: hints });
  // Providers that keep one secret at a time may not list it.
  const state = stateOf(secret, { application, owner, hints: overlaps || hints.length > 0 ? hints : undefined });
  if (state === "missing" || state === "lost") {
    const unknown = hints.filter((hint) => hint !== secret?.noted.hint);
    if (unknown.length > maxUnknownSecrets) return { type: "deleteSecrets", id: application.id, hints: unknown };
    return issue(observation.object.status?.secret ? "repair" : "first");
  }
  const { rotateAfterMs, overlapMs, checkCredentials } = settings;
  const { issuedAtMs, noted } = state.secret;
  const validToMs = secrets.find(({ hint }) => hint === noted.hint)?.validToMs;
  const rotateAtMs = earliest([
    rotateAfterMs > 0 ? issuedAtMs + rotateAfterMs : undefined,
    validToMs === undefined ? undefined : validToMs - overlapMs,
  ]);
  if (rotateAtMs !== undefined && nowMs >= rotateAtMs) return issue("rotation");
  if (state.type === "incomplete" || state.secret.tokenUrl !== endpoints.tokenUrl || state.secret.certsUrl !== endpoints.jwksUrl) {
    return { type: "mend", application, endpoints };
  }
  // Whose hint is not known may be in use: where a Secret was adopted, nothing is deleted before the first rotation.
  const old = noted.hint === undefined || !overlaps ? [] : hints.filter((hint) => hint !== noted.hint);
  if (old.length > 0 && nowMs >= issuedAtMs + overlapMs) return { type: "deleteSecrets", id: application.id, hints: old };

  const credentials = checkCredentials ? credentialsReport(observation, issuedAtMs) : undefined;
  if (credentials === "unchecked") return { type: "check" };
  return {
    ...idle({ application: applicationCreated, secret: secretCreated, target: targetReached, ...(credentials && { credentials }) }),
    complete: credentials?.holds ?? true,
    nextAtMs: earliest([
      rotateAtMs,
      old.length > 0 ? issuedAtMs + overlapMs : undefined,
      credentials?.holds === false ? nowMs + checkAgainMs : undefined,
    ]),
  };
}

type SecretState = "missing" | "lost" | { readonly type: "good" | "incomplete"; readonly secret: TargetSecret };

/** What the Secret in the cluster is worth. */
function stateOf(
  secret: TargetSecret | undefined,
  { application, owner, hints }: { readonly application: Application; readonly owner: Owner; readonly hints: readonly string[] | undefined },
): SecretState {
  if (!secret) return "missing";
  if (!isUsedBy(secret, application) || secret.digest === undefined) return "lost";
  const { noted } = secret;
  // Edited, or deleted at the identity provider.
  if (noted.digest !== undefined && noted.digest !== secret.digest) return "lost";
  if (hints && noted.hint !== undefined && !hints.includes(noted.hint)) return "lost";
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

function notServed({ settings }: Observation): ConditionReport {
  const { namespace } = settings.kubeconfigs;
  const message = `EventingAuths count in the namespace ${namespace} only, where the kubeconfigs are; nothing is done for this one: delete it`;
  return { holds: false, reason: "NamespaceNotServed", message };
}

function idle(reports: ConditionReports): Idle {
  return { type: "idle", reports, complete: false, nextAtMs: undefined };
}

// The next step for an EventingAuth that is being deleted: its application, then its Secret, then the object itself.

/**
 * Plans the next step. What blocks it is reported. A cluster that does not answer is waited for no longer than `deletionPatienceMs`; an
 * application is given up only if somebody says so in the annotation, because its credentials would go on working.
 */
export function planDeletionStep(observation: Observation, nowMs: number): Step {
  const { object, isServed, target } = observation;
  const recorded = object.status?.iasApplication ? [`application ${object.status.iasApplication.uuid}`] : [];
  // It reaches nothing, also not what an earlier version or the predecessor made for it.
  if (!isServed) return { type: "release", abandoned: recorded };
  // What is there, and whether it is ours, is best decided while the application exists; the response or the trouble is a matter of seconds.
  if (target.type === "unobserved" && target.trouble.reason === "TargetConnecting") {
    return { ...idle({}), quiet: true };
  }
  const abandoned = abandonedParts(object.metadata.annotations?.[abandonAnnotation]);

  const secret = target.type === "observed" && !target.trouble ? target.secret : undefined;
  const application = abandoned.has("application") ? "gone" : deleteApplication(observation, secret, nowMs);
  if (typeof application !== "string") return application;

  const leftBehind = abandoned.has("application") ? recorded : [];
  const targetName = `Secret ${observation.settings.targetSecret.namespace}/${observation.settings.targetSecret.name} in the cluster of the runtime`;
  if (target.type === "unknown") return { type: "release", abandoned: leftBehind };
  if (target.type === "observed" && !target.trouble) {
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
function deleteApplication(observation: Observation, secret: TargetSecret | undefined, nowMs: number): Step | "gone" {
  const { object, tenant, provider } = observation;
  if (provider.type === "closed") return waitingForProvider(provider.message);
  const id = object.status?.iasApplication?.uuid;
  if (id !== undefined) {
    const { endpoints, application } = tenant;
    if (application === undefined) return { type: "look", at: "application", id };
    if (application === "deleted") return "gone";
    // Others of its name are somebody's, and no reason to keep the object.
    if (application === "gone") return waitingForApplication(observation, nowMs) ?? "gone";
    // The Secret of the predecessor has no owner labels. It gets them while its application still shows that it is ours.
    const adopts = isUsedBy(secret, application) && secret.digest !== undefined && secret.noted.application !== application.id;
    if (!adopts) return { type: "deleteApplication", id };
    return endpoints ? { type: "mend", application, endpoints } : { type: "look", at: "endpoints" };
  }
  // One whose id was never written down is known by the trace in it. One that has but the name is somebody's.
  if (tenant.namesakes === undefined) return { type: "look", at: "namesakes" };
  const own = tenant.namesakes.find(({ isOurs }) => isOurs);
  if (own) return { type: "adopt", id: own.id };
  return waitingForApplication(observation, nowMs) ?? "gone";
}

function waitingForApplication(observation: Observation, nowMs: number): Step | undefined {
  const awaited = awaitedApplication(observation, nowMs);
  if (!awaited || "type" in awaited) return awaited;
  return waiting({ holds: false, reason: "DeletionWaiting", message: awaited.message }, { nextAtMs: awaited.nextAtMs });
}

function waitingForProvider(message: string): Idle {
  const advice = `put that right, or leave the application behind with the annotation ${abandonAnnotation}: application`;
  return waiting(
    { holds: false, reason: "DeletionWaiting", message: `${message}; ${advice}` },
    { application: { holds: false, reason: "IASApplicationCreationFailed", message } },
  );
}

function waiting(
  blocker: ConditionReport,
  { nextAtMs, ...reports }: { readonly target?: ConditionReport; readonly application?: ConditionReport; readonly nextAtMs?: number },
): Idle {
  return { ...idle({ ...reports, blocker }), nextAtMs };
}

function abandonedParts(annotation = ""): ReadonlySet<string> {
  return new Set(annotation.split(",").map((part) => part.trim()));
}
