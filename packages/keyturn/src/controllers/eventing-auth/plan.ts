// The next step for an EventingAuth that is there to stay: a pure function of what was observed and the time.
import { earliest, type Owner } from "@keyturn/runtime";
import { askedAtAnnotation } from "./api.ts";
import type { Application } from "./identity/identity-provider.ts";
import { type Observation, ownerOfObservation } from "./observation.ts";
import { applicationCreated, applicationFailed, secretCreated, secretFailed, targetReached, type Verdict, type Verdicts } from "./status.ts";
import type { Rest, Step } from "./step.ts";
import { ownershipOfTarget, type TargetSecret } from "./target-secret.ts";
import type { TargetTrouble } from "./target.ts";

/** A client secret is added for each write that was lost. More than so many unknown ones are only ours, and go before there is another. */
const mostUnknownSecrets = 8;
/** When credentials that were refused are tried again: a new one may take a while to be known everywhere. */
const checkAgainMs = 300_000;

/**
 * Decides the next step.
 *
 * Nothing is made at the identity provider before the runtime's cluster has shown what it has: whether an application is a leftover, and whether a
 * client secret is lost, can only be told from both sides.
 */
export function planStep(observation: Observation, nowMs: number): Step {
  const { isServed, target, provider } = observation;
  if (!isServed) return rest({ hindrance: notServed(observation) });
  if (target.type === "unknown") return withoutTarget(observation, { reason: "KubeconfigNotFound", message: target.message });
  if (target.type === "unseen" || target.trouble) {
    return withoutTarget(observation, target.trouble ?? { reason: "TargetConnecting", message: "the first answer of the cluster is awaited" });
  }
  if (provider.type === "closed") return rest({ application: applicationFailed(provider.message), target: targetReached });

  const application = chooseApplication(observation, target.secret, nowMs);
  return "type" in application ? application : planSecret(observation, { application, secret: target.secret, nowMs });
}

/** The application that this object is to use, or the step that leads to one. */
function chooseApplication({ object, tenant }: Observation, secret: TargetSecret | undefined, nowMs: number): Application | Step {
  const id = object.status?.iasApplication?.uuid;
  if (id !== undefined) {
    if (tenant.application === undefined) return { type: "look", at: "application", id };
    if (typeof tenant.application !== "string") {
      if (!tenant.secretLost) return tenant.application;
      return { type: "deleteApplication", id };
    }
    // An id in the status is always one that exists or did: a crash while another is made must leave that one to be found.
    return (tenant.application === "gone" && waitForApplication(object, nowMs)) || { type: "forget" };
  }
  if (tenant.namesakes === undefined) return { type: "look", at: "namesakes" };
  const own = tenant.namesakes.find(({ isOurs }) => isOurs);
  if (own) return { type: "adopt", id: own.id };
  const [namesake, ...others] = tenant.namesakes;
  if (namesake === undefined) return waitForApplication(object, nowMs) ?? { type: "create" };
  if (others.length === 0 && secret?.clientId !== undefined) {
    if (tenant.namesake === undefined) return { type: "look", at: "namesake", id: namesake.id };
    if (tenant.namesake !== "gone" && isUsedBy(secret, tenant.namesake)) return { type: "adopt", id: namesake.id };
  }
  return rest({ application: applicationFailed(foreignNamesakes(object.metadata.name, tenant.namesakes)), target: targetReached });
}

/**
 * A new application may take a while to be shown, and the answer to the request for it may have been lost. So long nothing is concluded from its not
 * being there, and there is never more than one request for an application in this time.
 */
const shownWithinMs = 60_000;
const firstLookMs = 1_000;

/** While an application that was asked for may still turn up: what is said about it, and when to look again, more and more rarely. */
export function awaitedApplication(
  { metadata }: Observation["object"],
  nowMs: number,
): { readonly message: string; readonly nextAtMs: number } | undefined {
  const askedAt = metadata.annotations?.[askedAtAnnotation] ?? "";
  const sinceMs = nowMs - Date.parse(askedAt);
  // A time to come, or none at all, is nothing to wait for.
  if (!(sinceMs >= 0 && sinceMs < shownWithinMs)) return undefined;
  const message = `an application was asked for at ${askedAt} and is not shown yet; it is looked for, and no other is made in the minute after that`;
  return { message, nextAtMs: nowMs + Math.min(Math.max(sinceMs, firstLookMs), shownWithinMs - sinceMs) };
}

function waitForApplication(object: Observation["object"], nowMs: number): Rest | undefined {
  const awaited = awaitedApplication(object, nowMs);
  if (!awaited) return undefined;
  const { message, nextAtMs } = awaited;
  const before = object.status?.conditions?.find(({ type }) => type === "IASApplicationReady");
  // What the provider said when it was asked tells more.
  const application: Verdict | undefined =
    before?.reason === applicationFailed("").reason ? undefined : { holds: false, reason: "InProgress", message };
  return { ...rest({ ...(application && { application }), target: targetReached }), nextAtMs };
}

/** Whether a Secret is of an application. One without a client ID has none. */
export function isUsedBy(secret: TargetSecret | undefined, { clientId }: Application): secret is TargetSecret {
  return clientId !== undefined && secret?.clientId === clientId;
}

