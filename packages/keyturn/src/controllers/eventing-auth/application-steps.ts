// Steps that change applications, and what the status says of them.
import { type Client, isApiError, keyOfObject, type Stored, TransientError } from "@keyturn/runtime";
import { EventingAuth, type EventingAuthStatus } from "./api.ts";
import type { Observation } from "./observation.ts";
import { statusOf, type StatusFacts } from "./status.ts";
import { type ActOf, applicationOwner, providerOf, refTo, type StepContext, writerOf } from "./step-context.ts";

/**
 * Makes an application. Its id is written down before anything else is made, and with it who may go on: of two replicas that both made one, the
 * second takes its own back.
 */
export async function createApplication(observation: Observation, context: StepContext): Promise<Observation> {
  const provider = providerOf(context);
  const created = await provider.create(applicationOwner(observation, context), context.run.signal);
  let object: Stored<EventingAuth>;
  try {
    object = await recordApplication(observation, created.id, context);
  } catch (error) {
    // Refused for certain: another one was quicker. After a lost answer it is found by its id, or by its name.
    if (isApiError(error) && error.status < 500) await provider.delete(refTo(created.id, observation, context), context.run.signal);
    throw error;
  }
  context.firstSecret = created.secret;
  context.notify({ type: "Normal", reason: "ApplicationCreated", message: `application ${created.id} was created` });
  return {
    ...observation,
    object,
    tenant: { ...known(observation), secrets: created.secret ? [{ hint: created.secret.hint, validToMs: undefined }] : [] },
  };
}

/** Deletes an application, unless another EventingAuth knows it as its own. */
export async function deleteApplication(
  { id, why }: ActOf<"deleteApplication">,
  observation: Observation,
  context: StepContext,
): Promise<Observation> {
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
    throw new TransientError(`application ${id} was about to be deleted as a leftover, but belongs to ${keyOfObject(claimant)}`, {
      reason: "Conflict",
    });
  }
}

/** Writes down that an application is this object's. */
export async function adoptApplication({ id }: ActOf<"adopt">, observation: Observation, context: StepContext): Promise<Observation> {
  const object = await recordApplication(observation, id, context);
  context.notify({ type: "Normal", reason: "Adopted", message: `application ${id} and the Secret that uses it are kept` });
  return { ...observation, object, tenant: known(observation) };
}

/** Takes the id of an application out of the status. */
export async function forgetApplication(observation: Observation, context: StepContext): Promise<Observation> {
  return { ...observation, object: await recordStatus(observation, { iasApplication: "none" }, context), tenant: known(observation) };
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
  return client.apply(EventingAuth, applied, { ...writerOf({ controller }), force: true, subresource: "status" });
}

/** What stays known of a tenant when its applications have changed. */
function known({ tenant }: Observation): Observation["tenant"] {
  return tenant.endpoints ? { endpoints: tenant.endpoints } : {};
}
