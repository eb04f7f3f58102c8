// Carries one step out and resolves to what is then known. What fails is thrown; what was done before stays, and the next run finds it.
import {
  type Client,
  fieldManagerOf,
  isApiError,
  isBeingDeleted,
  type PlannedEvent,
  type Run,
  Secret,
  type Stored,
  TransientError,
} from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import { askedAtAnnotation, EventingAuth, providerAnnotation } from "./api.ts";
import { intentOf } from "./application-choice.ts";
import { applicationCreated, type ConditionReport, reportOf, type StatusFacts, statusOf, tokenIssued } from "./conditions.ts";
import { patienceWithTarget } from "./deletion-plan.ts";
import { IdentityError } from "./identity/provider-http.ts";
import type { ApplicationOwner, ApplicationRef, IdentityProvider, IssuedSecret } from "./identity/provider.ts";
import { type Observation, ownerOfObservation, type SharedBySteps } from "./observe.ts";
import type { Act, Look } from "./step.ts";
import type { EventReason } from "./reasons.ts";
import { credentialsIn, keepTargetSecret, type TargetSecret, targetSecretObject } from "./target-secret.ts";
import { askTarget, type Target, TargetError } from "./target.ts";

/** What one step is carried out with. */
export interface StepContext {
  readonly run: Run;
  /** What the plan was made for. */
  readonly nowMs: number;
  readonly controller: string;
  readonly provider: IdentityProvider | undefined;
  readonly target: { readonly client: Client; readonly wrote: Target["wrote"] } | undefined;
  readonly shared: SharedBySteps;
  readonly record: (event: PlannedEvent & { readonly reason: EventReason }) => void;
  /** Called after each write to the object: a failure is reported on the object as it then is. */
  readonly onWritten: (object: Stored<EventingAuth>) => void;
  readonly onIssued: (why: ActOf<"issue">["why"]) => void;
  /** Called when an application was asked for; with undefined once nothing that was asked for is to be awaited any more. */
  readonly onAsked: (atMs: number | undefined) => void;
  /** Called when nobody knows what became of a request for the Secret in the runtime's cluster. */
  readonly onUnheard: (atMs: number) => void;
  /** Looks for a few applications of other objects. */
  readonly lookForOthers: () => Promise<NonNullable<Observation["tenant"]["others"]>>;
}

/** The change of one type. */
type ActOf<Type extends Act["type"]> = Extract<Act, { readonly type: Type }>;

/** Asks the identity provider. Resolves to the observation with its response. */
export async function carryOutLook(step: Look, observation: Observation, context: StepContext): Promise<Observation> {
  const { signal } = context.run;
  const provider = providerOf(context);
  const known = (tenant: Observation["tenant"]): Observation => ({ ...observation, tenant: { ...observation.tenant, ...tenant } });
  switch (step.at) {
    case "application":
      return known({ application: (await provider.read(refTo(step.id, observation, context), signal)) ?? "gone" });
    case "namesakes":
      return known({ namesakes: await provider.find(applicationOwner(observation, context), signal) });
    case "candidate":
      return known({ candidate: (await readCandidate(refTo(step.id, observation, context), provider, signal)) ?? "gone" });
    case "others":
      return known({ others: await context.lookForOthers() });
    case "secrets":
      return known({ secrets: await provider.listSecrets(refTo(step.id, observation, context), signal) });
    case "endpoints":
    default:
      return known({ endpoints: await provider.endpoints(signal) });
  }
}

async function readCandidate(ref: ApplicationRef, provider: IdentityProvider, signal: AbortSignal): Promise<Observation["tenant"]["candidate"]> {
  const application = await provider.read(ref, signal);
  if (!application) return undefined;
  const secrets = await provider.listSecrets(ref, signal);
  return { ...application, hasCredentials: application.clientId !== undefined || secrets.length > 0 };
}

/** Makes a change. Resolves to the observation after it. */
export async function carryOutAct(step: Act, observation: Observation, context: StepContext): Promise<Observation> {
  switch (step.type) {
    case "create":
      return createApplication(observation, context);
    case "redate":
      return recordAsked("redated", observation, context);
    case "settle":
      return recordAsked("settled", observation, context);
    case "adopt":
      return adoptApplication(step, observation, context);
    case "locate":
      return locateApplication(observation, context);
    case "forget":
      return replaceApplication(observation, context);
    case "deleteApplication":
      return deleteApplication(step, observation, context);
    case "issue":
      return issueSecret(step, observation, context);
    case "mend":
      return mendSecret(step, observation, context);
    case "deleteSecrets":
      return deleteOldSecrets(step, observation, context);
    case "check":
      return { ...observation, tenant: { ...observation.tenant, credentials: await checkCredentials(observation, context) } };
    case "deleteTargetSecret":
      return deleteTargetSecret(observation, context);
    case "forgetGrant":
    default:
      return forgetGrant(observation, context);
  }
}