function foreignNamesakes(name: string, { length }: readonly unknown[]): string {
  const found = length === 1 ? `found an application with the name ${name}` : `found multiple applications with the same name ${name}`;
  return `${found}; nothing shows that it was made for this object, so it was left as it is and no other was made: delete or rename it`;
}

interface Judged {
  readonly application: Application;
  readonly secret: TargetSecret | undefined;
  readonly nowMs: number;
}

/** The steps that bring the runtime's Secret into line with its application. */
function planSecret(observation: Observation, { application, secret, nowMs }: Judged): Step {
  const { tenant, provider, settings } = observation;
  const { endpoints, secrets } = tenant;
  const owner = ownerOfObservation(observation);
  if (secret && !isUsedBy(secret, application) && ownershipOfTarget(secret, owner) !== "ours") {
    const { namespace, name } = settings.targetSecret;
    const message = `Secret ${namespace}/${name} exists in the cluster of the runtime and was not made for this application; it was left as it is: remove it`;
    return rest({ application: applicationCreated, secret: { holds: false, reason: "SecretConflict", message }, target: targetReached });
  }
  if (!endpoints) return { type: "look", at: "endpoints" };
  if (!secrets) return { type: "look", at: "secrets", id: application.id };

  const hints = secrets.map(({ hint }) => hint);
  const overlaps = provider.type === "open" && provider.secretsOverlap;
  const issue = (why: "first" | "repair" | "rotation"): Step => ({ type: "issue", why, application, endpoints, known: hints });
  // Providers that keep one secret at a time may not tell of it.
  const state = stateOf(secret, { application, owner, hints: overlaps || hints.length > 0 ? hints : undefined });
  if (state === "missing" || state === "lost") {
    const unknown = hints.filter((hint) => hint !== secret?.noted.hint);
    if (unknown.length > mostUnknownSecrets) return { type: "deleteSecrets", id: application.id, hints: unknown };
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
  if (state.type === "unmarked" || state.secret.tokenUrl !== endpoints.tokenUrl || state.secret.certsUrl !== endpoints.jwksUrl) {
    return { type: "mend", application, endpoints };
  }
  // Whose hint is not known may be in use: where a Secret was adopted, nothing is deleted before the first rotation.
  const old = noted.hint === undefined || !overlaps ? [] : hints.filter((hint) => hint !== noted.hint);
  if (old.length > 0 && nowMs >= issuedAtMs + overlapMs) return { type: "deleteSecrets", id: application.id, hints: old };

  const credentials = checkCredentials ? credentialsVerdict(observation, issuedAtMs) : undefined;
  if (credentials === "unchecked") return { type: "check" };
  return {
    ...rest({ application: applicationCreated, secret: secretCreated, target: targetReached, ...(credentials && { credentials }) }),
    settled: credentials?.holds ?? true,
    nextAtMs: earliest([
      rotateAtMs,
      old.length > 0 ? issuedAtMs + overlapMs : undefined,
      credentials?.holds === false ? nowMs + checkAgainMs : undefined,
    ]),
  };
}

type SecretState = "missing" | "lost" | { readonly type: "good" | "unmarked"; readonly secret: TargetSecret };

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
  const marked = ownershipOfTarget(secret, owner) === "ours" && noted.application === application.id && noted.digest !== undefined;
  return { type: marked ? "good" : "unmarked", secret };
}

/** What is reported about credentials of this date, or that it is not known yet. */
function credentialsVerdict({ object, tenant }: Observation, issuedAtMs: number): Verdict | "unchecked" {
  if (tenant.credentials) return tenant.credentials;
  const before = object.status?.conditions?.find(({ type }) => type === "CredentialsValid");
  const issuedAt = new Date(issuedAtMs).toISOString();
  if (before?.status !== "True" || !before.message.includes(issuedAt)) return "unchecked";
  return { holds: true, reason: "TokenIssued", message: before.message };
}

/** What is said when a token was given for credentials; their date tells later whether it is about the present ones. */
export function tokenIssued(issuedAtMs: number): Verdict {
  return { holds: true, reason: "TokenIssued", message: `a token was issued for the credentials of ${new Date(issuedAtMs).toISOString()}` };
}

/** Nothing can be seen or done in the cluster. What was reported about application and Secret stays, but nobody should take it for certain. */
function withoutTarget({ object }: Observation, { reason, message }: TargetTrouble): Rest {
  const verdict: Verdict = { holds: false, reason, message };
  const verdicts: Verdicts = { target: verdict, hindrance: verdict, ...(!object.status?.secret && { secret: secretFailed(message) }) };
  return { ...rest(verdicts), quiet: reason === "TargetConnecting" };
}

function notServed({ settings }: Observation): Verdict {
  const { namespace } = settings.kubeconfigs;
  const message = `EventingAuths count in the namespace ${namespace} only, where the kubeconfigs are; nothing is done for this one: delete it`;
  return { holds: false, reason: "NamespaceNotServed", message };
}

function rest(verdicts: Verdicts): Rest {
  return { type: "rest", verdicts, settled: false, nextAtMs: undefined };
}
