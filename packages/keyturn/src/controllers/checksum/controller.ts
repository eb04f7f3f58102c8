// The checksum controllers. A key is a namespace: observe it, plan, make sure that the caches are not behind, carry out.
import {
  type AccessRule,
  type Cache,
  type ControllerDefinition,
  type ControllerScope,
  type EventRecorder,
  fieldManagerOf,
  keyOf,
  type KubeObject,
  managedBySelector,
  nameOf,
  Namespace,
  type ObjectKey,
  type Outcome,
  ownedWriter,
  ownershipOf,
  pagedList,
  type Run,
  type Stored,
  writeStatus,
} from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import { type CheckSumObject, keepCheckSum, type PublishedCheckSum, timestampMsOf } from "./check-sum-object.ts";
import { showsLatest } from "./consistent-read.ts";
import { chooseNamespaces, type ChosenNamespaces, type NamespaceChoice, placesOf } from "./flags.ts";
import type { MemberKind } from "./member-kind.ts";
import { type KeptMember, NamespaceMembers, type SeenMember } from "./members.ts";
import { ChecksumNumbers } from "./metrics.ts";
import { type ChecksumPlan, pausedChecksumPlan, pauseOfNamespace, planChecksum, type PublishingPolicy } from "./plan.ts";

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

/** The controller of one kind of checksums. Its keys are namespaces. */
export function checksumController<T extends KubeObject>(options: ChecksumControllerOptions<T>): ControllerDefinition {
  const { name, memberKind, access, choice, isSkipped, policy, stabilizeMs } = options;
  return {
    name,
    access,
    setup(scope) {
      const numbers = new ChecksumNumbers(scope.metrics, memberKind.checksums.kind);
      const show = scope.show(numbers);
      const watches = watchChecksums(scope, { memberKind, choice, isSkipped, stabilizeMs, onRead: () => numbers.countRead() });

      return async (run) => {
        const { key: namespace } = run;
        if (!watches.isChosen(namespace)) return show(namespace, undefined);
        // Nothing is computed while a burst goes on, so that a thousand changes cost no more than one.
        const waitMs = watches.members.waitMs(namespace);
        if (waitMs > 0) return { requeueAfterMs: waitMs };
        if (!(await watches.readUnread(namespace, run))) {
          numbers.countRecheck();
          return { requeueAfterMs: recheckMs };
        }
        const place = placeOf(watches.places, namespace);
        const { members, objects } = watches.members.of(namespace);
        const [state, problems, published] = [members.state(), members.problems(), publishedIn(place, namespace)];
        const plan = planChecksum({ namespace, prefix: memberKind.prefix, state, problems, published }, policy, run.now);
        const publishedMs = published.length > 0 ? Math.max(...published.map(timestampMsOf)) : undefined;
        show(namespace, { state, problems, publishedMs, isAwaited: plan.statuses.some(({ status }) => isAwaited(status)) });

        const pause = pauseOfNamespace(watches.pausedBy(namespace), published, run.now);
        if (pause) return carryOut(pausedChecksumPlan(published, pause, run.now), run, { name, memberKind, events: scope.events });
        if (plan.restsOnState && !(await isLatest(place, run, { objects, isUnchanged: () => members.state() === state }))) {
          numbers.countRecheck();
          return { requeueAfterMs: recheckMs };
        }
        const outcome = await carryOut(plan, run, { name, memberKind, events: scope.events, countPublished: () => numbers.countPublished() });
        watches.members.endBurst(namespace, state);
        return outcome;
      };
    },
  };
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

interface CarryOutOptions<T extends KubeObject> {
  readonly name: string;
  readonly memberKind: MemberKind<T>;
  readonly events: EventRecorder;
  readonly countPublished?: () => void;
}

async function carryOut<T extends KubeObject>(
  { publish, removals, statuses, events: planned, nextAtMs }: ChecksumPlan,
  { client, key: namespace, signal, done, now }: Run,
  { name, memberKind, events, countPublished }: CarryOutOptions<T>,
): Promise<Outcome> {
  const kind = memberKind.checksums;
  const writer = ownedWriter({ client, operator: keyturn, controller: name, owner: { kind: Namespace, name: { name: namespace } }, signal });
  if (publish) {
    // The caches were just seen to be up to date, so that nothing has this name but the same checksum, made by another replica.
    await writer.apply(kind, publish, { seen: "absent" });
    done("published a checksum", { namespace, checksum: publish.spec.checksum, count: publish.spec.count }, countPublished);
  }
  for (const removal of removals) await writer.remove(kind, removal);
  const fieldManager = fieldManagerOf(keyturn, name);
  for (const { checksum, status } of statuses) await writeStatus({ client, signal }, { kind, object: checksum.object, status, fieldManager });
  for (const { type, reason, message, about } of planned) events.record({ kind, object: about, type, reason, action: "Publish", message });
  return nextAtMs === undefined ? {} : { requeueAfterMs: Math.max(0, nextAtMs - now) };
}

function isAwaited({ conditions = [] }: ChecksumPlan["statuses"][number]["status"]): boolean {
  return conditions.some(({ reason }) => reason === "Awaited");
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
