// Announces a state before it is written: its checksum is published first, so that a batch of changes is adopted as one.
import {
  type Client,
  formatDuration,
  type Ingress,
  type KubeObject,
  managedBySelector,
  Namespace,
  ownedWriter,
  ownershipOf,
  type Secret,
  sleep,
  type Stored,
  systemClock,
} from "@keyturn/runtime";
import { keyturn, type Query, type Report } from "../../feature/feature.ts";
import { type AnnouncedChange, type AnnouncementKey, changesBetween, signed } from "./announcement.ts";
import {
  type CheckSumObject,
  checkSumObject,
  isOfState,
  keepCheckSum,
  named,
  type PublishedCheckSum,
  rfc3339,
  timestampMsOf,
} from "./check-sum-object.ts";
import { differenceOf, type Member } from "./ids.ts";
import { changesOf, newestSettled } from "./history.ts";
import { appliedIngress, appliedSecret, type IngressManifest, type Manifest, type SecretManifest } from "./manifests.ts";
import type { MemberKind } from "./member-kind.ts";
import { MemberSet, type SetState, wideName } from "./members.ts";
import { isWide, type Scope, type ScopeChoice, scopeOfNamespace } from "./scopes.ts";
import { limits } from "../../limits.ts";

/** What is announced. */
export interface Batch {
  readonly manifests: readonly Manifest[];
  /** Objects that are going to be deleted, in the query's namespace. */
  readonly deletions: readonly { readonly kind: Manifest["kind"]; readonly name: string }[];
}

/** How it is announced. */
export interface AnnounceOptions {
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

/** One checksum that was announced, or the state that is there already. */
interface Announced {
  readonly namespace: string;
  readonly kind: string;
  /** Undefined if nothing changes. */
  readonly checksum: CheckSumObject | undefined;
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
    prepared.push(await prepare({ ...place, memberKind: secrets, changes: secretChanges, applied: appliedSecret, deletions: gone("Secret") }));
    prepared.push(await prepare({ ...place, memberKind: ingresses, changes: ingressChanges, applied: appliedIngress, deletions: gone("Ingress") }));
  }
  const announced = prepared.filter((each) => each !== undefined);
  if (announced.length === 0) throw new Error("there is no Secret and no Ingress to announce in what was given");
  const ignored = announced.flatMap(({ checksum, problems }) => (checksum ? [] : problems));
  if (ignored.length > 0 && announced.every(({ checksum }) => !checksum)) {
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
  const {
    query,
    scope: { home: namespace },
  } = place;
  const { members } = await membersOf(memberKind, place);
  const { items } = await query.client.list(memberKind.checksums, { namespace, labels: managedBySelector(keyturn) }, query.signal);
  const published = items.filter((object) => isOwned(object, namespace)).map(keepCheckSum(memberKind.prefix));
  const settled = newestSettled(published);
  const ids = items.find(({ metadata }) => metadata.name === settled?.object.metadata.name)?.spec.ids;
  const state = members.state();
  const kind = memberKind.checksums.kind;
  const nothing = { namespace, kind, checksum: undefined, added: [], removed: [], problems: [] };
  // Whoever begins to sign signs what is there, once.
  const isUnsigned = place.options.key !== undefined && !published.some(({ object }) => object.spec.announcement?.signature);
  // What is published may still be held by agents, for certificates in it that are older; nobody holds Ingresses.
  const isPublished = settled !== undefined && isOfState(settled, state) && memberKind.checksums !== place.options.secrets.checksums;
  if (state.ids.length === 0 || isPublished || (!settled && !isUnsigned)) return nothing;
  const changes = changesBetween(isUnsigned ? [] : (ids ?? []), members);
  const { notPublished: added, notLive: removed } = differenceOf(state.ids, ids ?? []);
  return { ...nothing, added, removed, checksum: await announcementOf(memberKind, { ...place, state, changes, published }) };
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
    readonly deletions: readonly string[];
  },
): Promise<Announced | undefined> {
  const { query, options, memberKind, changes: manifests, applied, deletions } = batch;
  const { home: namespace } = batch.scope;
  if (manifests.length === 0 && deletions.length === 0) return undefined;
  const { members, live, put } = await membersOf(memberKind, batch);
  const before = members.state();
  const names = new Set([...manifests.map(({ name }) => name), ...deletions]);
  const membersBefore = new Map(Array.from(names, (name) => [name, members.get(name)] as const));
  const published = await publishedIn(query.client, { namespace, memberKind, signal: query.signal });
  for (const { manifest, name } of manifests) put(name, applied(manifest, live.get(name)));
  for (const name of deletions) members.delete(name);
  const intended = members.state();
  const changes = Array.from(membersBefore).flatMap(([name, member]) => changeOf(name, member, members.get(name)));
  const kind = memberKind.checksums.kind;
  if (!options.force) refuseUnlessFree(published, { state: before, changes, namespace, kind, nowMs: query.nowMs });
  const { notPublished: added, notLive: removed } = differenceOf(intended.ids, before.ids);
  const checksum = changes.length === 0 ? undefined : await announcementOf(memberKind, { ...batch, state: intended, changes, published });
  const uncovered = manifests.filter(({ name }) => members.get(name) === undefined && !deletions.includes(name));
  const problems = [
    ...members.problems().filter(({ name }) => names.has(name)),
    ...uncovered.map(({ name }) => ({ name, reason: "it is not of the type, labels or class that count" })),
  ];
  return { namespace, kind, checksum, added, removed, problems };
}