/** Without the grant nothing can be proven of an application, should the object not be let go after that: so its id goes first. */
async function forgetGrant(observation: Observation, context: StepContext): Promise<Observation> {
  const after = observation.object.status?.iasApplication ? await forgetApplication(observation, context) : observation;
  await context.shared.grants.forget();
  return after;
}

// Applications, and what the status says of them.

/**
 * Makes an application. That one is asked for is written down first, and its id before anything else is made. Of two replicas only one gets that far,
 * and whatever is lost on the way, the next run finds the application by the trace in it and goes on with it.
 */
async function createApplication(observation: Observation, context: StepContext): Promise<Observation> {
  const provider = providerOf(context);
  if (context.shared.hasAsked)
    throw new TransientError("an application was asked for in this run; the next run sees what became of it", { reason: "Conflict" });
  context.shared.hasAsked = true;
  const before = intentOf(observation);
  // What this process itself asked for has failed, which was said.
  if (before !== undefined && observation.askedAtMs === undefined && !provider.listMade) {
    const { name } = observation.object.metadata;
    const message = `a client was asked for at ${new Date(before).toISOString()}, and nobody knows what became of it: if it was made, it is left at the server with the name ${name}, and nobody has its credentials`;
    context.record({ type: "Warning", reason: "ApplicationMayBeLeft", message });
  }
  const asking = await recordAsked("asking", observation, context);
  const created = await provider.create(applicationOwner(asking, context), context.run.signal);
  const object = await recordApplication(asking, created.id, context);
  context.shared.firstSecret = created.secret;
  context.record({ type: "Normal", reason: "ApplicationCreated", message: `application ${created.id} was created` });
  return {
    ...asking,
    object,
    tenant: {
      ...known(observation),
      // Where a list shows whose an application is, it has to, before it gets a secret: the response may have named another one.
      ...(!provider.listMade && { application: { id: created.id, clientId: created.clientId, trace: "ours" } }),
      secrets: created.secret ? [{ hint: created.secret.hint, validToMs: undefined }] : [],
    },
  };
}

/**
 * Records when an application was asked for: `asking` now, and of this provider, or `redated` to now, or that nothing is awaited any more, `settled`, for
 * all of which the object must still be as it was observed; or `never`, when the object is being deleted and its application was deleted for certain,
 * so that the next run does not await it.
 */
async function recordAsked(when: "asking" | "redated" | "settled" | "never", before: Observation, context: StepContext): Promise<Observation> {
  const { askedAtMs: _before, ...observation } = before;
  const { namespace = "", name, uid, resourceVersion, annotations } = observation.object.metadata;
  const askedAtMs = when === "asking" || when === "redated" ? context.nowMs : undefined;
  if (askedAtMs === undefined) context.onAsked(undefined);
  if (askedAtMs === undefined && annotations?.[askedAtAnnotation] === undefined) return observation;
  const metadata =
    askedAtMs === undefined
      ? { uid, ...(when === "settled" && { resourceVersion }), annotations: { [askedAtAnnotation]: null } }
      : { uid, resourceVersion, annotations: { [askedAtAnnotation]: new Date(askedAtMs).toISOString(), ...(when === "asking" && located(context)) } };
  const object = await context.run.client.mergePatch(EventingAuth, { namespace, name }, { metadata }, writerOf(context));
  if (askedAtMs !== undefined) context.onAsked(askedAtMs);
  context.onWritten(object);
  return { ...observation, object, ...(askedAtMs !== undefined && { askedAtMs }) };
}

