// Steps that change the Secret in the runtime's cluster, and the client secrets that are written there.
import { isApiError, Secret, type Stored, TransientError } from "@keyturn/runtime";
import { IdentityError } from "./identity/identity-error.ts";
import type { IssuedSecret } from "./identity/identity-provider.ts";
import { type Observation, ownerOfObservation } from "./observation.ts";
import { tokenIssued } from "./plan.ts";
import type { Verdict } from "./status.ts";
import { type ActOf, providerOf, refTo, type StepContext, targetOf, writerOf } from "./step-context.ts";
import { askTarget, TargetError } from "./target-error.ts";
import { credentialsIn, keepTargetSecret, type TargetSecret, targetSecretObject } from "./target-secret.ts";

/** Issues a client secret and writes it to the runtime's cluster. */
export async function issueSecret(step: ActOf<"issue">, observation: Observation, context: StepContext): Promise<Observation> {
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
  let after: Observation;
  let clientId: string;
  try {
    clientId = await clientIdOf(step, observation, context);
    const content = targetSecretObject({
      place: observation.settings.targetSecret,
      owner: ownerOfObservation(observation),
      application: step.application.id,
      endpoints: step.endpoints,
      issuedAtMs: context.scope.clock.now(),
      credentials: { type: "new", clientId, clientSecret: issued.secret, hint: issued.hint },
    });
    after = await write(content, observation, context);
  } catch (error) {
    // Not even sent, or refused for certain, so nobody has it. After a lost answer it may be in the cluster, and stays: the next run sees which.
    const isRefused = error instanceof TargetError && isApiError(error.cause) && error.cause.status < 500;
    if ((isRefused || error instanceof IdentityError) && provider.secretsOverlap) await provider.deleteSecret(ref, issued.hint, signal);
    throw error;
  }
  context.onIssued(step.why);
  context.notify(issuedNotices[step.why]);
  const secrets = [...(after.tenant.secrets ?? []), { hint: issued.hint, validToMs: undefined }];
  return { ...after, tenant: { ...after.tenant, application: { id: step.application.id, clientId }, secrets } };
}

/** IAS generates the client ID with the first secret. */
async function clientIdOf({ application }: ActOf<"issue">, observation: Observation, context: StepContext): Promise<string> {
  if (application.clientId !== undefined) return application.clientId;
  const read = await providerOf(context).read(refTo(application.id, observation, context), context.run.signal);
  if (read?.clientId !== undefined) return read.clientId;
  const problem = read ? "has a secret and no client ID" : "is not there";
  throw new IdentityError(`failed to retrieve client ID: application ${application.id} ${problem}`, { code: "Transient", step: "read" });
}

const issuedNotices = {
  first: { type: "Normal", reason: "SecretIssued", message: "credentials were written to the cluster of the runtime" },
  repair: {
    type: "Warning",
    reason: "SecretRepaired",
    message: "the Secret in the cluster of the runtime was missing or changed; it has new credentials",
  },
  rotation: { type: "Normal", reason: "SecretRotated", message: "the Secret in the cluster of the runtime has new credentials" },
} as const;

/** Puts right what is not secret about the Secret, the mark of its owner included. */
export async function mendSecret({ application, endpoints }: ActOf<"mend">, observation: Observation, context: StepContext): Promise<Observation> {
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
    context.notify({
      type: "Normal",
      reason: "Adopted",
      message: `the Secret in the cluster of the runtime is that of application ${application.id}, and is kept`,
    });
  }
  return write(content, observation, context);
}

/** Deletes client secrets that nobody should use any more. */
export async function deleteOldSecrets(step: ActOf<"deleteSecrets">, observation: Observation, context: StepContext): Promise<Observation> {
  for (const hint of step.hints) await providerOf(context).deleteSecret(refTo(step.id, observation, context), hint, context.run.signal);
  const message = `client secrets that nobody should use any more were deleted: ${step.hints.length}`;
  context.notify({ type: "Normal", reason: "OldSecretsDeleted", message });
  const secrets = observation.tenant.secrets?.filter(({ hint }) => !step.hints.includes(hint)) ?? [];
  return { ...observation, tenant: { ...observation.tenant, secrets } };
}

/** Deletes the Secret that was observed. */
export async function deleteTargetSecret(observation: Observation, context: StepContext): Promise<Observation> {
  const target = targetOf(context);
  const secret = secretIn(observation);
  if (!secret) return observation;
  const { uid, resourceVersion } = secret;
  await askTarget(() => target.client.delete(Secret, observation.settings.targetSecret, { uid, resourceVersion }, context.run.signal));
  target.wrote(undefined, uid);
  return { ...observation, target: { type: "seen", secret: undefined } };
}

/** Fetches a token. That the endpoint cannot be asked is a verdict too: it stands in nobody's way. */
export async function checkCredentials(observation: Observation, context: StepContext): Promise<Verdict> {
  const seen = secretIn(observation);
  const secret = await askTarget(() => targetOf(context).client.get(Secret, observation.settings.targetSecret, context.run.signal));
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

/** Writes only to what was observed: a Secret that somebody made or changed since is looked at first. */
async function write(content: Secret, observation: Observation, context: StepContext): Promise<Observation> {
  const target = targetOf(context);
  const found = secretIn(observation);
  const stored = await askTarget(() =>
    found ? patch(found, content, observation, context) : target.client.create(Secret, content, writerOf(context), context.run.signal),
  );
  target.wrote(stored, stored.metadata.uid);
  return { ...observation, target: { type: "seen", secret: keepTargetSecret(stored) } };
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
  return target.type === "seen" ? target.secret : undefined;
}
