// Carries one step out and tells what is then known. What fails is thrown; what was done before stays, and the next run finds it.
import {
  type Client,
  type ControllerScope,
  dropFinalizer,
  fieldManagerOf,
  isApiError,
  keyOfObject,
  type Notice,
  type Run,
  Secret,
  type Stored,
  TransientError,
} from "@keyturn/runtime";
import { keyturn } from "../../operator-identity.ts";
import { EventingAuth, eventingAuthFinalizer, type EventingAuthStatus } from "./api.ts";
import type { grantKeeper } from "./grant-keeper.ts";
import { IdentityError } from "./identity/identity-error.ts";
import type { ApplicationRef, IdentityProvider, IssuedSecret } from "./identity/identity-provider.ts";
import { type Observation, ownerOfObservation } from "./observation.ts";
import { tokenIssued } from "./plan.ts";
import type { EventReason } from "./reasons.ts";
import { statusOf, type StatusFacts, type Verdict } from "./status.ts";
import type { Act, Look } from "./step.ts";
import { TargetError, askTarget } from "./target-error.ts";
import { credentialsIn, keepTargetSecret, targetSecretObject } from "./target-secret.ts";
import type { Target } from "./target.ts";

/** What steps are carried out with, in one run. */
export interface StepContext {
  readonly run: Run;
  readonly scope: Pick<ControllerScope, "namespaces" | "clock">;
  readonly controller: string;
  readonly provider: IdentityProvider | undefined;
  readonly target: Target | undefined;
  readonly grants: ReturnType<typeof grantKeeper>;
  readonly notify: (notice: Notice & { readonly reason: EventReason }) => void;
  readonly onIssued: (why: "first" | "repair" | "rotation") => void;
  readonly onAbandoned: () => void;
  /** A secret that came with the application and is still to be written. */
  firstSecret: IssuedSecret | undefined;
}

/** Asks the identity provider. Resolves to the observation with its answer. */
export async function carryOutLook(step: Look, observation: Observation, context: StepContext): Promise<Observation> {
  const { signal } = context.run;
  const provider = providerOf(context);
  const known = (tenant: Observation["tenant"]): Observation => ({ ...observation, tenant: { ...observation.tenant, ...tenant } });
  switch (step.at) {
    case "application":
      return known({ application: (await provider.read(refTo(step.id, observation, context), signal)) ?? "gone" });
    case "namesakes":
      return known({ namesakes: (await provider.find(applicationOwner(observation, context), signal)).map(({ id }) => id) });
    case "namesake":
      return known({ namesake: (await provider.read(refTo(step.id, observation, context), signal)) ?? "gone" });
    case "secrets":
      return known({ secrets: await provider.listSecrets(refTo(step.id, observation, context), signal) });
    case "endpoints":
      return known({ endpoints: await provider.endpoints(signal) });
  }
}

/** Makes a change. Resolves to the observation after it, or to undefined if the object was let go. */
export async function carryOutAct(step: Act, observation: Observation, context: StepContext): Promise<Observation | undefined> {
  const { signal } = context.run;
  switch (step.type) {
    case "create":
      return create(observation, context);
    case "adopt": {
      const object = await recordApplication(observation, step.id, context);
      context.notify({ type: "Normal", reason: "Adopted", message: `application ${step.id} and the Secret that uses it are kept` });
      return { ...observation, object, tenant: known(observation) };
    }
    case "forget":
      return { ...observation, object: await recordStatus(observation, { iasApplication: "none" }, context), tenant: known(observation) };
    case "deleteApplication":
      return deleteApplication(step, observation, context);
    case "issue":
      return issue(step, observation, context);
    case "mend":
      return mend(step, observation, context);
    case "deleteSecrets": {
      for (const hint of step.hints) await providerOf(context).deleteSecret(refTo(step.id, observation, context), hint, signal);
      const count = step.hints.length;
      context.notify({ type: "Normal", reason: "OldSecretsDeleted", message: `${count} client secret(s) that nobody should use any more were deleted` });
      const secrets = observation.tenant.secrets?.filter(({ hint }) => !step.hints.includes(hint)) ?? [];
      return { ...observation, tenant: { ...observation.tenant, secrets } };
    }
    case "check":
      return { ...observation, tenant: { ...observation.tenant, credentials: await check(observation, context) } };
    case "deleteTargetSecret":
      return deleteTargetSecret(observation, context);
    case "release":
      await release(step.abandoned, observation, context);
      return undefined;
  }
}