/** Deletes the application whose id is in the status, or another one that carries the object's mark. */
async function deleteApplication({ id }: ActOf<"deleteApplication">, observation: Observation, context: StepContext): Promise<Observation> {
  await providerOf(context).delete(refTo(id, observation, context), context.run.signal);
  const { object, tenant } = observation;
  const isRecorded = object.status?.iasApplication?.uuid === id;
  const deleted: Observation = {
    ...observation,
    tenant: isRecorded
      ? { ...known(observation), application: "deleted" }
      : { ...tenant, namesakes: tenant.namesakes?.filter((each) => each.id !== id) ?? [] },
  };
  if (isBeingDeleted(object)) return recordAsked("never", deleted, context);
  if (!isRecorded)
    context.record({ type: "Warning", reason: "DuplicateDeleted", message: `application ${id}, a second one for this object, was deleted` });
  return deleted;
}

/** Writes down that an application is this object's. */
async function adoptApplication({ id }: ActOf<"adopt">, observation: Observation, context: StepContext): Promise<Observation> {
  const object = await recordApplication(observation, id, context);
  context.record({
    type: "Normal",
    reason: "Adopted",
    message: `application ${id} was made for this object, or an annotation names it; it is its own`,
  });
  return { ...observation, object, tenant: known(observation) };
}

/** Writes down where the application is, so that another identity provider that does not have it proves nothing. */
async function locateApplication(observation: Observation, context: StepContext): Promise<Observation> {
  const { namespace = "", name, uid } = observation.object.metadata;
  const patch = { metadata: { uid, annotations: located(context) } };
  const object = await context.run.client.mergePatch(EventingAuth, { namespace, name }, patch, writerOf(context));
  context.onWritten(object);
  return { ...observation, object };
}

function located(context: StepContext): Readonly<Record<string, string>> {
  return { [providerAnnotation]: providerOf(context).url };
}

/** Another one is made after that, unless the provider has one for the object. */
async function replaceApplication(observation: Observation, context: StepContext): Promise<Observation> {
  const after = await forgetApplication(observation, context);
  const id = observation.object.status?.iasApplication?.uuid ?? "";
  const problem = providerOf(context).listMade ? "is gone" : "is gone, or can no longer be managed and is left there";
  if (observation.tenant.application === "gone")
    context.record({ type: "Warning", reason: "ApplicationGone", message: `application ${id} ${problem}; another one is made` });
  return after;
}

/** Takes the id of an application out of the status, whoever wrote it there: an apply would leave what the predecessor or a person owns. */
async function forgetApplication(observation: Observation, context: StepContext): Promise<Observation> {
  const { name, namespace = "", uid, resourceVersion } = observation.object.metadata;
  const patch = { metadata: { uid, resourceVersion }, status: { iasApplication: null } };
  const object = await context.run.client.mergePatch(EventingAuth, { namespace, name }, patch, { ...writerOf(context), subresource: "status" });
  context.onWritten(object);
  return { ...observation, object, tenant: known(observation) };
}

function recordApplication(observation: Observation, id: string, context: StepContext): Promise<Stored<EventingAuth>> {
  return recordStatus(observation, { iasApplication: { name: observation.object.metadata.name, uuid: id } }, context);
}

/** Writes the status if the object is still the one that was observed; fails with `Conflict` if not. */
async function recordStatus({ object }: Observation, facts: StatusFacts, context: StepContext): Promise<Stored<EventingAuth>> {
  const { name, namespace = "", uid, resourceVersion } = object.metadata;
  // As the predecessor has it, the application is there from now on, whatever becomes of the Secret.
  const reports = facts.iasApplication === undefined ? {} : { application: applicationCreated };
  const status = statusOf(reportOf(object, reports, facts), object, context.nowMs);
  const applied: EventingAuth = { metadata: { name, namespace, uid, resourceVersion }, spec: undefined, status };
  const written = await context.run.client.apply(EventingAuth, applied, { ...writerOf(context), force: true, subresource: "status" });
  context.onWritten(written);
  return written;
}

/** What stays known of a tenant when its applications have changed. */
function known({ tenant }: Observation): Observation["tenant"] {
  return tenant.endpoints ? { endpoints: tenant.endpoints } : {};
}

// The Secret in the runtime's cluster, and the client secrets that are written there.

