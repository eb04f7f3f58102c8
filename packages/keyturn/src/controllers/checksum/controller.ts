// The checksum controllers. A key is a namespace: observe it, plan, make sure that the caches are not behind, carry out.
import {
  type AccessRule,
  type Cache,
  type ControllerDefinition,
  type ControllerScope,
  keyOf,
  type KubeObject,
  managedBySelector,
  nameOf,
  Namespace,
  type ObjectKey,
  ownershipOf,
  pagedList,
  type Plan,
  reconcileWith,
  type Run,
  type StatusObject,
  type Stored,
} from "@keyturn/runtime";
import type { Pause } from "../../feature/pause-and-selection.ts";
import { keyturn } from "../../feature/feature.ts";
import { type CheckSumObject, keepCheckSum, type PublishedCheckSum, timestampMsOf } from "./check-sum-object.ts";
import { showsLatest } from "./consistent-read.ts";
import { chooseNamespaces, type ChosenNamespaces, type NamespaceChoice, placesOf } from "./flags.ts";
import type { MemberKind } from "./member-kind.ts";
import { type KeptMember, NamespaceMembers, type SeenMember } from "./members.ts";
import { ChecksumNumbers, type NamespaceNumbers } from "./metrics.ts";
import { newestOf, type Observation, pausedChecksumPlan, pauseOfNamespace, planChecksum, type PublishingPolicy, stepsOf } from "./plan.ts";
import { checksumReasons } from "./reasons.ts";

/** One controller: what its checksums are of, where, and how they are published. */
interface ChecksumControllerOptions<T extends KubeObject> {
  readonly name: string;
  readonly memberKind: MemberKind<T>;
  readonly access: readonly AccessRule[];
  readonly choice: NamespaceChoice;
  /** Namespaces that are left as they are, whatever the choice says. */
  readonly isSkipped: (namespace: string) => boolean;
  readonly policy: PublishingPolicy;
  readonly stabilizeMs: number;
}

/** A cache that is behind is asked again so soon; what it lacks is usually on its way. */
const recheckMs = 250;

/** What is known of a namespace. */
type Observed =
  /** A burst of changes goes on, or a cache is behind: look again then. */
  | { readonly type: "unsettled"; readonly untilMs: number }
  | {
      readonly type: "settled";
      readonly observation: Observation;
      /** True while the cache shows the same members. */
      readonly isUnchanged: () => boolean;
      /** How many objects the cache has in the namespace. */
      readonly objects: number;
      readonly pause: Pause | undefined;
      /** The caches are known to be no older than the API server. */
      readonly isLatest: boolean;
    };

/** A plan, and the numbers of what it was made from. */
interface NamespacePlan extends Plan<"latest"> {
  readonly numbers?: NamespaceNumbers;
}