function changeOf(name: string, before: Member | undefined, after: Member | undefined): readonly AnnouncedChange[] {
  const [from, to] = [before?.state === "counted" ? before : undefined, after?.state === "counted" ? after : undefined];
  if (from?.id === to?.id && from?.digest === to?.digest) return [];
  const sha256 = to?.digest;
  return [{ name, ...(from && { from: from.id }), ...(to && { to: to.id }), ...(sha256 !== undefined && { sha256 }) }];
}

/** An announcement comes after what is published, and later ones after it: a time that is far ahead would shut out all that follow. */
const maxAheadMs = 3_600_000;

/** The announcement as an object. Its times are the API server's: the announcer's clock may be anything. */
async function announcementOf<T extends KubeObject>(
  { checksums, prefix }: MemberKind<T>,
  {
    query: { client, signal },
    scope: { home: namespace },
    options: { expiresInMs, key },
    state,
    changes,
    published,
  }: Place & { readonly state: SetState; readonly changes: readonly AnnouncedChange[]; readonly published: readonly PublishedCheckSum[] },
): Promise<CheckSumObject> {
  const probe = { metadata: { namespace, name: `${prefix}-time` }, spec: { timestamp: rfc3339(0) } };
  const { metadata } = await client.create(checksums, probe, { dryRun: true }, signal);
  const serverMs = Date.parse(metadata.creationTimestamp ?? "");
  if (Number.isNaN(serverMs)) throw new Error("the API server does not say what time it is");
  const ahead = published.find((checksum) => timestampMsOf(checksum) > serverMs + maxAheadMs);
  if (ahead) {
    const { name } = ahead.object.metadata;
    throw new Error(
      `${checksums.kind} ${name} in ${namespace} says that it is of ${ahead.object.spec.timestamp}, which is still to come; delete it first`,
    );
  }
  const timestampMs = Math.max(serverMs, ...published.map((checksum) => timestampMsOf(checksum) + 1000));
  const announcement = { expires: rfc3339(serverMs + expiresInMs), changes: [...changes] };
  if (JSON.stringify(changes).length > limits.idsBytes)
    throw new Error(`${changes.length} changes do not fit into one object: announce them in parts`);
  const { spec } = checkSumObject(state, { namespace, prefix, timestampMs, announcement });
  const fitting = JSON.stringify(spec).length > limits.idsBytes ? withoutIds(spec) : spec;
  return named(namespace, prefix, key ? { ...fitting, announcement: signed({ namespace, kind: checksums.kind, spec: fitting }, key) } : fitting);
}

function withoutIds(spec: CheckSumObject["spec"]): CheckSumObject["spec"] {
  const { ids: _, ...rest } = spec;
  return rest;
}

async function publishedIn<T extends KubeObject>(
  client: Client,
  { namespace, memberKind, signal }: { readonly namespace: string; readonly memberKind: MemberKind<T>; readonly signal: AbortSignal },
): Promise<readonly PublishedCheckSum[]> {
  const { items } = await client.list(memberKind.checksums, { namespace, labels: managedBySelector(keyturn) }, signal);
  return items.filter((object) => isOwned(object, namespace)).map(keepCheckSum(memberKind.prefix));
}

function isOwned(object: Stored<CheckSumObject>, namespace: string): boolean {
  return ownershipOf(object, keyturn, { kind: Namespace, name: { name: namespace } }) === "ours";
}