/** Issues a client secret and writes it to the runtime's cluster. */
async function issueSecret(step: ActOf<"issue">, observation: Observation, context: StepContext): Promise<Observation> {
  const provider = providerOf(context);
  const { signal } = context.run;
  const ref = refTo(step.application.id, observation, context);
  let issued: IssuedSecret;
  try {
    issued = context.shared.firstSecret ?? (await provider.issueSecret(ref, { rotate: step.why === "rotation", known: step.known }, signal));
  } catch (error) {
    // Of an application that was just made no secret can be lost: another would give none either.
    if (!(error instanceof IdentityError) || error.code !== "SecretLost" || context.shared.hasAsked) throw error;
    return { ...observation, tenant: { ...observation.tenant, secretLost: true } };
  }
  context.shared.firstSecret = undefined;
  let after: Observation;
  let clientId: string;
  try {
    clientId = await clientIdOf(step, observation, context);
    const content = targetSecretObject({
      place: observation.settings.targetSecret,
      owner: ownerOfObservation(observation),
      application: step.application.id,
      endpoints: step.endpoints,
      issuedAtMs: context.nowMs,
      credentials: { type: "new", clientId, clientSecret: issued.secret, hint: issued.hint },
    });
    after = await write(content, observation, context);
  } catch (error) {
    // Not even sent, or refused for certain, so nobody has it. After a lost response it may be in the cluster, and stays: the next run sees which.
    const isUnwritten = error instanceof IdentityError || (error instanceof TargetError && isRefused(error.cause));
    if (isUnwritten && provider.secretsOverlap) await provider.deleteSecret(ref, issued.hint, signal);
    throw error;
  }
  context.onIssued(step.why);
  context.record(issuedEvents[step.why]);
  // What is known of the credentials before these says nothing about them.
  const { credentials: _before, ...tenant } = after.tenant;
  const secrets = [...(tenant.secrets ?? []), { hint: issued.hint, validToMs: undefined }];
  return { ...after, tenant: { ...tenant, application: { ...step.application, clientId }, secrets } };
}

/** IAS generates the client ID with the first secret. */
async function clientIdOf({ application }: ActOf<"issue">, observation: Observation, context: StepContext): Promise<string> {
  if (application.clientId !== undefined) return application.clientId;
  const read = await providerOf(context).read(refTo(application.id, observation, context), context.run.signal);
  if (read?.clientId !== undefined) return read.clientId;
  const problem = read ? "has a secret and no client ID" : "is not there";
  throw new IdentityError(`failed to retrieve client ID: application ${application.id} ${problem}`, { code: "Transient", operation: "read" });
}

const issuedEvents = {
  first: { type: "Normal", reason: "SecretIssued", message: "credentials were written to the cluster of the runtime" },
  repair: {
    type: "Warning",
    reason: "SecretRepaired",
    message: "the Secret in the cluster of the runtime was missing or changed; it has new credentials",
  },
  rotation: { type: "Normal", reason: "SecretRotated", message: "the Secret in the cluster of the runtime has new credentials" },
} as const;

/** Puts right what is not secret about the Secret, the labels of its owner included. */
async function mendSecret({ application, endpoints }: ActOf<"mend">, observation: Observation, context: StepContext): Promise<Observation> {
  const secret = secretIn(observation);
  if (secret?.digest === undefined) throw new Error("a Secret without a client secret cannot be mended");
  const content = targetSecretObject({
    place: observation.settings.targetSecret,
    owner: ownerOfObservation(observation),
    application: application.id,
    endpoints,
    issuedAtMs: secret.issuedAtMs,
    credentials: { type: "kept", digest: secret.digest, hint: secret.noted.hint },
  });
  if (secret.noted.application === undefined) {
    context.record({
      type: "Normal",
      reason: "Adopted",
      message: `the Secret in the cluster of the runtime is that of application ${application.id}, and is kept`,
    });
  }
  return write(content, observation, context);
}

/** Deletes client secrets that nobody should use any more. */
async function deleteOldSecrets(step: ActOf<"deleteSecrets">, observation: Observation, context: StepContext): Promise<Observation> {
  for (const hint of step.hints) await providerOf(context).deleteSecret(refTo(step.id, observation, context), hint, context.run.signal);
  const message = `client secrets that nobody should use any more were deleted: ${step.hints.length}`;
  context.record({ type: "Normal", reason: "OldSecretsDeleted", message });
  const secrets = observation.tenant.secrets?.filter(({ hint }) => !step.hints.includes(hint)) ?? [];
  return { ...observation, tenant: { ...observation.tenant, secrets } };
}

