// The inspector of consumers: compares what workloads use with what they were last started with.
import {
  type Cache,
  type Change,
  type Client,
  ConfigMap,
  type DeepReadonly,
  isApiError,
  keyOf,
  LruMap,
  nameOf,
  type ObjectKey,
  Secret,
  statesOf,
} from "@keyturn/runtime";
import { fieldsOutside } from "../../workloads/fleet.ts";
import type { Finding, Inspector, InspectorScope, LastLook } from "../../workloads/inspector.ts";
import { joinedDigest } from "../../workloads/restart-digest.ts";
import { type Inspection, type WorkloadId, workloadId } from "../../workloads/rollout-plan.ts";
import { templateOf, type Workload } from "../../workloads/workload.ts";
import { type FollowOptions, type Followed, followedBy, pausePeriodMs, priorityOf, startedWithAnnotation } from "./annotations.ts";
import {
  boundedEntries,
  type ChangeDigest,
  changeDigests,
  changedInWords,
  contentOfMounts,
  entryDigest,
  entryName,
  keepConfigMap,
  keepMount,
  keepSecret,
  type KeptContent,
  type KeptMount,
  ownerDigest,
  readNames,
  readStartedWith,
  type StartRecord,
  saysStartedWith,
  SecretProviderClassPodStatus,
  sourceKey,
  type StartedWith,
  startedWithText,
} from "./content.ts";
import type { SourceKind } from "./references.ts";
import { type ReadSource, readSource, ReplacedPods } from "./replaced-pods.ts";
import { Settling } from "./settling.ts";
import { StartRecords } from "./start-records.ts";
import { TriedEntries } from "./tried.ts";

/** What is followed, and how. */
export interface InspectionOptions extends FollowOptions {
  /** How long changes are collected. */
  readonly settleMs: number;
  readonly skipNamespaces: readonly string[];
}

/** Names the index over workloads by what they follow. */
export const followsIndex = "consumers";

/** The sources that a workload follows, for the index. */
export function sourcesFollowed(workload: DeepReadonly<Workload>, options: FollowOptions): readonly ObjectKey[] {
  const { namespace } = workload.ref;
  return [...new Set(followedOf(workload, options).map(({ kind, name }) => sourceKey({ kind, namespace, name })))];
}

/** Reading a template takes longer than all the rest, and it seldom changes. */
const followedKnown = new WeakMap<DeepReadonly<Workload>, readonly Followed[]>();

function followedOf(workload: DeepReadonly<Workload>, options: FollowOptions): readonly Followed[] {
  const known = followedKnown.get(workload);
  if (known) return known;
  const followed = followedBy(workload.annotations, templateOf(workload), options);
  followedKnown.set(workload, followed);
  return followed;
}

/** What a workload is compared with. */
interface Comparison {
  readonly followed: readonly Followed[];
  readonly contentOf: ContentOf;
  /** The installation's. */
  readonly key: Uint8Array;
}

interface Difference {
  readonly owner: string;
  /** Undefined at first sight. */
  readonly read: StartRecord | undefined;
  readonly now: StartedWith;
  readonly withRestart: StartedWith;
  /** Entries that are new, and that its pods have without a restart. */
  readonly had: ReadonlySet<string>;
  /** Entries that are new to its pods. */
  readonly changed: readonly string[];
}

type ContentOf = (followed: Pick<Followed, "kind" | "name">) => KeptContent | undefined;

const unread = { type: "unknown", reason: "Pending", message: "the installation's key has not been read yet" } satisfies Inspection;
const keyMissing = {
  type: "unknown",
  reason: "InstallationKeyMissing",
  message: "the installation's key cannot be read, with which contents are compared",
  lasts: true,
} satisfies Inspection;

/** Follows Secrets and ConfigMaps. */
export class ConsumersInspector implements Inspector {
  readonly caches: readonly Cache<unknown>[];
  readonly #scope: InspectorScope;
  readonly #options: InspectionOptions;
  readonly #contents = new Map<SourceKind, Cache<KeptContent>>();
  readonly #mounts: Cache<KeptMount> | undefined;
  readonly #settling: Settling;
  readonly #records = new StartRecords();
  readonly #tried = new TriedEntries();
  readonly #replaced: ReplacedPods;
  /** On the monotonic scale: since when workloads are behind. */
  readonly #behindSince = new LruMap<WorkloadId, number>(maxSeen);
  readonly #skipped: ReadonlySet<string>;
  #key: Uint8Array | undefined;
  #isKeyMissing = false;
  /** On the monotonic scale. */
  #keyAgainMs = 0;

