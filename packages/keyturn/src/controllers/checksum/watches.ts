// What the checksum controllers watch, and which scope a change concerns.
import {
  type Cache,
  type Client,
  type ControllerScope,
  keyOf,
  type KubeObject,
  managedBySelector,
  nameOf,
  Namespace,
  type ObjectKey,
  ownershipOf,
  pagedList,
  type Run,
  type Stored,
} from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import type { AnnouncementKey } from "./announcement.ts";
import { type CheckSumObject, keepCheckSum, type PublishedCheckSum } from "./check-sum-object.ts";
import { showsLatest } from "./consistent-read.ts";
import type { MemberKind } from "./member-kind.ts";
import { type KeptMember, type MemberView, NamespaceMembers, type SeenMember, type SetState, wideMembers } from "./members.ts";
import { isWide, placesOf, type ScopeChoice, type Scopes, watchScopes } from "./scopes.ts";

/** A scope as the caches show it. */
export interface ScopeView {
  readonly members: MemberView;
  /** True if the caches are not behind, neither in the objects nor in the checksums, and still show the same scope and members. */
  readonly isLatest: (run: Pick<Run, "client" | "signal">) => Promise<boolean>;
  /** The burst of changes was dealt with. */
  readonly endBurst: () => void;
}

/** The caches of one controller. A scope is known by its home, the namespace in which its checksum is published. */
export interface ChecksumWatches extends Pick<Scopes, "pausedBy" | "namespacesOf" | "homeOf"> {
  /** How long the latest burst of changes in the scope still needs to stabilize; 0 if there is none. */
  waitMs(home: string): number;
  view(home: string): ScopeView;
  /** The checksums of the scope that are ours: made on its behalf, and not on their way out. */
  publishedIn(home: string): readonly PublishedCheckSum[];
  /** Reads what came while a namespace of the scope was not chosen. False if the cache shows other versions than the API server: ask again. */
  readUnread(home: string, run: Pick<Run, "client" | "signal">): Promise<boolean>;
}

/** The caches of one place: a namespace, or wherever the operator works. */
interface PlaceWatches {
  readonly namespace: string | undefined;
  readonly objects: Cache<KeptMember>;
  /** Only those with the operator's label. */
  readonly checksums: Cache<PublishedCheckSum>;
}

/** How the watches are made. */
interface WatchSettings<T extends KubeObject> {
  readonly memberKind: MemberKind<T>;
  readonly scopeChoice: ScopeChoice;
  /** Of those who may announce. */
  readonly keys: readonly AnnouncementKey[];
  /** Namespaces that are left as they are, whatever the choice says. */
  readonly isSkipped: (namespace: string) => boolean;
  readonly stabilizeMs: number;
  /** Called for each object that is read. */
  readonly onRead: () => void;
}

/** Declares the watches; whatever changes in a scope, its home is the key. */
export function watchChecksums<T extends KubeObject>(
  scope: ControllerScope,
  { memberKind, scopeChoice, keys, isSkipped, stabilizeMs, onRead }: WatchSettings<T>,
): ChecksumWatches {
  const scopes = watchScopes(scope, scopeChoice, isSkipped);
  const readMember = (object: Stored<T>): SeenMember => {
    onRead();
    return memberKind.member(object);
  };
  // Whoever may write Secrets somewhere must not be able to make work for those who asked for nothing.
  const keepMember = (object: Stored<T>): KeptMember => (scopes.isChosen(object.metadata.namespace ?? "") ? readMember(object) : "unread");
  const keepPublished = keepCheckSum(memberKind.prefix, keys);
  const places = placesOf(scopeChoice.choice).map((place): PlaceWatches => ({
    namespace: place.namespace,
    objects: scope.watch<T, KeptMember>(memberKind.objects, {
      ...memberKind.selection,
      ...place,
      keep: keepMember,
      ...(scopes.restsOn && { after: scopes.restsOn }),
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
  const namespaceOf = ({ key }: { readonly key: ObjectKey }): string => nameOf(key).namespace ?? "";
  for (const { objects, checksums } of places) {
    scope.trigger(objects, (change) => [scopes.homeOf(namespaceOf(change))]);
    scope.trigger(checksums, (change) => [namespaceOf(change)]);
  }
  const readUnreadIn = async (namespace: string, { client, signal }: Pick<Run, "client" | "signal">): Promise<boolean> => {
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
  return {
    pausedBy: (home) => [home, ...scopes.namespacesOf(home)].map((namespace) => scopes.pausedBy(namespace)).find((paused) => paused !== undefined),
    namespacesOf: (home) => scopes.namespacesOf(home),
    homeOf: (namespace) => scopes.homeOf(namespace),
    waitMs: (home) => Math.max(0, ...scopes.namespacesOf(home).map((namespace) => members.waitMs(namespace))),
    view(home) {
      const namespaces = scopes.namespacesOf(home);
      const isSameScope = (): boolean => namespaces.join() === scopes.namespacesOf(home).join();
      const sets = new Map(namespaces.map((namespace) => [namespace, members.of(namespace).members]));
      const states = Array.from(sets, ([namespace, set]) => ({ namespace, set, state: set.state() }));
      const [only] = states;
      return {
        members: only && !isWide(scopeChoice.rule) ? only.set : wideMembers(sets),
        async isLatest(run) {
          const { checksums } = placeOf(places, home);
          const count = (cache: Cache<unknown>, namespace: string): number => [...cache.entries(namespace)].length;
          if (!(await isShown(checksums, { namespaces: [home], count, run }))) return false;
          for (const { namespace: place, objects } of places) {
            const here = namespaces.filter((namespace) => place === undefined || place === namespace);
            if (!(await isShown(objects, { namespaces: here, count: (_, namespace) => members.of(namespace).objects, run }))) return false;
          }
          return isSameScope() && states.every(({ namespace, state }) => isSameState(members.of(namespace).members.state(), state));
        },
        endBurst: () => {
          for (const { namespace, state } of states) members.endBurst(namespace, state);
        },
      };
    },
    publishedIn: (home) => publishedIn(placeOf(places, home), home),
    async readUnread(home, run) {
      for (const namespace of scopes.namespacesOf(home)) if (!(await readUnreadIn(namespace, run))) return false;
      return true;
    },
  };
}

async function isShown(
  cache: Cache<unknown>,
  {
    namespaces,
    count,
    run: { client, signal },
  }: {
    readonly namespaces: readonly string[];
    readonly count: (cache: Cache<unknown>, namespace: string) => number;
    readonly run: { readonly client: Client; readonly signal: AbortSignal };
  },
): Promise<boolean> {
  return showsLatest(cache, { client, expected: new Map(namespaces.map((namespace) => [namespace, () => count(cache, namespace)])), signal });
}

function isSameState(left: SetState, right: SetState): boolean {
  return left.checksum === right.checksum && left.sha256 === right.sha256;
}

/** The caches that cover a namespace. */
function placeOf(places: readonly PlaceWatches[], namespace: string): PlaceWatches {
  const place = places.find((candidate) => candidate.namespace === undefined || candidate.namespace === namespace);
  if (!place) throw new Error(`no watch covers namespace ${namespace}`);
  return place;
}

function publishedIn({ checksums }: PlaceWatches, namespace: string): readonly PublishedCheckSum[] {
  const owner = { kind: Namespace, name: { name: namespace } };
  return Array.from(checksums.entries(namespace), ([, checksum]) => checksum).filter(
    ({ object }) => object.metadata.deletionTimestamp === undefined && ownershipOf(object, keyturn, owner) === "ours",
  );
}
