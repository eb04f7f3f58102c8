// Which application is an EventingAuth's, when one is asked for, and when one counts as gone. Pure.
import { adoptAnnotation, askedAtAnnotation, providerAnnotation } from "./api.ts";
import { applicationFailed, type ConditionReport, targetReached } from "./conditions.ts";
import { isSameAddress } from "./identity/discovery.ts";
import type { Application, FoundApplication } from "./identity/provider.ts";
import type { Observation } from "./observe.ts";
import { type Act, idle, type Idle, type Look, type Step } from "./step.ts";

/** The application that this object is to use, or the step that leads to one. */
export function chooseApplication(observation: Observation, nowMs: number): Application | Step {
  const { object, tenant } = observation;
  const id = object.status?.iasApplication?.uuid;
  if (id === undefined) return findApplication(observation, nowMs);
  const { application } = tenant;
  if (application === undefined) return { type: "look", at: "application", id };
  if (typeof application !== "string") {
    if (!isOwn(observation, application)) return leaveForeign(observation, id);
    if (tenant.secretLost) return { type: "deleteApplication", id };
    return isElsewhere(observation) === false ? application : { type: "locate" };
  }
  // An id in the status is always one that exists or did: a crash while another is made must leave that one to be found.
  return (application === "gone" && (waitForApplication(observation, nowMs) ?? doubtOf(observation))) || { type: "forget" };
}

/** Somebody else's stands in the status. Our own may be there too, if a response named another one than it had made. */
function leaveForeign(observation: Observation, id: string): Step {
  const { namesakes } = observation.tenant;
  if (namesakes === undefined) return { type: "look", at: "namesakes" };
  const own = namesakes.find(({ trace }) => trace === "ours");
  if (own) return { type: "adopt", id: own.id };
  return intentOf(observation) === undefined ? blocked(notOurs(id)) : { type: "forget" };
}

/** No id is known: one that was asked for may be there, or somebody names one, or none was ever made. */
function findApplication(observation: Observation, nowMs: number): Step {
  const { object, tenant, adopts } = observation;
  if (adopts !== undefined) return adoptNamed(adopts, observation);
  if (tenant.namesakes === undefined) return { type: "look", at: "namesakes" };
  const own = ownNamesake(observation);
  if (own) return "type" in own ? own : { type: "adopt", id: own.id };
  if (tenant.namesakes.length > 0) return blocked(foreignNamesakes(object.metadata.name, tenant.namesakes));
  return waitForApplication(observation, nowMs) ?? doubtOfIntent(observation) ?? { type: "create" };
}

/**
 * The application of the name that is this object's though its id is not recorded, or the question that shows it. Not every provider shows descriptions in
 * its list, or keeps them at all: one that was asked for, and of which nobody can have credentials, is the one that was made.
 */
export function ownNamesake(observation: Observation): { readonly id: string } | Look | undefined {
  const { namesakes = [], candidate } = observation.tenant;
  const own = namesakes.find(({ trace }) => trace === "ours");
  if (own) return own;
  const [namesake, ...others] = namesakes;
  if (namesake?.trace !== "none" || others.length > 0) return undefined;
  if (candidate === undefined) return { type: "look", at: "candidate", id: namesake.id };
  if (candidate === "gone") return undefined;
  const isAskedFor = intentOf(observation) !== undefined && candidate.trace === "none" && !candidate.hasCredentials;
  return candidate.trace === "ours" || isAskedFor ? namesake : undefined;
}

/** Somebody who may write the object says which application is its own. */
function adoptNamed({ id, claimedBy }: NonNullable<Observation["adopts"]>, { tenant }: Observation): Step {
  const named = `application ${id}, which the annotation ${adoptAnnotation} names,`;
  if (claimedBy !== undefined) return blocked(`${named} is that of ${claimedBy}; it was left as it is: correct the annotation`);
  if (tenant.candidate === undefined) return { type: "look", at: "candidate", id };
  if (tenant.candidate === "gone") return blocked(`${named} is not there: correct the annotation`);
  return { type: "adopt", id };
}

/** Whether an application whose id is recorded is this object's. The predecessor left no marks; another object's mark is proof against it. */
export function isOwn({ adopts }: Observation, { id, trace }: Application): boolean {
  return trace !== "other" || adopts?.id === id;
}

function notOurs(id: string): string {
  return `application ${id}, which is in the status, was made for another object or has another name; it was left as it is: if it is meant, say so with the annotation ${adoptAnnotation}: ${id}`;
}

function foreignNamesakes(name: string, namesakes: readonly FoundApplication[]): string {
  const [first, ...others] = namesakes;
  const found = others.length === 0 ? `found an application with the name ${name}` : `found multiple applications with the same name ${name}`;
  const adoption = others.length === 0 ? `, or adopt it with the annotation ${adoptAnnotation}: ${first?.id ?? ""}` : "";
  return `${found}; nothing shows that it was made for this object, so it was left as it is and no other was made: delete or rename it${adoption}`;
}

function blocked(message: string): Idle {
  return idle({ application: applicationFailed(message), target: targetReached });
}

// What was asked for and may still turn up.

const minuteMs = 60_000;
/** How long a new application may take to be shown once nobody waits for the response to the request for it any more. */
const shownAfterMs = 50_000;
const firstLookMs = 1_000;