  constructor(scope: InspectorScope, options: InspectionOptions) {
    const { watch, clock, asker } = scope;
    const { kinds, skipNamespaces, settleMs } = options;
    this.#scope = scope;
    this.#options = options;
    this.#skipped = new Set(skipNamespaces);
    this.#settling = new Settling(clock, settleMs);
    this.#replaced = new ReplacedPods(scope);
    if (asker === "operator") {
      const outside = fieldsOutside(skipNamespaces);
      if (kinds.has("Secret")) this.#follow("Secret", watch(Secret, { ...outside, keep: keepSecret }));
      if (kinds.has("ConfigMap")) this.#follow("ConfigMap", watch(ConfigMap, { ...outside, keep: keepConfigMap }));
      if (kinds.has("SecretProviderClass")) {
        const byClass = ({ className }: DeepReadonly<KeptMount>, key: ObjectKey): readonly string[] => [
          `${nameOf(key).namespace ?? ""}/${className}`,
        ];
        this.#mounts = watch(SecretProviderClassPodStatus, { optional: true, keep: keepMount, indexes: { class: byClass } });
        this.#mounts.subscribe((change) => this.#onMount(change));
      }
    }
    this.caches = [...this.#contents.values(), ...(this.#mounts ? [this.#mounts] : [])];
  }

  inspect(id: WorkloadId, workload: DeepReadonly<Workload> | undefined): Finding | undefined {
    if (!workload) return undefined;
    const { namespace } = workload.ref;
    const followed = this.#skipped.has(namespace) ? [] : followedOf(workload, this.#options);
    if (followed.length === 0) {
      this.#tried.tell(id, namespace, undefined);
      return workload.restarting ? current : undefined;
    }
    if (this.#scope.asker === "viewer") return marked(workload);
    const isWaiting = [...this.#contents.values(), ...(this.#mounts ? [this.#mounts] : [])].some(({ synced }) => !synced);
    if (!this.#key && this.#scope.isWanted()) void this.#readKey();
    if (!this.#key || isWaiting) return { ...current, inspection: this.#isKeyMissing ? keyMissing : unread, againInMs: readAgainMs };
    return this.#compare(id, workload, { followed, contentOf: (source) => this.#content(namespace, source), key: this.#key });
  }

  async lookAgain(workload: DeepReadonly<Workload>, { client, signal }: LastLook): Promise<Finding | undefined> {
    const id = workloadId(workload.ref);
    const found = this.inspect(id, workload);
    if (found?.inspection.type !== "outdated" || !this.#key) return found;
    const { namespace } = workload.ref;
    const key = this.#key;
    const followed = followedOf(workload, this.#options);
    const sources = await this.#readAll(client, followed, { namespace, signal });
    const contentOf: ContentOf = (source) => sources.get(sourceKey({ ...source, namespace }))?.content;
    const changed = new Set(this.#difference(id, workload, { followed, contentOf, key }).changed);
    const places = new Set(followed.flatMap((each) => (changed.has(entryName(each)) ? sourceKey({ ...each, namespace }) : [])));
    const written = new Map(Array.from(sources).flatMap(([place, each]) => (each && places.has(place) ? [[place, each] as const] : [])));
    // Somebody else may have replaced its pods since. Where pods may not be listed, they are once more.
    const isNew = written.size === places.size && (await this.#replaced.areNew(id, workload, written, { client, signal }).catch(notAllowed));
    if (isNew) this.#scope.due([id]);
    return this.#compare(id, workload, { followed, contentOf, key });
  }

  *ids(): Iterable<WorkloadId> {}

  uidOf(): undefined {
    return undefined;
  }

  answered(): Promise<void> {
    return Promise.resolve();
  }

  /** What all workloads follow a source, by its place. */
  #users(source: ObjectKey): readonly WorkloadId[] {
    return Array.from(this.#scope.workloads, ([kind, cache]) =>
      cache.byIndex(followsIndex, source).map((key) => workloadId({ kind, namespace: nameOf(key).namespace ?? "", name: nameOf(key).name })),
    ).flat();
  }

  /** What has changed since its pods were started. */
  #difference(id: WorkloadId, workload: DeepReadonly<Workload>, { followed, contentOf, key }: Comparison): Difference {
    const { namespace } = workload.ref;
    const owner = ownerDigest(key, workload.source.uid);
    const read = this.#records.of(id, workload, { owner, names: followed.map(entryName) });
    const before = read?.entries;
    const digests = followed.map((each) => [entryName(each), entryDigest(key, namespace, each, contentOf(each))] as const);
    const known = digests.flatMap(([name, digest]) => (digest === undefined ? [] : [[name, digest] as const]));
    const now = boundedEntries(new Map(known), key);
    // What is gone stays as pods know it: when it comes back as it was, they have it already.
    const gone = digests.flatMap(([name, digest]) => (digest === undefined && before?.has(name) ? [[name, before.get(name) ?? ""] as const] : []));
    const placeOf = new Map(followed.map((each) => [entryName(each), each]));
    const isHad = (name: string): boolean => {
      const each = placeOf.get(name);
      return each !== undefined && this.#replaced.have(id, workload, sourceKey({ ...each, namespace }), contentOf(each));
    };
    const differing = Array.from(now.keys()).filter((name) => before?.has(name) && before.get(name) !== now.get(name));
    const had = new Set(differing.filter(isHad));
    return { owner, read, now, withRestart: new Map([...now, ...gone]), had, changed: differing.filter((name) => !had.has(name)) };
  }

  #compare(id: WorkloadId, workload: DeepReadonly<Workload>, comparison: Comparison): Finding {
    const { followed, contentOf, key } = comparison;
    const { namespace } = workload.ref;
    const { owner, read, now, withRestart, had, changed } = this.#difference(id, workload, comparison);
    const before = read?.entries;
    this.#tellHealthy(id, workload, { owner, followed });
    const isChanged = new Set(changed);
    const count = (read?.count ?? 0) + (had.size > 0 ? 1 : 0);
    const entries = new Map([...withRestart].map(([name, digest]) => [name, isChanged.has(name) ? (before?.get(name) ?? digest) : digest]));
    const wasOnlySeen = new Set(read?.onlySeen);
    const onlySeen = Array.from(entries.keys()).filter((name) => !before?.has(name) || (wasOnlySeen.has(name) && !had.has(name)));
    const record = startedWithText({ owner, entries, behind: changed, onlySeen, count });
    // Until it is written down, and if somebody takes it off.
    this.#records.keep(id, workload, record);
    if (changed.length === 0) {
      this.#behindSince.delete(id);
      return { ...current, record };
    }
    this.#records.behind(id, workload, { entries, onlySeen, behind: changed, count });
    const nowMs = this.#scope.clock.monotonic();
    const behindSinceMs = this.#behindSince.get(id) ?? nowMs;
    this.#behindSince.set(id, behindSinceMs);
    const recordOfRestart = startedWithText({ owner, entries: withRestart, count: count + 1 });
    const wanted = { record, recordOfRestart, priority: priorityOf(workload.annotations) };
    const behind = followed.filter((each) => isChanged.has(entryName(each)));
    const sources = [...new Set(behind.map((each) => sourceKey({ ...each, namespace })))];
    if (workload.blocker === "OnDelete" || workload.blocker === "Partitioned") this.#askAboutPods(id, workload, behind, { contentOf });
    const settlesInMs = Math.max(this.#settling.settlesInMs(sources), behindSinceMs + pausePeriodMs(workload.annotations) - nowMs);
    if (settlesInMs > 0) return { ...current, inspection: { ...unread, message: "its credentials have just changed" }, againInMs: settlesInMs };
    const parts = changeDigests(changed, now, key);
    const inspection: Inspection = {
      type: "outdated",
      reason: "CredentialChanged",
      message: changedInWords(changed),
      digest: joinedDigest(parts.map(({ digest }) => digest)),
    };
    // Without pods there is nothing to try it with, and nothing to take down.
    const tried = ({ names: all }: ChangeDigest): boolean => all.every((name) => this.#isTried(id, namespace, [name, now.get(name) ?? ""]));
    const untried = workload.desired === 0 ? [] : parts.filter((part) => !tried(part)).map(({ digest }) => digest);
    return { ...current, ...wanted, inspection, untried };
  }

  /** Another workload was restarted with it, and its pods are healthy. */
  #isTried(id: WorkloadId, namespace: string, [name, digest]: readonly [string, string]): boolean {
    return this.#tried.isTried(id, [namespace, name, digest], (other) => {
      const workload = this.#workload(other);
      return workload !== undefined && isHealthy(workload) && saysStartedWith(workload.records[startedWithAnnotation] ?? "", name, digest);
    });
  }

  /** Others may have waited for this one to come through what they are behind with. */
  #tellHealthy(
    id: WorkloadId,
    workload: DeepReadonly<Workload>,
    { owner, followed }: { readonly owner: string; readonly followed: readonly Followed[] },
  ): void {
    const { namespace } = workload.ref;
    const text = isHealthy(workload) ? workload.records[startedWithAnnotation] : undefined;
    const news = new Set(this.#tried.tell(id, namespace, readStartedWith(text, owner, followed.map(entryName))));
    const sources = new Set(followed.flatMap((each) => (news.has(entryName(each)) ? sourceKey({ ...each, namespace }) : [])));
    const users = [...sources].flatMap((source) => this.#users(source));
    this.#scope.due(new Set(users.filter((other) => other !== id && this.#behindSince.get(other) !== undefined)));
  }

  /** Nobody restarts these: those who look after them replace their pods by hand. */
  #askAboutPods(id: WorkloadId, workload: DeepReadonly<Workload>, behind: readonly Followed[], { contentOf }: Pick<Comparison, "contentOf">): void {
    const { client, signal } = this.#scope;
    const { namespace } = workload.ref;
    const input = JSON.stringify(behind.map((each) => [entryName(each), contentOf(each)]));
    const read = async (): Promise<ReadonlyMap<ObjectKey, ReadSource>> => {
      const found = Array.from(await this.#readAll(client, behind, { namespace, signal }));
      const there = found.flatMap(([place, each]) => (each ? [[place, each] as const] : []));
      return new Map(there.length === found.length ? there : []);
    };
    this.#replaced.ask(id, workload, read, input);
  }

  #workload(id: WorkloadId): DeepReadonly<Workload> | undefined {
    const [kind = "", namespace = "", name = ""] = id.split("/");
    return this.#scope.workloads.get(kind)?.get(keyOf({ namespace, name }));
  }

  #content(namespace: string, { kind, name }: Pick<Followed, "kind" | "name">): KeptContent | undefined {
    if (kind !== "SecretProviderClass") return this.#contents.get(kind)?.get(keyOf({ namespace, name }));
    const mounts = this.#mounts?.byIndex("class", `${namespace}/${name}`) ?? [];
    return contentOfMounts(mounts.flatMap((key) => this.#mounts?.get(key)?.content ?? []));
  }

  /** As the API server has them now, by their place. */
  async #readAll(
    client: Client,
    followed: readonly Followed[],
    { namespace, signal }: { readonly namespace: string; readonly signal: AbortSignal },
  ): Promise<ReadonlyMap<ObjectKey, ReadSource | undefined>> {
    const places = new Map(followed.map((each) => [sourceKey({ ...each, namespace }), each]));
    const read = new Map<ObjectKey, ReadSource | undefined>();
    for (const [place, { kind, name }] of places) {
      const mounted = kind === "SecretProviderClass" ? this.#content(namespace, { kind, name }) : undefined;
      if (kind !== "SecretProviderClass") read.set(place, await readSource(client, { kind, namespace, name }, signal));
      else read.set(place, mounted === undefined ? undefined : { content: mounted, writtenMs: undefined });
    }
    return read;
  }

  #follow(kind: SourceKind, cache: Cache<KeptContent>): void {
    this.#contents.set(kind, cache);
    cache.subscribe((change) => {
      const { namespace = "", name } = nameOf(change.key);
      this.#onContent(sourceKey({ kind, namespace, name }), change);
    });
  }

  #onContent(source: ObjectKey, change: Change<KeptContent>): void {
    const [before, after] = [("previous" in change && change.previous) || undefined, ("value" in change && change.value) || undefined];
    if (change.type === "updated" && before === after) return;
    const users = this.#users(source);
    if (!("initial" in change && change.initial)) {
      this.#settling.changed(source);
      if (after !== undefined) this.#replaced.changed(users, source, after);
    }
    this.#scope.due(users);
  }

  #onMount(change: Change<KeptMount>): void {
    const namespace = nameOf(change.key).namespace ?? "";
    for (const { className } of statesOf(change)) {
      const source = sourceKey({ kind: "SecretProviderClass", namespace, name: className });
      if (!("initial" in change && change.initial)) this.#settling.changed(source);
      this.#scope.due(this.#users(source));
    }
  }

  /** Made if there is none, so that only a leader asks for it. What fails is asked for again. */
  async #readKey(): Promise<void> {
    const nowMs = this.#scope.clock.monotonic();
    if (nowMs < this.#keyAgainMs) return;
    this.#keyAgainMs = nowMs + keyRetryMs;
    this.#key = await this.#scope.installationKey().catch(() => undefined);
    this.#isKeyMissing = this.#key === undefined;
    this.#scope.due(this.#scope.ids());
  }
}

const keyRetryMs = 10_000;
const readAgainMs = 1000;
const maxSeen = 20_000;

function isHealthy({ progress, restarting, desired }: DeepReadonly<Workload>): boolean {
  return progress === "finished" && !restarting && desired > 0;
}

function notAllowed(error: unknown): false {
  if (isApiError(error, "Forbidden")) return false;
  throw error;
}

const current = { inspection: { type: "current" }, replaced: true, blocker: undefined, againInMs: undefined } satisfies Finding;

/** What somebody sees who cannot compare contents: the operator's marks. */
function marked({ records }: DeepReadonly<Workload>): Finding {
  const { behind } = readNames(records[startedWithAnnotation]);
  if (behind.length === 0) return current;
  const digest = behind.map((name) => `consumers:${name}`).join("+");
  return { ...current, inspection: { type: "outdated", reason: "CredentialChanged", message: changedInWords(behind), digest } };
}