/** The id is written down before anything else is made, and with it who may go on: of two replicas that both made one, the second takes its own back. */
async function create(observation: Observation, context: StepContext): Promise<Observation> {
  const provider = providerOf(context);
  const created = await provider.create(applicationOwner(observation, context), context.run.signal);
  let object: Stored<EventingAuth>;
  try {
    object = await recordApplication(observation, created.id, context);
  } catch (error) {
    if (isApiError(error)) await provider.delete(refTo(created.id, observation, context), context.run.signal);
    throw error;
  }
  context.firstSecret = created.secret;
  context.notify({ type: "Normal", reason: "ApplicationCreated", message: `application ${created.id} was created` });
  return { ...observation, object, tenant: { ...known(observation), secrets: created.secret ? [{ hint: created.secret.hint, validToMs: undefined }] : [] } };
}

type Of<Type extends Act["type"]> = Extract<Act, { readonly type: Type }>;

async function deleteApplication({ id, why }: Of<"deleteApplication">, observation: Observation, context: StepContext): Promise<Observation> {
  if (id !== observation.object.status?.iasApplication?.uuid) await assertUnclaimed(id, observation, context);
  await providerOf(context).delete(refTo(id, observation, context), context.run.signal);
  if (why === "leftover") {
    context.notify({ type: "Warning", reason: "LeftoverDeleted", message: `application ${id} had this name and nobody knew of it; it was deleted` });
  }
  const isRecorded = id === observation.object.status?.iasApplication?.uuid;
  return { ...observation, tenant: { ...known(observation), ...(isRecorded ? { application: "gone" } : { namesakes: [] }) } };
}

/** The caches may be behind: an application that an EventingAuth of this name knows as its own, in whatever namespace, is no leftover. */
async function assertUnclaimed(id: string, { object }: Observation, { run, scope }: StepContext): Promise<void> {
  const fields = `metadata.name=${object.metadata.name}`;
  const places = scope.namespaces.length > 0 ? scope.namespaces.map((namespace) => ({ namespace, fields })) : [{ fields }];
  for (const selection of places) {
    const { items } = await run.client.list(EventingAuth, selection);
    const claimant = items.find(({ status }) => status?.iasApplication?.uuid === id);
    if (!claimant) continue;
    throw new TransientError(`application ${id} was about to be deleted as a leftover, but belongs to ${keyOfObject(claimant)}`, { reason: "Conflict" });
  }
}

async function issue(step: Of<"issue">, observation: Observation, context: StepContext): Promise<Observation> {
  const provider = providerOf(context);
  const { signal } = context.run;
  const ref = refTo(step.application.id, observation, context);
  let issued: IssuedSecret;
  try {
    issued = context.firstSecret ?? (await provider.issueSecret(ref, { rotate: step.why === "rotation", known: step.known }, signal));
  } catch (error) {
    if (!(error instanceof IdentityError) || error.code !== "SecretLost") throw error;
    return { ...observation, tenant: { ...observation.tenant, secretLost: true } };
  }
  context.firstSecret = undefined;
  const content = targetSecretObject({
    place: observation.settings.targetSecret,
    owner: ownerOfObservation(observation),
    application: step.application.id,
    endpoints: step.endpoints,
    issuedAtMs: context.scope.clock.now(),
    credentials: { type: "new", clientId: step.application.clientId, clientSecret: issued.secret, hint: issued.hint },
  });
  let after: Observation;
  try {
    after = await write(content, observation, context);
  } catch (error) {
    // Refused for certain, so nobody has it. After a lost answer it may be in the cluster, and stays: the next run sees which.
    const isRefused = error instanceof TargetError && isApiError(error.cause) && error.cause.status < 500;
    if (isRefused && provider.secretsOverlap) await provider.deleteSecret(ref, issued.hint, signal);
    throw error;
  }
  context.onIssued(step.why);
  context.notify(issuedNotices[step.why]);
  return { ...after, tenant: { ...after.tenant, secrets: [...(after.tenant.secrets ?? []), { hint: issued.hint, validToMs: undefined }] } };
}

const issuedNotices = {
  first: { type: "Normal", reason: "SecretIssued", message: "credentials were written to the cluster of the runtime" },
  repair: { type: "Warning", reason: "SecretRepaired", message: "the Secret in the cluster of the runtime was missing or changed; it has new credentials" },
  rotation: { type: "Normal", reason: "SecretRotated", message: "the Secret in the cluster of the runtime has new credentials" },
} as const;

async function mend({ application, endpoints }: Of<"mend">, observation: Observation, context: StepContext): Promise<Observation> {
  const secret = observation.target.type === "seen" ? observation.target.secret : undefined;
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
    context.notify({ type: "Normal", reason: "Adopted", message: `the Secret in the cluster of the runtime is that of application ${application.id}, and is kept` });
  }
  return write(content, observation, context);
}

/** Writes only to what was observed: a Secret that somebody made or changed since is looked at first. */
async function write(content: Secret, observation: Observation, context: StepContext): Promise<Observation> {
  const target = targetOf(context);
  const found = observation.target.type === "seen" ? observation.target.secret : undefined;
  const stored = await askTarget(() => (found ? patch(target.client, content, found, context) : target.client.create(Secret, content, manager(context), context.run.signal)));
  target.wrote(stored, stored.metadata.uid);
  return { ...observation, target: { type: "seen", secret: keepTargetSecret(stored) } };
}

