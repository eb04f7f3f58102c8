// The controller that keeps an EventingAuth for every Kyma.
import {
  type AccessRule,
  apiVersionOf,
  conflictReason,
  type ControllerDefinition,
  type DeepReadonly,
  fieldManagerOf,
  isBeingDeleted,
  type KubeObject,
  type LeftAlone,
  nameOf,
  type ObjectKey,
  type ObjectName,
  type OwnerReference,
  reconcileWith,
  type Run,
  type Stored,
  TransientError,
} from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import { pausedAnnotation, type Selects, servingFor } from "../../feature/pause-and-selection.ts";
import { EventingAuth, eventingAuthFinalizer, Kyma } from "./api.ts";

const name = "eventing-auth-kyma";
const writer = { fieldManager: fieldManagerOf(keyturn, name), answer: "metadata" } as const;

const access: readonly AccessRule[] = [
  { kind: Kyma, verbs: ["get", "list", "watch"], why: "to see which runtimes there are" },
  // With OwnerReferencesPermissionEnforcement, who sets blockOwnerDeletion must be allowed to set finalizers.
  { kind: Kyma, subresource: "finalizers", verbs: ["update"], why: "to make a runtime the owner of its EventingAuth" },
  { kind: EventingAuth, verbs: ["get", "list", "watch", "create", "patch", "delete"], why: "to keep one for every runtime" },
];

/** The controller, for the Kymas that are looked after. */
export function kymaController(selects: Selects): ControllerDefinition {
  return {
    name,
    access,
    concurrency: 32,
    setup(scope) {
      const kymas = scope.watch(Kyma, { only: "metadata", keep: keepKyma(selects) });
      const auths = scope.watch<EventingAuth, Stored<EventingAuth>>(EventingAuth);
      scope.trigger(kymas);
      scope.trigger(auths);

      const leaves = (key: ObjectKey, nowMs: number): LeftAlone | undefined => {
        const [kyma, auth] = [kymas.get(key), auths.get(key)];
        const servings = [kyma && servingFor(kyma, () => kyma.isSelected, nowMs), auth && servingFor(auth.metadata, selects, nowMs)];
        if (servings.some((serving) => serving?.type === "notSelected")) return { type: "notSelected" };
        const pause = servings.find((serving) => serving?.type === "paused");
        return pause && { type: "paused", status: [], untilMs: pause.untilMs };
      };
      return reconcileWith<ObservedRuntime, never, ChangingAction>(
        scope,
        {
          observe: ({ key }): ObservedRuntime | undefined => {
            const [kyma, auth] = [kymas.get(key), auths.get(key)];
            return kyma || auth ? { name: nameOf(key), kyma, auth } : undefined;
          },
          plan({ kyma, auth }) {
            const action = planKyma(kyma, auth);
            return { steps: action.type === "nothing" ? [] : [{ verb: "do", action, log: { message: doneWords[action.type] } }], status: [] };
          },
          act: (action, observed, run) => actOnKyma(action, observed, { run, selects }),
          // A Kyma has no status of ours, so that only Events tell: about the Kyma, or about what is left of one that is gone.
          regarding: (key) => {
            const [kyma, auth] = [kymas.get(key), auths.get(key)];
            const uid = kyma?.uid ?? auth?.metadata.uid;
            return uid === undefined
              ? []
              : [{ kind: kyma ? Kyma : EventingAuth, object: { metadata: { ...nameOf(key), uid, resourceVersion: "" } }, eventsOnly: true }];
          },
        },
        { reasons: {}, leaves },
      );
    },
  };
}

const doneWords: Readonly<Record<ChangingAction["type"], string>> = {
  create: "created an EventingAuth for a Kyma",
  own: "made a Kyma the owner of its EventingAuth",
  delete: "deleted the EventingAuth of a Kyma that is gone",
};

/** What is known of a runtime. */
interface ObservedRuntime {
  readonly name: ObjectName;
  readonly kyma: DeepReadonly<RegardedKyma> | undefined;
  readonly auth: DeepReadonly<Stored<EventingAuth>> | undefined;
}

