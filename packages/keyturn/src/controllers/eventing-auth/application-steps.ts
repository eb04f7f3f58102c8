// Steps that change applications, and what the status says of them.
import { type Client, type Stored } from "@keyturn/runtime";
import { askedAtAnnotation, EventingAuth, type EventingAuthStatus } from "./api.ts";
import type { Observation } from "./observation.ts";
import { statusOf, type StatusFacts } from "./status.ts";
import { type ActOf, applicationOwner, providerOf, refTo, type StepContext, writerOf } from "./step-context.ts";

/**
 * Makes an application. That one is asked for is written down first, and its id before anything else is made. Of two replicas only one gets that far,
 * and whatever is lost on the way, the next run finds the application by the trace in it and goes on with it.
 */
export async function createApplication(observation: Observation, context: StepContext): Promise<Observation> {
  const provider = providerOf(context);
  const asking = { ...observation, object: await recordAskedAt(observation, context) };
  const created = await provider.create(applicationOwner(asking, context), context.run.signal);
  const object = await recordApplication(asking, created.id, context);
  context.firstSecret = created.secret;
  context.notify({ type: "Normal", reason: "ApplicationCreated", message: `application ${created.id} was created` });
  return {
    ...observation,
    object,
    tenant: {
      ...known(observation),
      // Not read: it may take a moment to be shown.
      application: { id: created.id, clientId: created.clientId },
      secrets: created.secret ? [{ hint: created.secret.hint, validToMs: undefined }] : [],
    },
  };
}

async function recordAskedAt({ object }: Observation, context: StepContext): Promise<Stored<EventingAuth>> {
  const { namespace = "", name, uid, resourceVersion } = object.metadata;
  const annotations = { [askedAtAnnotation]: new Date(context.scope.clock.now()).toISOString() };
  const patch = { metadata: { uid, resourceVersion, annotations } };
  const written = await context.run.client.mergePatch(EventingAuth, { namespace, name }, patch, writerOf(context));
  context.onWritten(written);
  return written;
}

/** Deletes the application whose id is in the status. */
export async function deleteApplication({ id }: ActOf<"deleteApplication">, observation: Observation, context: StepContext): Promise<Observation> {
  await providerOf(context).delete(refTo(id, observation, context), context.run.signal);
  return { ...observation, tenant: { ...known(observation), application: "deleted" } };
}

/** Writes down that an application is this object's. */
export async function adoptApplication({ id }: ActOf<"adopt">, observation: Observation, context: StepContext): Promise<Observation> {
  const object = await recordApplication(observation, id, context);
  context.notify({ type: "Normal", reason: "Adopted", message: `application ${id} was made for this object, or its runtime uses it; it is kept` });
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