/** A merge patch, because other parts of the Secret may be other people's. */
function patch(client: Client, content: Secret, found: { readonly uid: string; readonly resourceVersion: string }, context: StepContext): Promise<Stored<Secret>> {
  const { labels, annotations } = content.metadata;
  const { uid, resourceVersion } = found;
  const change = { metadata: { uid, resourceVersion, labels, annotations }, data: content.data };
  return client.mergePatch(Secret, nameIn(content), change, manager(context), context.run.signal);
}

async function deleteTargetSecret(observation: Observation, context: StepContext): Promise<Observation> {
  const target = targetOf(context);
  const secret = observation.target.type === "seen" ? observation.target.secret : undefined;
  if (!secret) return observation;
  const { uid, resourceVersion } = secret;
  await askTarget(() => target.client.delete(Secret, observation.settings.targetSecret, { uid, resourceVersion }, context.run.signal));
  target.wrote(undefined, uid);
  return { ...observation, target: { type: "seen", secret: undefined } };
}

/** Fetches a token. That the endpoint cannot be asked is a verdict too: it stands in nobody's way. */
async function check({ target, settings }: Observation, context: StepContext): Promise<Verdict> {
  const seen = target.type === "seen" ? target.secret : undefined;
  const secret = await askTarget(() => targetOf(context).client.get(Secret, settings.targetSecret, context.run.signal));
  const credentials = secret && credentialsIn(secret);
  if (!seen || !credentials || secret.metadata.resourceVersion !== seen.resourceVersion) {
    throw new TransientError("the Secret in the cluster of the runtime has changed meanwhile", { reason: "Conflict" });
  }
  try {
    if (await providerOf(context).accepts(credentials, context.run.signal)) return tokenIssued(seen.issuedAtMs);
    return { holds: false, reason: "CredentialsRefused", message: "the token endpoint does not accept the credentials" };
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error;
    return { holds: false, reason: "TokenEndpointFailed", message: error.message };
  }
}

async function release(abandoned: readonly string[], { object }: Observation, context: StepContext): Promise<void> {
  if (context.provider?.type === "openid") await context.grants.forget();
  await dropFinalizer(context.run.client, { kind: EventingAuth, object }, eventingAuthFinalizer);
  if (abandoned.length === 0) return;
  context.onAbandoned();
  context.notify({ type: "Warning", reason: "Abandoned", message: `${abandoned.join(" and ")} was left behind` });
}

function recordApplication(observation: Observation, id: string, context: StepContext): Promise<Stored<EventingAuth>> {
  return recordStatus(observation, { iasApplication: { name: observation.object.metadata.name, uuid: id } }, context);
}

function recordStatus(observation: Observation, facts: StatusFacts, context: StepContext): Promise<Stored<EventingAuth>> {
  const status = statusOf(observation.object, {}, { ...facts, nowMs: context.run.now });
  return writeStatusOf(context.run.client, observation.object, { status, controller: context.controller });
}

/** Writes the status if the object is still the one that was observed; fails with `Conflict` if not. */
export async function writeStatusOf(
  client: Client,
  object: Stored<EventingAuth>,
  { status, controller }: { readonly status: EventingAuthStatus; readonly controller: string },
): Promise<Stored<EventingAuth>> {
  const { name, namespace = "", uid, resourceVersion } = object.metadata;
  const applied: EventingAuth = { metadata: { name, namespace, uid, resourceVersion }, spec: undefined, status };
  return client.apply(EventingAuth, applied, { fieldManager: fieldManagerOf(keyturn, controller), force: true, subresource: "status" });
}

/** What stays known of a tenant when its applications have changed. */
function known({ tenant }: Observation): Observation["tenant"] {
  return tenant.endpoints ? { endpoints: tenant.endpoints } : {};
}

function applicationOwner({ object }: Observation, { grants }: StepContext): { readonly name: string; readonly grants: StepContext["grants"] } {
  return { name: object.metadata.name, grants };
}

function refTo(id: string, observation: Observation, context: StepContext): ApplicationRef {
  return { ...applicationOwner(observation, context), id };
}

function providerOf({ provider }: StepContext): IdentityProvider {
  if (!provider) throw new Error("a step was planned at an identity provider that is not open");
  return provider;
}

function targetOf({ target }: StepContext): Target {
  if (!target) throw new Error("a step was planned in a cluster that is not open");
  return target;
}

function manager({ controller }: StepContext): { readonly fieldManager: string } {
  return { fieldManager: fieldManagerOf(keyturn, controller) };
}

function nameIn({ metadata: { namespace = "", name = "" } }: Secret): { readonly namespace: string; readonly name: string } {
  return { namespace, name };
}
