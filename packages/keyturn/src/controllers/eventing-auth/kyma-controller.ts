// The controller that keeps an EventingAuth for every Kyma.
import { type ControllerDefinition, fieldManagerOf, isApiError, type KubeObject, nameOf, type Stored, TransientError } from "@keyturn/runtime";
import { keyturn } from "../../operator-identity.ts";
import { afterPause, attentionTo, pausedAnnotation, type Selects } from "../attention.ts";
import { kymaAccess } from "./access.ts";
import { EventingAuth, Kyma } from "./api.ts";
import { controllingKyma, type KymaSight, newEventingAuth, planKyma } from "./kyma-plan.ts";

const name = "eventing-auth-kyma";
const writer = { fieldManager: fieldManagerOf(keyturn, name), answer: "metadata" } as const;

/** The controller, for the Kymas that are looked after. */
export function kymaController(selects: Selects): ControllerDefinition {
  return {
    name,
    access: kymaAccess,
    concurrency: 32,
    setup(scope) {
      const kymas = scope.watch(Kyma, { only: "metadata", keep: keepKyma(selects) });
      const auths = scope.watch<EventingAuth, Stored<EventingAuth>>(EventingAuth);
      scope.trigger(kymas);
      scope.trigger(auths);

      return async ({ key, client, done, now }) => {
        const { namespace = "", name: runtime } = nameOf(key);
        const auth = auths.get(key);
        const kyma = kymas.get(key);
        const attentions = [kyma && attentionTo(kyma, () => kyma.isSelected, now), auth && attentionTo(auth.metadata, selects, now)];
        if (attentions.some((attention) => attention?.type === "elsewhere")) return {};
        const pause = attentions.find((attention) => attention?.type === "paused");
        if (pause) return afterPause(pause, now);
        const step = planKyma(kyma, auth);
        if (step.type === "create") {
          const bare = newEventingAuth({ namespace, name: runtime }, step.ownerReference);
          // What is made for a Kyma that is looked after must be looked after, too.
          const labels = selects(bare.metadata) ? undefined : (await client.get(Kyma, { namespace, name: runtime }))?.metadata.labels;
          const created = labels ? { ...bare, metadata: { ...bare.metadata, labels } } : bare;
          await client.create(EventingAuth, created, writer).catch((error: unknown) => {
            // Somebody was quicker, and the cache will show it in a moment.
            if (!isApiError(error, "AlreadyExists")) throw error;
            throw new TransientError(error.message, { reason: "Conflict", cause: error });
          });
          done("created an EventingAuth for a Kyma");
        }
        if (step.type === "own" && auth) {
          const { resourceVersion } = auth.metadata;
          const patch = { metadata: { resourceVersion, ownerReferences: step.ownerReferences } };
          await client.mergePatch(EventingAuth, { namespace, name: runtime }, patch, writer);
          done("made a Kyma the owner of its EventingAuth");
        }
        if (step.type === "delete" && auth) {
          // The cache may be behind, and credentials that are in use are at stake.
          const live = await client.get(Kyma, { namespace, name: runtime });
          if (live?.metadata.uid === controllingKyma(auth)?.uid) return {};
          const { uid, resourceVersion } = auth.metadata;
          await client.delete(EventingAuth, { namespace, name: runtime }, { uid, resourceVersion });
          done("deleted the EventingAuth of a Kyma that is gone");
        }
        return {};
      };
    },
  };
}

/** A Kyma, and what decides whether anything is done for it. */
interface RegardedKyma extends KymaSight {
  readonly isSelected: boolean;
  readonly annotations: Readonly<Record<string, string>>;
}

const notPaused: RegardedKyma["annotations"] = Object.freeze({});

function keepKyma(selects: Selects): (object: Stored<KubeObject>) => RegardedKyma {
  return ({ metadata }) => {
    const { name: runtime, uid, deletionTimestamp, annotations = notPaused } = metadata;
    const paused = annotations[pausedAnnotation];
    return {
      name: runtime,
      uid,
      beingDeleted: deletionTimestamp !== undefined,
      isSelected: selects(metadata),
      annotations: paused === undefined ? notPaused : { [pausedAnnotation]: paused },
    };
  };
}
