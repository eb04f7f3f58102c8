// What a checksum controller watches, and which namespace a change concerns.
import {
  type Cache,
  type ControllerScope,
  type KubeObject,
  keyOf,
  managedBySelector,
  Namespace,
  nameOf,
  type ObjectKey,
  ownershipOf,
  pagedList,
  type Run,
  type Stored,
} from "@keyturn/runtime";
import { keyturn } from "../../operator-identity.ts";
import { type CheckSumObject, keepCheckSum, type PublishedCheckSum } from "./check-sum-object.ts";
import { type ChosenNamespaces, chooseNamespaces, type NamespaceChoice, placesOf } from "./namespace-choice.ts";
import { type KeptMember, NamespaceMembers, type SeenMember } from "./namespace-members.ts";
import type { Subject } from "./subject.ts";

/** The caches of one place: a namespace, or wherever the operator works. */
export interface PlaceWatches {
  readonly namespace: string | undefined;
  readonly objects: Cache<KeptMember>;
  /** Only those with the operator's mark. */
  readonly checksums: Cache<PublishedCheckSum>;
}

/** The caches of one controller. */
export interface ChecksumWatches extends Pick<ChosenNamespaces, "pausedBy"> {
  isChosen(namespace: string): boolean;
  readonly places: readonly PlaceWatches[];
  readonly members: NamespaceMembers;
  /** Reads what came while the namespace was not chosen. False if the cache shows other versions than the API server: ask again. */
  readUnread(namespace: string, run: Pick<Run, "client" | "signal">): Promise<boolean>;
}

/** How the watches are made. */
export interface WatchSettings<T extends KubeObject> {
  readonly subject: Subject<T>;
  readonly choice: NamespaceChoice;
  /** Namespaces that are left as they are, whatever the choice says. */
  readonly isSkipped: (namespace: string) => boolean;
  readonly settleMs: number;
  /** Told of each object that is read. */
  readonly onRead: () => void;
}

/** Declares the watches; whatever changes in a namespace, the namespace is the key. */
export function watchChecksums<T extends KubeObject>(
  scope: ControllerScope,
  { subject, choice, isSkipped, settleMs, onRead }: WatchSettings<T>,
): ChecksumWatches {
  const chosen = chooseNamespaces(scope, choice);
  const isChosen = (namespace: string): boolean => !isSkipped(namespace) && chosen.includes(namespace);
  const readMember = (object: Stored<T>): SeenMember => {
    onRead();
    return subject.member(object);
  };
  // Whoever may write Secrets somewhere must not be able to make work for those who asked for nothing.
  const keepMember = (object: Stored<T>): KeptMember => (isChosen(object.metadata.namespace ?? "") ? readMember(object) : "unread");
  const keepPublished = keepCheckSum(subject.prefix);
  const places = placesOf(choice).map((place): PlaceWatches => ({
    namespace: place.namespace,
    objects: scope.watch<T, KeptMember>(subject.objects, {
      ...subject.selection,
      ...place,
      keep: keepMember,
      ...(chosen.restsOn && { after: chosen.restsOn }),
    }),
    checksums: scope.watch<CheckSumObject, PublishedCheckSum>(subject.checksums, {
      ...place,
      labels: managedBySelector(keyturn),
      keep: keepPublished,
    }),
  }));
  const members = new NamespaceMembers(
    places.map(({ objects }) => objects),
    { clock: scope.clock, settleMs },
  );
  const namespaceOf = ({ key }: { readonly key: ObjectKey }): readonly ObjectKey[] => [nameOf(key).namespace ?? ""];
  for (const { objects, checksums } of places) {
    scope.trigger(objects, namespaceOf);
    scope.trigger(checksums, namespaceOf);
  }
  const readUnread = async (namespace: string, { client, signal }: Pick<Run, "client" | "signal">): Promise<boolean> => {
    if (!members.isUnread(namespace)) return true;
    const { objects } = placeOf(places, namespace);
    for await (const object of pagedList(subject.objects, { client, clock: scope.clock, selection: { ...subject.selection, namespace } }, signal)) {
      const { name, resourceVersion } = object.metadata;
      const isSeen = objects.identity(keyOf({ namespace, name }))?.resourceVersion === resourceVersion;
      if (isSeen && members.isUnread(namespace, name)) members.read(namespace, name, readMember(object));
    }
    return !members.isUnread(namespace);
  };
  return { isChosen, pausedBy: (namespace) => chosen.pausedBy(namespace), places, members, readUnread };
}

/** The caches that cover a namespace. */
export function placeOf(places: readonly PlaceWatches[], namespace: string): PlaceWatches {
  const place = places.find((candidate) => candidate.namespace === undefined || candidate.namespace === namespace);
  if (!place) throw new Error(`no watch covers namespace ${namespace}`);
  return place;
}

/** The checksums of a namespace that are ours: made on its behalf, and not on their way out. */
export function publishedIn({ checksums }: PlaceWatches, namespace: string): readonly PublishedCheckSum[] {
  const owner = { kind: Namespace, name: { name: namespace } };
  return Array.from(checksums.entries(namespace), ([, checksum]) => checksum).filter(
    ({ object }) => object.metadata.deletionTimestamp === undefined && ownershipOf(object, keyturn, owner) === "ours",
  );
}