async function actOnKyma(
  action: ChangingAction,
  observed: ObservedRuntime,
  { run: { client }, selects }: { readonly run: Run; readonly selects: Selects },
): Promise<ObservedRuntime> {
  const { name: place, auth } = observed;
  if (action.type === "create") {
    const bare = newEventingAuth({ namespace: place.namespace ?? "", name: place.name }, action.ownerReference);
    // What is made for a Kyma that is looked after must be looked after, too.
    const labels = selects(bare.metadata) ? undefined : (await client.get(Kyma, place))?.metadata.labels;
    await client.create(EventingAuth, labels ? { ...bare, metadata: { ...bare.metadata, labels } } : bare, writer);
  }
  if (action.type === "own" && auth) {
    const { resourceVersion } = auth.metadata;
    await client.mergePatch(EventingAuth, place, { metadata: { resourceVersion, ownerReferences: action.ownerReferences } }, writer);
  }
  if (action.type === "delete" && auth) {
    // The cache may be behind, and credentials that are in use are at stake.
    const live = await client.get(Kyma, place);
    if (live?.metadata.uid === controllingKyma(auth)?.uid) throw new TransientError("the Kyma is still there", { reason: conflictReason });
    const { uid, resourceVersion } = auth.metadata;
    await client.delete(EventingAuth, place, { uid, resourceVersion });
  }
  return observed;
}

/** A Kyma, and what decides whether anything is done for it. */
interface RegardedKyma extends ObservedKyma {
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

// What is to be done about the EventingAuth of one Kyma: a pure function of both objects.

/** As much of a Kyma as matters here. */
interface ObservedKyma {
  readonly name: string;
  readonly uid: string;
  readonly beingDeleted: boolean;
}

/** What to do. */
type KymaAction = ChangingAction | { readonly type: "nothing" };

type ChangingAction =
  | { readonly type: "create"; readonly ownerReference: OwnerReference }
  /** The object has another owner than it should, or none. */
  | { readonly type: "own"; readonly ownerReferences: readonly OwnerReference[] }
  /** The Kyma that it was made for is gone. */
  | { readonly type: "delete" };

/**
 * One EventingAuth for every Kyma that is there to stay. One whose Kyma is gone goes too, also where no garbage collector does it; one that never had
 * a Kyma is left alone: people may write their own.
 */
export function planKyma(kyma: ObservedKyma | undefined, auth: Stored<EventingAuth> | undefined): KymaAction {
  if (!kyma) return auth && !isBeingDeleted(auth) && controllingKyma(auth) ? { type: "delete" } : { type: "nothing" };
  if (kyma.beingDeleted) return { type: "nothing" };
  const wanted = referenceTo(kyma);
  if (!auth) return { type: "create", ownerReference: wanted };
  if (isBeingDeleted(auth)) return { type: "nothing" };
  const present = auth.metadata.ownerReferences ?? [];
  if (present.some((reference) => isSame(reference, wanted))) return { type: "nothing" };
  return { type: "own", ownerReferences: [...present.filter(({ controller, uid }) => !controller && uid !== kyma.uid), wanted] };
}

/** A new EventingAuth. It has its finalizer from the beginning, so that nothing can be made for it that its deletion would not undo. */
export function newEventingAuth(key: { readonly namespace: string; readonly name: string }, ownerReference: OwnerReference): EventingAuth {
  return { metadata: { ...key, finalizers: [eventingAuthFinalizer], ownerReferences: [ownerReference] }, spec: {} };
}

/** The Kyma that controls the object, by its reference. */
function controllingKyma({ metadata }: EventingAuth): OwnerReference | undefined {
  return metadata.ownerReferences?.find(
    ({ controller, kind, apiVersion }) => controller && kind === Kyma.kind && apiVersion.startsWith(`${Kyma.group}/`),
  );
}

function referenceTo({ name, uid }: ObservedKyma): OwnerReference {
  return { apiVersion: apiVersionOf(Kyma), kind: Kyma.kind, name, uid, controller: true, blockOwnerDeletion: true };
}

function isSame(a: OwnerReference, b: OwnerReference): boolean {
  return a.uid === b.uid && a.apiVersion === b.apiVersion && a.kind === b.kind && a.name === b.name && a.controller === b.controller;
}
