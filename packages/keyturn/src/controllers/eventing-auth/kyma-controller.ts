// The controller that keeps an EventingAuth for every Kyma.
import { type ControllerDefinition, fieldManagerOf, isApiError, nameOf, type Stored, TransientError } from "@keyturn/runtime";
import { keyturn } from "../../operator-identity.ts";
import { kymaAccess } from "./access.ts";
import { EventingAuth, Kyma } from "./api.ts";
import { controllingKyma, type KymaSight, newEventingAuth, planKyma } from "./kyma-plan.ts";

const name = "eventing-auth-kyma";

/** The controller. */
export function kymaController(): ControllerDefinition {
  return {
    name,
    access: kymaAccess,
    concurrency: 32,
    setup(scope) {
      const kymas = scope.watch(Kyma, { only: "metadata", keep: keepKyma });
      const auths = scope.watch<EventingAuth, Stored<EventingAuth>>(EventingAuth);
      scope.trigger(kymas);
      scope.trigger(auths);

      return async ({ key, client, log }) => {
        const { namespace = "", name: runtime } = nameOf(key);
        const auth = auths.get(key);
        const step = planKyma(kymas.get(key), auth);
        if (step.type === "create") {
          const created = newEventingAuth({ namespace, name: runtime }, step.ownerReference);
          await client.create(EventingAuth, created, { fieldManager: fieldManagerOf(keyturn, name) }).catch((error: unknown) => {
            // Somebody was quicker, and the cache will show it in a moment.
            if (!isApiError(error, "AlreadyExists")) throw error;
            throw new TransientError(error.message, { reason: "Conflict", cause: error });
          });
          log.info({ key }, "created an EventingAuth for a Kyma");
        }
        if (step.type === "own" && auth) {
          const { resourceVersion } = auth.metadata;
          const patch = { metadata: { resourceVersion, ownerReferences: step.ownerReferences } };
          await client.mergePatch(EventingAuth, { namespace, name: runtime }, patch, { fieldManager: fieldManagerOf(keyturn, name) });
          log.info({ key }, "made a Kyma the owner of its EventingAuth");
        }
        if (step.type === "delete" && auth) {
          // The cache may be behind, and credentials that are in use are at stake.
          const live = await client.get(Kyma, { namespace, name: runtime });
          if (live?.metadata.uid === controllingKyma(auth)?.uid) return;
          const { uid, resourceVersion } = auth.metadata;
          await client.delete(EventingAuth, { namespace, name: runtime }, { uid, resourceVersion });
          log.info({ key }, "deleted the EventingAuth of a Kyma that is gone");
        }
      };
    },
  };
}

function keepKyma({
  metadata,
}: {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
}): KymaSight {
  return { name: metadata.name, uid: metadata.uid, beingDeleted: metadata.deletionTimestamp !== undefined };
}
