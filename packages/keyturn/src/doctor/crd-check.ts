// Are the kinds served, as this release defines them?
import { apiVersionOf, covers, crdOf, type CustomKind, CustomResourceDefinition, isApiError, resourceOf, type Stored } from "@keyturn/runtime";
import * as z from "zod";
import type { CheckContext } from "./doctor.ts";
import { fail, type Finding, ok, warn } from "../feature/feature.ts";

const check = "kinds";
const apply = "apply what `keyturn crds` prints: keyturn crds | kubectl apply --server-side -f -";

/** One finding for each kind. */
export async function checkCrds(context: CheckContext): Promise<readonly Finding[]> {
  return Promise.all(context.features.flatMap(({ kinds }) => kinds).map((kind) => checkKind(kind, context)));
}

async function checkKind(kind: CustomKind, context: CheckContext): Promise<Finding> {
  const { client, signal } = context;
  try {
    const live = await client.get(CustomResourceDefinition, { name: resourceOf(kind) }, signal);
    return live ? crdFinding(kind, live) : fail(check, `${resourceOf(kind)} is not installed`, apply);
  } catch (error) {
    if (!isApiError(error, "Forbidden")) throw error;
    return servedFinding(kind, context);
  }
}

/** Judges an installed definition. */
export function crdFinding(kind: CustomKind, live: Stored<CustomResourceDefinition>): Finding {
  const name = resourceOf(kind);
  const wanted = crdOf(kind);
  if (live.metadata.deletionTimestamp !== undefined)
    return fail(
      check,
      `${name} is being deleted, and all its objects with it`,
      "see what deletes it; a backup of the objects can be applied once it is there again",
    );
  const refused = live.status?.conditions?.find(({ type, status }) => (type === "Established" || type === "NamesAccepted") && status !== "True");
  if (refused)
    return fail(
      check,
      `${name} is not served: ${refused.message ?? refused.reason ?? refused.type}`,
      "see `kubectl describe crd` and remove what has the same names",
    );
  const unserved = wanted.spec.versions.filter(
    ({ served, name: version }) => served && !live.spec.versions.some((other) => other.served && other.name === version),
  );
  if (unserved.length > 0)
    return fail(check, `${name} is installed without version ${unserved.map(({ name: version }) => version).join(", ")}`, apply);
  if (isWebhookConversion(live.spec.conversion))
    return warn(
      check,
      `${name} is converted between versions by a webhook, which none of ours needs`,
      `whoever installed it may depend on it; otherwise ${apply}`,
    );
  const left = (live.status?.storedVersions ?? []).filter((version) => !wanted.spec.versions.some((other) => other.name === version));
  if (left.length > 0)
    return warn(
      check,
      `objects of ${name} may still be stored as ${left.join(", ")}, which this release does not define`,
      "write each of them once (kubectl get and replace), then take that version out of the definition's status.storedVersions",
    );
  if (!covers(live.spec.versions, wanted.spec.versions)) return warn(check, `${name} is installed with another schema than this release's`, apply);
  return ok(check, `${name} is installed as this release defines it`);
}

function isWebhookConversion(conversion: unknown): boolean {
  return z.object({ strategy: z.literal("Webhook") }).safeParse(conversion).success;
}

const resourceList = z.object({ resources: z.array(z.object({ name: z.string() })) });

/** What everybody may ask: whether the kind is served at all. */
async function servedFinding(kind: CustomKind, { client, signal }: CheckContext): Promise<Finding> {
  try {
    const list = resourceList.parse(await client.request({ method: "GET", path: `/apis/${apiVersionOf(kind)}` }, signal));
    if (list.resources.some(({ name }) => name === kind.plural))
      return ok(check, `${resourceOf(kind)} is served; you may not read its definition, so it was not compared`);
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
  }
  return fail(check, `${resourceOf(kind)} is not installed`, apply);
}