/** What is announced twice would not be told apart, and what is not published cannot be built on. */
function refuseUnlessFree(
  published: readonly PublishedCheckSum[],
  {
    state,
    changes,
    namespace,
    kind,
    nowMs,
  }: {
    readonly state: SetState;
    readonly changes: readonly AnnouncedChange[];
    readonly namespace: string;
    readonly kind: string;
    readonly nowMs: number;
  },
): void {
  const where = `cannot announce a ${kind} in namespace ${namespace}`;
  const names = new Set(changes.map(({ name }) => name));
  const open = published.filter(
    ({ object: { spec, status } }) => spec.announcement && !status?.reached && Date.parse(spec.announcement.expires) > nowMs,
  );
  const other = open.find((checksum) => (changesOf(checksum) ?? [{ name: "" }]).some(({ name }) => name === "" || names.has(name)));
  if (other) {
    const { name } = other.object.metadata;
    throw new Error(
      `${where}: ${name} is announced, still awaited, and about the same objects; wait for it, delete it, or announce all the same with --force`,
    );
  }
  const settled = newestSettled(published);
  if (!settled || isOfState(settled, state) || open.length > 0) return;
  throw new Error(
    `${where}: the newest checksum is not of the objects as they are; wait until it is, see that the --checksum.* flags are the operator's, or announce all the same with --force`,
  );
}

async function publishAll(query: Query, announced: readonly Announced[], options: AnnounceOptions): Promise<Report> {
  const { secrets, ingresses, waitMs } = options;
  for (const { checksum, kind } of announced) if (checksum) await publish(query, checksum, kind === secrets.checksums.kind ? secrets : ingresses);
  const report = reportOf(announced, options);
  if (waitMs === undefined) return report;
  for (const { checksum, kind } of announced) {
    const kindOf = kind === secrets.checksums.kind ? secrets.checksums : ingresses.checksums;
    if (checksum) await waitUntilReached(query, { kind: kindOf, checksum, waitMs });
  }
  return { ...report, text: `${report.text}\nthe announced state is there` };
}

/** How often is looked. */
const lookEveryMs = 1000;

/** Resolves when the operator has seen the announced state. Rejects if it is given up before, or the time is over. */
async function waitUntilReached(
  { client, signal }: Query,
  { kind, checksum, waitMs }: { readonly kind: MemberKind["checksums"]; readonly checksum: CheckSumObject; readonly waitMs: number },
): Promise<void> {
  const { namespace = "", name = "" } = checksum.metadata;
  for (let waitedMs = 0; waitedMs <= waitMs; waitedMs += lookEveryMs) {
    const object = await client.get(kind, { namespace, name }, signal);
    if (!object) throw new Error(`the announcement ${name} in ${namespace} was given up: its time was over, or somebody deleted it`);
    if (object.status?.reached !== undefined) return;
    await sleep(systemClock, lookEveryMs, signal);
  }
  throw new Error(`the announced state of ${name} in ${namespace} has not come within ${formatDuration(waitMs)}; it is still awaited`);
}

async function publish<T extends KubeObject>(
  { client, signal }: Query,
  checksum: CheckSumObject,
  { checksums }: Pick<MemberKind<T>, "checksums">,
): Promise<void> {
  const owner = { kind: Namespace, name: { name: checksum.metadata.namespace ?? "" } };
  const writer = ownedWriter({ client, operator: keyturn, controller: "announce", owner, signal });
  await writer.apply(checksums, checksum, { seen: "absent" });
}

function reportOf(announced: readonly Announced[], { expiresInMs }: AnnounceOptions): Report {
  const lines = announced.flatMap(({ namespace, kind, checksum, added, removed, problems }) => [
    checksum
      ? `announced ${kind} ${checksum.metadata.name} in ${namespace}: ${checksum.spec.checksum} of ${checksum.spec.count}, ${added.length} new and ${removed.length} gone; write them within ${formatDuration(expiresInMs)}`
      : `nothing changes for ${kind} in ${namespace}, so nothing is announced`,
    ...problems.map(({ name, reason }) => `  ${name}: ${reason}`),
  ]);
  const data = announced.map(({ checksum, ...rest }) => ({
    ...rest,
    name: checksum?.metadata.name ?? null,
    checksum: checksum?.spec.checksum ?? null,
    count: checksum?.spec.count ?? null,
    expires: checksum?.spec.announcement?.expires ?? null,
  }));
  return { text: lines.join("\n"), data };
}
