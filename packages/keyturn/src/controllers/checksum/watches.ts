// What a checksum controller watches, and which namespace a change concerns.
import {
  type Cache,
  type ControllerScope,
  type KubeObject,
  managedBySelector,
  Namespace,
  nameOf,
  type ObjectKey,
  ownershipOf,
  type Stored,
} from "@keyturn/runtime";
import { keyturn } from "../../operator-identity.ts";
import { type CheckSumObject, keepCheckSum, type PublishedCheckSum } from "./check-sum-object.ts";
import { type ChosenNamespaces, chooseNamespaces, type NamespaceChoice, placesOf } from "./namespace-choice.ts";
import { type KeptMember, NamespaceMembers } from "./namespace-members.ts";
import type { Subject } from "./subject.ts";

/** The caches of one place: a namespace, or wherever the operator works. */
export interface PlaceWatches {
  readonly namespace: string | undefined;
  readonly objects: Cache<KeptMember>;
  /** Only those with the operator's mark. */
  readonly checksums: Cache<PublishedCheckSum>;
}

/** The caches of one controller. */
export interface ChecksumWatches {
  readonly chosen: ChosenNamespaces;
  readonly places: readonly PlaceWatches[];
  readonly members: NamespaceMembers;
}

/** How the watches are made. */
export interface WatchSettings<T extends KubeObject> {
  readonly subject: Subject<T>;
  readonly choice: NamespaceChoice;
  readonly settleMs: number;
  /** Told of each object that is read. */
  readonly onRead: () => void;
}

/** Declares the watches; whatever changes in a namespace, the namespace is the key. */
export function watchChecksums<T extends KubeObject>(
  scope: ControllerScope,
  { subject, choice, settleMs, onRead }: WatchSettings<T>,
): ChecksumWatches {
  const keepMember = (object: Stored<T>): KeptMember => {
    onRead();
    return subject.member(object);
  };
  const keepPublished = keepCheckSum(subject.prefix);
  const places = placesOf(choice).map((place): PlaceWatches => ({
    namespace: place.namespace,
    objects: scope.watch<T, KeptMember>(subject.objects, { ...subject.selection, ...place, keep: keepMember }),
    checksums: scope.watch<CheckSumObject, PublishedCheckSum>(subject.checksums, {
      ...place,
      labels: managedBySelector(keyturn),
      keep: keepPublished,
    }),
  }));
  const chosen = chooseNamespaces(scope, choice);
  const members = new NamespaceMembers(
    places.map(({ objects }) => objects),
    { clock: scope.clock, settleMs },
  );
  const namespaceOf = ({ key }: { readonly key: ObjectKey }): readonly ObjectKey[] => [nameOf(key).namespace ?? ""];
  for (const { objects, checksums } of places) {
    scope.trigger(objects, namespaceOf);
    scope.trigger(checksums, namespaceOf);
  }
  return { chosen, places, members };
}

/** The caches that cover a namespace. */
export function placeOf({ places }: ChecksumWatches, namespace: string): PlaceWatches {
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
