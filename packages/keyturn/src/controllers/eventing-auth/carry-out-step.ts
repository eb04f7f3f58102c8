// Carries one step out and tells what is then known. What fails is thrown; what was done before stays, and the next run finds it.
import { dropFinalizer } from "@keyturn/runtime";
import { EventingAuth, eventingAuthFinalizer } from "./api.ts";
import { adoptApplication, createApplication, deleteApplication, forgetApplication } from "./application-steps.ts";
import type { Observation } from "./observation.ts";
import { checkCredentials, deleteOldSecrets, deleteTargetSecret, issueSecret, mendSecret } from "./secret-steps.ts";
import { applicationOwner, providerOf, refTo, type StepContext } from "./step-context.ts";
import type { Act, Look } from "./step.ts";

/** Asks the identity provider. Resolves to the observation with its answer. */
export async function carryOutLook(step: Look, observation: Observation, context: StepContext): Promise<Observation> {
  const { signal } = context.run;
  const provider = providerOf(context);
  const known = (tenant: Observation["tenant"]): Observation => ({ ...observation, tenant: { ...observation.tenant, ...tenant } });
  switch (step.at) {
    case "application":
      return known({ application: (await provider.read(refTo(step.id, observation, context), signal)) ?? "gone" });
    case "namesakes":
      return known({ namesakes: await provider.find(applicationOwner(observation, context), signal) });
    case "namesake":
      return known({ namesake: (await provider.read(refTo(step.id, observation, context), signal)) ?? "gone" });
    case "secrets":
      return known({ secrets: await provider.listSecrets(refTo(step.id, observation, context), signal) });
    case "endpoints":
    default:
      return known({ endpoints: await provider.endpoints(signal) });
  }
}

/** Makes a change. Resolves to the observation after it, or to undefined if the object was let go. */
export async function carryOutAct(step: Act, observation: Observation, context: StepContext): Promise<Observation | undefined> {
  switch (step.type) {
    case "create":
      return createApplication(observation, context);
    case "adopt":
      return adoptApplication(step, observation, context);
    case "forget":
      return forgetApplication(observation, context);
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
    case "release":
    default:
      return release(step.abandoned, observation, context);
  }
}

async function release(abandoned: readonly string[], observation: Observation, context: StepContext): Promise<undefined> {
  let { object } = observation;
  if (context.provider?.type === "openid" && observation.isServed) {
    // Without the grant nothing can be proven of an application, should the object not be let go after that.
    if (object.status?.iasApplication) ({ object } = await forgetApplication(observation, context));
    await context.grants.forget();
  }
  await dropFinalizer(context.run.client, { kind: EventingAuth, object }, eventingAuthFinalizer);
  if (abandoned.length === 0) return undefined;
  context.onAbandoned();
  context.notify({ type: "Warning", reason: "Abandoned", message: `${abandoned.join(" and ")} was left behind` });
  return undefined;
}