/** The controller of one kind of checksums. Its keys are namespaces. */
export function checksumController<T extends KubeObject>(options: ChecksumControllerOptions<T>): ControllerDefinition {
  const { name, memberKind, access, choice, isSkipped, policy, stabilizeMs } = options;
  const kind = memberKind.checksums;
  return {
    name,
    access,
    setup(scope) {
      const numbers = new ChecksumNumbers(scope.metrics, kind.kind);
      const watches = watchChecksums(scope, { memberKind, choice, isSkipped, stabilizeMs, onRead: () => numbers.countRead() });
      const behind = (nowMs: number): Observed => {
        numbers.countRecheck();
        return { type: "unsettled", untilMs: nowMs + recheckMs };
      };

      return reconcileWith<Observed, "latest", never, NamespacePlan>(
        scope,
        {
          async observe(run, nowMs) {
            const { key: namespace } = run;
            if (!watches.isChosen(namespace)) return undefined;
            // Nothing is computed while a burst goes on, so that a thousand changes cost no more than one.
            const waitMs = watches.members.waitMs(namespace);
            if (waitMs > 0) return { type: "unsettled", untilMs: nowMs + waitMs };
            if (!(await watches.readUnread(namespace, run))) return behind(nowMs);
            const { members, objects } = watches.members.of(namespace);
            const published = publishedIn(placeOf(watches.places, namespace), namespace);
            const state = members.state();
            const observation = { namespace, prefix: memberKind.prefix, state, problems: members.problems(), published };
            const isUnchanged = (): boolean => members.state() === state;
            return {
              type: "settled",
              observation,
              isUnchanged,
              objects,
              pause: pauseOfNamespace(watches.pausedBy(namespace), published, nowMs),
              isLatest: false,
            };
          },
          plan: (observed, { nowMs }) => planNamespace(observed, { kind, policy, nowMs }),
          async look(_, observed, run) {
            if (observed.type === "unsettled") return observed;
            const place = placeOf(watches.places, observed.observation.namespace);
            return (await isLatest(place, run, observed)) ? { ...observed, isLatest: true } : behind(run.now + (scope.serverAheadMs() ?? 0));
          },
          done: ({ verb }) => (verb === "apply" ? numbers.countPublished() : undefined),
          completed(observed) {
            if (observed.type === "settled" && !observed.pause) watches.members.endBurst(observed.observation.namespace, observed.observation.state);
          },
          regarding: (namespace) => [reportedIn(watches, namespace, kind)],
          show(namespace, shown) {
            if (!shown) numbers.hide(namespace);
            else if (shown.plan.numbers) numbers.show(namespace, shown.plan.numbers);
          },
        },
        { reasons: checksumReasons },
      );
    },
  };
}

/** Plans for a namespace; what rests on its objects only once it is certain what they are. */
function planNamespace(
  observed: Observed,
  { kind, policy, nowMs }: { readonly kind: MemberKind["checksums"]; readonly policy: PublishingPolicy; readonly nowMs: number },
): NamespacePlan {
  if (observed.type === "unsettled") return { steps: [], status: [], nextAtMs: observed.untilMs };
  const { state, problems, published, namespace } = observed.observation;
  const plan = planChecksum(observed.observation, policy, nowMs);
  const isAwaited = plan.statuses.some(({ conditions }) => conditions["Current"]?.reason === "Awaited");
  const publishedMs = published.length > 0 ? Math.max(...published.map(timestampMsOf)) : undefined;
  const numbers = { state, problems, publishedMs, isAwaited };
  if (observed.pause) return { ...stepsOf(pausedChecksumPlan(published, observed.pause), kind, namespace), numbers };
  if (plan.restsOnState && !observed.isLatest) return { steps: [{ verb: "look", at: "latest" }], more: true, status: [], numbers };
  return { ...stepsOf(plan, kind, namespace), numbers };
}

/** Who tells of a failure: the newest checksum, or the namespace if there is none yet. */
function reportedIn({ places }: ChecksumWatches, namespace: string, kind: MemberKind["checksums"]): StatusObject {
  const newest = newestOf(publishedIn(placeOf(places, namespace), namespace));
  if (newest) return { kind, object: newest.object };
  return { kind: Namespace, object: { metadata: { name: namespace, uid: "", resourceVersion: "" } }, eventsOnly: true };
}

/** True if the caches that the plan was made from are not behind, neither in the objects nor in the checksums. */
async function isLatest(
  { objects: objectCache, checksums }: PlaceWatches,
  { client, key: namespace, signal }: Run,
  { objects, isUnchanged }: { readonly objects: number; readonly isUnchanged: () => boolean },
): Promise<boolean> {
  const labelled = [...checksums.entries(namespace)].length;
  return (
    (await showsLatest(checksums, { client, namespace, objects: labelled, signal })) &&
    (await showsLatest(objectCache, { client, namespace, objects, signal })) &&
    isUnchanged()
  );
}

// What is watched, and which namespace a change concerns.

/** The caches of one place: a namespace, or wherever the operator works. */
interface PlaceWatches {
  readonly namespace: string | undefined;
  readonly objects: Cache<KeptMember>;
  /** Only those with the operator's label. */
  readonly checksums: Cache<PublishedCheckSum>;
}

