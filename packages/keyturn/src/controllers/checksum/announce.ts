// Announces a state before it is written: its checksum is published first, so that a batch of changes is adopted as one. Or the state as it is: it is meant.
import { formatDuration, type Ingress, type KubeObject, type Secret } from "@keyturn/runtime";
import type { Query, Report } from "../../feature/feature.ts";
import { type AnnouncedChange, type AnnouncementKey, confirmationOf, isDone, type LiveObjects, nothingElse, progressOf } from "./announcement.ts";
import { announcementObjects, publish, publishedIn, serverTime, waitUntilReached } from "./announcement-objects.ts";
import { type CheckSumObject, isOfState, type PublishedCheckSum } from "./check-sum-object.ts";
import { checksumOf, differenceOf, type Member } from "./ids.ts";
import { changesOf, newerFirst, newestSettled } from "./history.ts";
import { appliedIngress, appliedSecret, type IngressManifest, type Manifest, type SecretManifest, unsaidEntries } from "./manifests.ts";
import type { MemberKind } from "./member-kind.ts";
import { MemberSet, wideName } from "./members.ts";
import { isWide, type Scope, type ScopeChoice, scopeOfNamespace } from "./scopes.ts";
import { wordsOf } from "./words.ts";
import { limits } from "../../limits.ts";

/** What is announced. */
export interface Batch {
  readonly manifests: readonly Manifest[];
  /** Objects that are going to be deleted, in the query's namespace. */
  readonly deletions: readonly { readonly kind: Manifest["kind"]; readonly name: string }[];
}

/** How it is announced. */
interface AnnounceOptions {
  readonly secrets: MemberKind<Secret>;
  readonly ingresses: MemberKind<Ingress>;
  /** What one checksum covers. */
  readonly scopeChoice: ScopeChoice;
  readonly expiresInMs: number;
  /** Announces even if what is published is not what is there, or another announcement is about the same objects. */
  readonly force: boolean;
  /** Signs the announcement. */
  readonly key: AnnouncementKey | undefined;
  /** How long to wait until the operator has seen the state; undefined: not at all. */
  readonly waitMs: number | undefined;
}