/** Deletes the Secret that was observed. */
async function deleteTargetSecret(observation: Observation, context: StepContext): Promise<Observation> {
  const [target, secret] = [targetOf(context), secretIn(observation)];
  if (!secret) return observation;
  const { uid, resourceVersion } = secret;
  try {
    await askTarget(() => target.client.delete(Secret, observation.settings.targetSecret, { uid, resourceVersion }, context.run.signal));
  } catch (cause) {
    if (!(cause instanceof TargetError)) throw cause;
    const { isOver, advice } = patienceWithTarget(observation, context.nowMs);
    if (!isOver) throw new TargetError(`${cause.message}; ${advice}`, { cause });
    // A cluster that answers and does not let go of the Secret holds the object no longer than one that does not answer.
    return { ...observation, target: { type: "observed", secret, trouble: { reason: "TargetForbidden", message: cause.message } } };
  }
  target.wrote(undefined, uid);
  return { ...observation, target: { type: "observed", secret: undefined } };
}

/** Fetches a token. That the endpoint cannot be asked is reported too: it blocks nothing. */
async function checkCredentials(observation: Observation, context: StepContext): Promise<ConditionReport> {
  const observed = secretIn(observation);
  const secret = await askTarget(() => targetOf(context).client.get(Secret, observation.settings.targetSecret, context.run.signal));
  const credentials = secret && credentialsIn(secret);
  if (!observed || !credentials || secret.metadata.resourceVersion !== observed.resourceVersion) {
    throw new TransientError("the Secret in the cluster of the runtime has changed meanwhile", { reason: "Conflict" });
  }
  try {
    if (await providerOf(context).accepts(credentials, context.run.signal)) return tokenIssued(observed.issuedAtMs);
    return { holds: false, reason: "CredentialsRefused", message: "the token endpoint does not accept the credentials" };
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error;
    return { holds: false, reason: "TokenEndpointFailed", message: error.message };
  }
}

/** Writes only to what was observed: a Secret that somebody made or changed since is looked at first. */
async function write(content: Secret, observation: Observation, context: StepContext): Promise<Observation> {
  const target = targetOf(context);
  const found = secretIn(observation);
  const stored = await askTarget(() => (found ? patch(found, content, observation, context) : make(content, context)));
  target.wrote(stored, stored.metadata.uid);
  return { ...observation, target: { type: "observed", secret: keepTargetSecret(stored) } };
}

/** What is on its way when nobody waits for the response any more may arrive after the object has gone. A patch is of what is there, and does no harm then. */
async function make(content: Secret, context: StepContext): Promise<Stored<Secret>> {
  try {
    return await targetOf(context).client.create(Secret, content, writerOf(context), context.run.signal);
  } catch (error) {
    if (!isRefused(error)) context.onUnheard(context.nowMs);
    throw error;
  }
}

/** Whether a cluster has turned a request away for certain. */
function isRefused(error: unknown): boolean {
  return isApiError(error) && error.status < 500;
}

/** A merge patch, because other parts of the Secret may be other people's. */
function patch(
  { uid, resourceVersion }: TargetSecret,
  { metadata, data }: Secret,
  { settings }: Observation,
  context: StepContext,
): Promise<Stored<Secret>> {
  const change = { metadata: { uid, resourceVersion, labels: metadata.labels, annotations: metadata.annotations }, data };
  return targetOf(context).client.mergePatch(Secret, settings.targetSecret, change, writerOf(context), context.run.signal);
}

function secretIn({ target }: Observation): TargetSecret | undefined {
  return target.type === "observed" ? target.secret : undefined;
}

// Means of the run.

/** Whose application it is, as identity providers want to know it. */
function applicationOwner({ object }: Observation, { shared, run: { permit } }: StepContext): ApplicationOwner {
  return { name: object.metadata.name, uid: object.metadata.uid, grants: shared.grants, permit };
}

/** An application of the object. */
function refTo(id: string, observation: Observation, context: StepContext): ApplicationRef {
  return { ...applicationOwner(observation, context), id };
}

/** The identity provider, which is open whenever a step at it was planned. */
function providerOf({ provider }: StepContext): IdentityProvider {
  if (!provider) throw new Error("a step was planned at an identity provider that is not open");
  return provider;
}

/** The runtime's cluster, which is open whenever a step in it was planned. */
function targetOf({ target }: StepContext): NonNullable<StepContext["target"]> {
  if (!target) throw new Error("a step was planned in a cluster that is not open");
  return target;
}

/** Who writes. */
function writerOf({ controller }: Pick<StepContext, "controller">): { readonly fieldManager: string } {
  return { fieldManager: fieldManagerOf(keyturn, controller) };
}