/** The caches of one controller. */
interface ChecksumWatches extends Pick<ChosenNamespaces, "pausedBy"> {
  isChosen(namespace: string): boolean;
  readonly places: readonly PlaceWatches[];
  readonly members: NamespaceMembers;
  /** Reads what came while the namespace was not chosen. False if the cache shows other versions than the API server: ask again. */
  readUnread(namespace: string, run: Pick<Run, "client" | "signal">): Promise<boolean>;
}

/** How the watches are made. */
interface WatchSettings<T extends KubeObject> {
  readonly memberKind: MemberKind<T>;
  readonly choice: NamespaceChoice;
  /** Namespaces that are left as they are, whatever the choice says. */
  readonly isSkipped: (namespace: string) => boolean;
  readonly stabilizeMs: number;
  /** Called for each object that is read. */
  readonly onRead: () => void;
}

/** Declares the watches; whatever changes in a namespace, the namespace is the key. */
function watchChecksums<T extends KubeObject>(
  scope: ControllerScope,
  { memberKind, choice, isSkipped, stabilizeMs, onRead }: WatchSettings<T>,
): ChecksumWatches {
  const chosen = chooseNamespaces(scope, choice);
  const isChosen = (namespace: string): boolean => !isSkipped(namespace) && chosen.includes(namespace);
  const readMember = (object: Stored<T>): SeenMember => {
    onRead();
    return memberKind.member(object);
  };
  // Whoever may write Secrets somewhere must not be able to make work for those who asked for nothing.
  const keepMember = (object: Stored<T>): KeptMember => (isChosen(object.metadata.namespace ?? "") ? readMember(object) : "unread");
  const keepPublished = keepCheckSum(memberKind.prefix);
  const places = placesOf(choice).map((place): PlaceWatches => ({
    namespace: place.namespace,
    objects: scope.watch<T, KeptMember>(memberKind.objects, {
      ...memberKind.selection,
      ...place,
      keep: keepMember,
      ...(chosen.restsOn && { after: chosen.restsOn }),
    }),
    checksums: scope.watch<CheckSumObject, PublishedCheckSum>(memberKind.checksums, {
      ...place,
      labels: managedBySelector(keyturn),
      keep: keepPublished,
    }),
  }));
  const members = new NamespaceMembers(
    places.map(({ objects }) => objects),
    { clock: scope.clock, stabilizeMs },
  );
  const namespaceOf = ({ key }: { readonly key: ObjectKey }): readonly ObjectKey[] => [nameOf(key).namespace ?? ""];
  for (const { objects, checksums } of places) {
    scope.trigger(objects, namespaceOf);
    scope.trigger(checksums, namespaceOf);
  }
  const readUnread = async (namespace: string, { client, signal }: Pick<Run, "client" | "signal">): Promise<boolean> => {
    if (!members.isUnread(namespace)) return true;
    const { objects } = placeOf(places, namespace);
    for await (const object of pagedList(
      memberKind.objects,
      { client, clock: scope.clock, selection: { ...memberKind.selection, namespace } },
      signal,
    )) {
      const { name, resourceVersion } = object.metadata;
      const isSeen = objects.identity(keyOf({ namespace, name }))?.resourceVersion === resourceVersion;
      if (isSeen && members.isUnread(namespace, name)) members.read(namespace, name, readMember(object));
    }
    return !members.isUnread(namespace);
  };
  return { isChosen, pausedBy: (namespace) => chosen.pausedBy(namespace), places, members, readUnread };
}

/** The caches that cover a namespace. */
function placeOf(places: readonly PlaceWatches[], namespace: string): PlaceWatches {
  const place = places.find((candidate) => candidate.namespace === undefined || candidate.namespace === namespace);
  if (!place) throw new Error(`no watch covers namespace ${namespace}`);
  return place;
}

/** The checksums of a namespace that are ours: made on its behalf, and not on their way out. */
function publishedIn({ checksums }: PlaceWatches, namespace: string): readonly PublishedCheckSum[] {
  const owner = { kind: Namespace, name: { name: namespace } };
  return Array.from(checksums.entries(namespace), ([, checksum]) => checksum).filter(
    ({ object }) => object.metadata.deletionTimestamp === undefined && ownershipOf(object, keyturn, owner) === "ours",
  );
}