/** What is announced of one kind in one scope, or the state that is there already. */
interface Announced {
  readonly namespace: string;
  readonly kind: string;
  /** None if nothing changes. */
  readonly checksums: readonly CheckSumObject[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly problems: readonly { readonly name: string; readonly reason: string }[];
}

/** Announces each scope and kind that the batch concerns. Nothing is announced unless all can be. */
export async function announceBatch(query: Query, { manifests, deletions }: Batch, options: AnnounceOptions): Promise<Report> {
  const { secrets, ingresses, scopeChoice } = options;
  const placed = manifests.map((manifest) => ({ manifest, namespace: manifest.metadata.namespace ?? query.namespace }));
  const scopes = new Map<string, Scope>();
  for (const namespace of new Set([...placed.map(({ namespace: own }) => own), ...(deletions.length > 0 ? [query.namespace] : [])])) {
    const scope = await scopeOfNamespace(query.client, namespace, scopeChoice, query.signal);
    scopes.set(scope.home, scope);
  }
  const prepared = [];
  for (const scope of scopes.values()) {
    const place = { query, scope, options };
    const here = placed.filter(({ namespace }) => scope.namespaces.includes(namespace));
    const gone = (kind: Manifest["kind"]): readonly string[] =>
      scope.namespaces.includes(query.namespace)
        ? deletions.filter((deletion) => deletion.kind === kind).map(({ name }) => nameIn(place, query.namespace, name))
        : [];
    const changesOfKind = <M extends Manifest>(kind: M["kind"], isKind: (manifest: Manifest) => manifest is M): readonly PlacedManifest<M>[] =>
      here.flatMap(({ manifest, namespace }) =>
        manifest.kind === kind && isKind(manifest) ? [{ manifest, name: nameIn(place, namespace, manifest.metadata.name) }] : [],
      );
    const isSecret = (manifest: Manifest): manifest is SecretManifest => manifest.kind === "Secret";
    const isIngress = (manifest: Manifest): manifest is IngressManifest => manifest.kind === "Ingress";
    const [secretChanges, ingressChanges] = [changesOfKind("Secret", isSecret), changesOfKind("Ingress", isIngress)];
    const [goneSecrets, goneIngresses] = [gone("Secret"), gone("Ingress")];
    prepared.push(
      await prepare({ ...place, memberKind: secrets, changes: secretChanges, applied: appliedSecret, unsaid: unsaidEntries, deletions: goneSecrets }),
    );
    prepared.push(
      await prepare({
        ...place,
        memberKind: ingresses,
        changes: ingressChanges,
        applied: appliedIngress,
        unsaid: () => [],
        deletions: goneIngresses,
      }),
    );
  }
  const announced = prepared.filter((each) => each !== undefined);
  if (announced.length === 0) throw new Error("there is no Secret and no Ingress to announce in what was given");
  const ignored = announced.flatMap(({ checksums, problems }) => (checksums.length > 0 ? [] : problems));
  if (ignored.length > 0 && announced.every(({ checksums }) => checksums.length === 0)) {
    throw new Error(
      `nothing of what was given counts, so nothing is announced: ${ignored.map(({ name, reason }) => `${name} (${reason})`).join(", ")}`,
    );
  }
  return publishAll(query, announced, options);
}

/** Announces the Secrets and Ingresses of the scope of the query's namespace as they are: they are meant, however much has changed. */
export async function allowState(query: Query, options: AnnounceOptions): Promise<Report> {
  const scope = await scopeOfNamespace(query.client, query.namespace, options.scopeChoice, query.signal);
  const place = { query, scope, options };
  return publishAll(query, [await prepareAllowed(options.secrets, place), await prepareAllowed(options.ingresses, place)], options);
}

/** Where something is announced. */
interface Place {
  readonly query: Query;
  readonly scope: Scope;
  readonly options: AnnounceOptions;
}

/** A manifest, and the name that its object has in the scope. */
interface PlacedManifest<M extends Manifest> {
  readonly manifest: M;
  readonly name: string;
}

function nameIn({ options: { scopeChoice } }: Place, namespace: string, name: string): string {
  return isWide(scopeChoice.rule) ? wideName(namespace, name) : name;
}

async function prepareAllowed<T extends KubeObject>(memberKind: MemberKind<T>, place: Place): Promise<Announced> {
  const { query, options, scope } = place;
  const { home: namespace } = scope;
  const { key, expiresInMs } = options;
  const { members } = await membersOf(memberKind, place);
  const { published, settledIds = [] } = await publishedIn(query, namespace, memberKind);
  const settled = newestSettled(published);
  const state = members.state();
  const kind = memberKind.checksums.kind;
  const nothing = { namespace, kind, checksums: [], added: [], removed: [], problems: [] };
  // What is published may still be held by agents, for certificates in it that are older; nobody holds Ingresses. Whoever signs always says everything.
  const isPublished = settled !== undefined && isOfState(settled, state) && memberKind.checksums !== options.secrets.checksums;
  if (!key && (isPublished || !settled)) return nothing;
  const isEmpty = state.ids.length === 0;
  // Of Secrets a word can have been signed and withdrawn that nothing shows any more; Ingresses that never had a checksum need none of nothing.
  if (isEmpty && published.length === 0 && memberKind.checksums !== options.secrets.checksums) return nothing;
  const serverMs = await serverTime(query, { namespace, kind: memberKind, key });
  const live = liveOf(members);
  // Whoever signs takes back what was signed before and is still to come.
  const open = openAt(published, serverMs).map(({ object }) => ({ object, progress: progressOf(object.spec.announcement?.changes ?? [], live) }));
  const inTheWay = open.find(
    ({ object, progress }) => progress === "begun" || (progress === "pending" && key && object.spec.announcement?.signature),
  );
  if (inTheWay && !options.force) {
    const what = `${inTheWay.object.metadata.name} is announced and ${inTheWay.progress === "begun" ? "half-written" : "still to come"}`;
    throw new Error(`cannot allow what is in namespace ${namespace}: ${what}; wait for it, delete it, or use --force`);
  }
  const announced = published.filter(({ object }) => object.spec.announcement?.signature).toSorted(newerFirst);
  const words = key ? [...wordsOf(announced).newest] : [];
  const gone = words.flatMap(([name, { change }]) =>
    change.to === undefined || members.get(name)?.state === "counted" ? [] : [{ name, from: change.to }],
  );
  const parts = inParts([...(key || isEmpty ? [nothingElse] : []), ...confirmationOf(settledIds, members, gone)]);
  const checksums = announcementObjects(memberKind, { namespace, state, parts, published, serverMs, ownMs: query.nowMs, expiresInMs, key });
  const { notPublished: added, notLive: removed } = differenceOf(state.ids, settledIds);
  return { ...nothing, added, removed, checksums };
}

/** Words that confirm what is there need not be together in one announcement. */
export function inParts(changes: readonly AnnouncedChange[]): readonly (readonly AnnouncedChange[])[] {
  const parts: AnnouncedChange[][] = [];
  let bytes = Infinity;
  for (const change of changes) {
    const own = JSON.stringify(change).length + 1;
    if (bytes + own > limits.idsBytes / 2) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(change);
    bytes += own;
  }
  return parts;
}

async function membersOf<T extends KubeObject>(
  memberKind: MemberKind<T>,
  place: Place,
): Promise<{ readonly members: MemberSet; readonly live: ReadonlyMap<string, T>; readonly put: (name: string, object: T) => void }> {
  const { client, signal } = place.query;
  const live = new Map<string, T>();
  for (const namespace of place.scope.namespaces) {
    const { items } = await client.list(memberKind.objects, { namespace, ...memberKind.selection }, signal);
    for (const object of items) live.set(nameIn(place, namespace, object.metadata.name), object);
  }
  const members = new MemberSet();
  const put = (name: string, object: T): void => {
    const member = memberKind.selects(object) ? memberKind.member(object) : "other";
    if (member === "other") members.delete(name);
    else members.set(name, member);
  };
  for (const [name, object] of live) put(name, object);
  return { members, live, put };
}

/** What one scope and kind come to: its objects as they are, with the batch laid over them. */
async function prepare<T extends KubeObject, M extends Manifest>(
  batch: Place & {
    readonly memberKind: MemberKind<T>;
    readonly changes: readonly PlacedManifest<M>[];
    readonly applied: (manifest: M, live: T | undefined) => T;
    /** Entries of what gateways serve that stay as they are, because the manifest does not mention them. */
    readonly unsaid: (manifest: M, live: T | undefined) => readonly string[];
    readonly deletions: readonly string[];
  },
): Promise<Announced | undefined> {
  const { query, options, memberKind, changes: manifests, applied, unsaid, deletions } = batch;
  const { home: namespace } = batch.scope;
  if (manifests.length === 0 && deletions.length === 0) return undefined;
  // Objects before announcements: what is half-written in the one is announced in the other.
  const { members, live, put } = await membersOf(memberKind, batch);
  // What somebody else wrote, and the manifest does not mention, would be signed with the rest.
  const taken = options.key && manifests.find(({ manifest, name }) => unsaid(manifest, live.get(name)).length > 0);
  if (taken) {
    const entries = unsaid(taken.manifest, live.get(taken.name)).join(", ");
    throw new Error(`cannot sign ${taken.name}: it has ${entries} in the cluster, and the manifest does not say what that is to be; add it, or null`);
  }
  const names = new Set([...manifests.map(({ name }) => name), ...deletions]);
  const membersBefore = new Map(Array.from(names, (name) => [name, members.get(name)] as const));
  const here = await publishedIn(query, namespace, memberKind);
  const serverMs = await serverTime(query, { namespace, kind: memberKind, key: options.key });
  const open = openAt(here.published, serverMs);
  const settled = newestSettled(here.published);
  const isFree = settled === undefined || isBuiltOn(settled, members, open);
  // A state that has a half of another batch in it is nobody's: no checksum may be of it.
  const begun = open.map((checksum) => changesOf(checksum) ?? []).filter((others) => progressOf(others, liveOf(members)) === "begun");
  for (const change of begun.flat()) complete(members, change);
  for (const { manifest, name } of manifests) put(name, applied(manifest, live.get(name)));
  for (const name of deletions) members.delete(name);
  const changes = Array.from(membersBefore).flatMap(([name, member]) => changeOf(name, member, members.get(name)));
  const kind = memberKind.checksums.kind;
  if (!options.force) refuseUnlessFree({ isFree, open, changes, namespace, kind });
  const toIds = changes.flatMap(({ to }) => to ?? []);
  const { notPublished: added, notLive: removed } = differenceOf(
    toIds,
    changes.flatMap(({ from }) => from ?? []),
  );
  const { key, expiresInMs } = options;
  const announced = {
    namespace,
    state: members.state(),
    parts: [changes],
    published: here.published,
    serverMs,
    ownMs: query.nowMs,
    expiresInMs,
    key,
  };
  const checksums = changes.length === 0 ? [] : announcementObjects(memberKind, announced);
  const uncovered = manifests.filter(({ name }) => members.get(name) === undefined && !deletions.includes(name));
  const problems = [
    ...members.problems().filter(({ name }) => names.has(name)),
    ...uncovered.map(({ name }) => ({ name, reason: "it is not of the type, labels or class that count" })),
    ...deletions.filter((name) => !membersBefore.get(name)).map((name) => ({ name, reason: "there is no such object that counts, so it cannot go" })),
  ];
  return { namespace, kind, checksums, added, removed, problems };
}

function liveOf(members: MemberSet): LiveObjects {
  const ids = new Set(members.state().ids);
  return { member: (name) => members.get(name), hasId: (id) => ids.has(id) };
}

/** Announcements that are awaited, by the API server's time. */
function openAt(published: readonly PublishedCheckSum[], serverMs: number): readonly PublishedCheckSum[] {
  return published.filter(
    ({ object: { spec, status } }) => spec.announcement && !status?.reached && Date.parse(spec.announcement.expires) > serverMs,
  );
}

/** Puts an object as an announcement says that it is going to be. */
function complete(members: MemberSet, { name, to, sha256 }: AnnouncedChange): void {
  if (to === undefined) members.delete(name);
  else members.set(name, { state: "counted", id: to, digest: sha256 });
}

function changeOf(name: string, before: Member | undefined, after: Member | undefined): readonly AnnouncedChange[] {
  const [from, to] = [before?.state === "counted" ? before : undefined, after?.state === "counted" ? after : undefined];
  if (from?.id === to?.id && from?.digest === to?.digest) return [];
  const sha256 = to?.digest;
  return [{ name, ...(from && { from: from.id }), ...(to && { to: to.id }), ...(sha256 !== undefined && { sha256 }) }];
}

/** What is announced twice would not be told apart, and what is not published cannot be built on: what went unannounced would go through with it. */
function refuseUnlessFree({
  isFree,
  open,
  changes,
  namespace,
  kind,
}: {
  readonly isFree: boolean;
  readonly open: readonly PublishedCheckSum[];
  readonly changes: readonly AnnouncedChange[];
  readonly namespace: string;
  readonly kind: string;
}): void {
  const where = `cannot announce a ${kind} in namespace ${namespace}`;
  const names = new Set(changes.map(({ name }) => name));
  const other = open.find((checksum) => (changesOf(checksum) ?? [{ name: "" }]).some(({ name }) => name === "" || names.has(name)));
  if (other) {
    const { name } = other.object.metadata;
    throw new Error(
      `${where}: ${name} is announced, still awaited, and about the same objects; wait for it, delete it, or announce all the same with --force`,
    );
  }
  if (isFree) return;
  throw new Error(
    `${where}: the newest checksum is not of the objects as they are; wait until it is, see that the --checksum.* flags are the operator's, or announce all the same with --force`,
  );
}

/** True if the objects, without what is there of open announcements, are those of the checksum. */
function isBuiltOn(settled: PublishedCheckSum, members: MemberSet, open: readonly PublishedCheckSum[]): boolean {
  if (isOfState(settled, members.state())) return true;
  const ids = new Map(Array.from(members.entries()).flatMap(([name, member]) => (member.state === "counted" ? [[name, member.id] as const] : [])));
  const live = liveOf(members);
  for (const change of open.flatMap((checksum) => changesOf(checksum) ?? [])) {
    if (change.unchanged || !isDone(change, live)) continue;
    if (change.from === undefined) ids.delete(change.name);
    else ids.set(change.name, change.from);
  }
  return checksumOf(ids.values()) === settled.object.spec.checksum;
}

async function publishAll(query: Query, announced: readonly Announced[], options: AnnounceOptions): Promise<Report> {
  const { secrets, ingresses, waitMs } = options;
  const all = announced.flatMap(({ checksums, kind }) =>
    checksums.map((checksum) => ({ checksum, kind: kind === secrets.checksums.kind ? secrets : ingresses })),
  );
  for (const { checksum, kind } of all) await publish(query, checksum, kind);
  const report = reportOf(announced, options);
  if (waitMs === undefined) return report;
  for (const { checksum, kind } of all) await waitUntilReached(query, { kind, checksum, waitMs });
  return { ...report, text: `${report.text}\nthe announced state is there` };
}

function reportOf(announced: readonly Announced[], { expiresInMs }: AnnounceOptions): Report {
  const lines = announced.flatMap(({ namespace, kind, checksums, added, removed, problems }) => [
    ...checksums.map(
      ({ metadata, spec }) =>
        `announced ${kind} ${metadata.name} in ${namespace}: ${spec.checksum} of ${spec.count}, ${added.length} new and ${removed.length} gone; write them within ${formatDuration(expiresInMs)}`,
    ),
    ...(checksums.length === 0 ? [`nothing changes for ${kind} in ${namespace}, so nothing is announced`] : []),
    ...problems.map(({ name, reason }) => `  ${name}: ${reason}`),
  ]);
  const data = announced.map(({ checksums: [checksum, ...others], ...rest }) => ({
    ...rest,
    name: checksum?.metadata.name ?? null,
    checksum: checksum?.spec.checksum ?? null,
    count: checksum?.spec.count ?? null,
    expires: checksum?.spec.announcement?.expires ?? null,
    ...(others.length > 0 && { others: others.map(({ metadata }) => metadata.name) }),
  }));
  return { text: lines.join("\n"), data };
}