/**
 * A new application may take a while to be shown, and the response to the request for it may have been lost. So long nothing is concluded from its not
 * being there, and there is never more than one request for an application in this time: a minute at least, and longer where a request may take long.
 */
export function shownWithin(providerTimeoutMs: number): number {
  return Math.max(minuteMs, providerTimeoutMs + shownAfterMs);
}

/** When an application was last asked for, if what became of it is not settled yet. The annotation can be edited; what this process knows cannot. */
export function intentOf({ object, askedAtMs: rememberedMs }: Pick<Observation, "object" | "askedAtMs">): number | undefined {
  const notedMs = Date.parse(object.metadata.annotations?.[askedAtAnnotation] ?? "");
  return Number.isNaN(notedMs) ? rememberedMs : Math.max(notedMs, rememberedMs ?? notedMs);
}

type Redate = Extract<Act, { readonly type: "redate" }>;

/** While an application that was asked for may still turn up: what is said about it, and when to look again, more and more rarely. */
export function awaitedApplication(
  observation: Observation,
  nowMs: number,
): { readonly message: string; readonly nextAtMs: number } | Redate | undefined {
  const askedAtMs = intentOf(observation);
  const { shownWithinMs } = observation.settings;
  if (askedAtMs === undefined || nowMs - askedAtMs >= shownWithinMs) return undefined;
  // The clock of whoever asked is ahead of ours. How long ago it was cannot be known, and nobody is to wait until that time.
  if (askedAtMs > nowMs) return { type: "redate" };
  const sinceMs = nowMs - askedAtMs;
  const message = `an application was asked for at ${new Date(askedAtMs).toISOString()} and is not shown yet; it is looked for, and no other is made before ${new Date(askedAtMs + shownWithinMs).toISOString()}`;
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
  return idle({ ...(application && { application }), target: targetReached }, nextAtMs);
}

/**
 * One request may make two applications, on its way through something that repeats it. Those with our mark whose id is not the recorded one go, as long
 * as some may turn up, and whenever the list of all applications shows one.
 */
export function sweepDuplicates(observation: Observation, application: Application, nowMs: number): Act | Look | { readonly nextAtMs?: number } {
  const { tenant, isDoubled, settings } = observation;
  const { shownWithinMs } = settings;
  const firstSweepMs = shownWithinMs / 2;
  const askedAtMs = intentOf(observation);
  if (askedAtMs === undefined && !isDoubled) return {};
  if (askedAtMs !== undefined && askedAtMs > nowMs) return { type: "redate" };
  const sinceMs = askedAtMs === undefined ? Infinity : nowMs - askedAtMs;
  if (askedAtMs !== undefined && sinceMs < firstSweepMs && !isDoubled) return { nextAtMs: askedAtMs + firstSweepMs };
  if (tenant.namesakes === undefined) return { type: "look", at: "namesakes" };
  const duplicate = tenant.namesakes.find(({ id, trace }) => trace === "ours" && id !== application.id);
  if (duplicate) return { type: "deleteApplication", id: duplicate.id };
  if (askedAtMs === undefined) return {};
  return sinceMs >= shownWithinMs ? { type: "settle" } : { nextAtMs: askedAtMs + shownWithinMs };
}

// An application that another directory does not have was not deleted; nor were many that are gone at once.

/**
 * The directory says that an application is gone. If it is not the one in which the application was last seen, or if it says the same of most others, it
 * is another one: a wrong URL, another tenant, rights that were taken away. Undefined if there is no such doubt.
 */
export function doubtOf(observation: Observation): Look | Idle | undefined {
  const { provider, tenant } = observation;
  if (provider.type === "open" && provider.replaces) return undefined;
  if (isElsewhere(observation)) return doubted(`this application was last seen at another one, ${seenAt(observation)}`);
  if (tenant.others === undefined) return { type: "look", at: "others" };
  const { asked, missing } = tenant.others;
  return missing * 2 > asked ? doubted(`it has neither this application nor ${missing} of ${asked} others that were looked for`) : undefined;
}

/** The same of one that was asked for at another directory and of which nobody knows whether it was made. */
export function doubtOfIntent(observation: Observation): Idle | undefined {
  const { provider } = observation;
  if (intentOf(observation) === undefined || !isElsewhere(observation) || (provider.type === "open" && provider.replaces)) return undefined;
  return doubted(`an application was asked for at another one, ${seenAt(observation)}, and may have been made there`);
}

function seenAt({ object }: Observation): string | undefined {
  return object.metadata.annotations?.[providerAnnotation];
}

/** Whether the application was last seen at another identity provider than the present one; undefined if that was not written down. */
function isElsewhere(observation: Observation): boolean | undefined {
  const [{ provider }, at] = [observation, seenAt(observation)];
  return at === undefined || provider.type === "closed" ? undefined : !isSameAddress(at, provider.url);
}

function doubted(found: string): Idle {
  const message = `the identity provider may be another one: ${found}; nothing is replaced: put its URL and its credentials right, or, if what is missing is to be made anew there, say so on their Secret (see the guide)`;
  const report: ConditionReport = { holds: false, reason: "ApplicationsMissing", message };
  return idle({ application: applicationFailed(message), target: targetReached, blocker: report });
}
