// The inspector of consumers: compares what workloads use with what they were last started with.
import {
  type Cache,
  type Change,
  type Client,
  ConfigMap,
  type DeepReadonly,
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
  saysStartedWith,
  SecretProviderClassPodStatus,
  sourceKey,
  type StartedWith,
  startedWithText,
} from "./content.ts";
import type { SourceKind } from "./references.ts";
import { Settling } from "./settling.ts";

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
  /** What was seen written down on workloads: whoever writes a whole workload back takes it off. */
  readonly #seen = new LruMap<WorkloadId, { readonly uid: string; readonly text: string }>(maxSeen);
  /** What those that are healthy were started with. */
  readonly #healthyWith = new LruMap<WorkloadId, string>(maxSeen);
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
    if (followed.length === 0) return workload.restarting ? current : undefined;
    if (this.#scope.asker === "viewer") return marked(workload);
    const isWaiting = [...this.#contents.values(), ...(this.#mounts ? [this.#mounts] : [])].some(({ synced }) => !synced);
    if (!this.#key && this.#scope.isWanted()) void this.#readKey();
    this.#tellHealthy(id, workload, followed);
    if (!this.#key || isWaiting) return { ...current, inspection: this.#isKeyMissing ? keyMissing : unread, againInMs: readAgainMs };
    return this.#compare(id, workload, { followed, contentOf: (source) => this.#content(namespace, source), key: this.#key });
  }

  async lookAgain(workload: DeepReadonly<Workload>, { client, signal }: LastLook): Promise<Finding | undefined> {
    const id = workloadId(workload.ref);
    const found = this.inspect(id, workload);
    if (found?.inspection.type !== "outdated" || !this.#key) return found;
    const { namespace } = workload.ref;
    const followed = followedOf(workload, this.#options);
    const sources = new Map(followed.map((each) => [sourceKey({ ...each, namespace }), each]));
    const contents = new Map<ObjectKey, KeptContent | undefined>();
    for (const [key, each] of sources) contents.set(key, await this.#read(client, { ...each, namespace }, signal));
    return this.#compare(id, workload, { followed, contentOf: (source) => contents.get(sourceKey({ ...source, namespace })), key: this.#key });
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

  #compare(
    id: WorkloadId,
    workload: DeepReadonly<Workload>,
    { followed, contentOf, key }: { readonly followed: readonly Followed[]; readonly contentOf: ContentOf; readonly key: Uint8Array },
  ): Finding {
    const { namespace } = workload.ref;
    const { uid } = workload.source;
    const owner = ownerDigest(key, uid);
    const read = this.#startedWith(id, workload, owner);
    const before = read?.entries;
    const digests = followed.map((each) => [entryName(each), entryDigest(key, namespace, each, contentOf(each))] as const);
    const known = digests.flatMap(([name, digest]) => (digest === undefined ? [] : [[name, digest] as const]));
    const now = boundedEntries(new Map(known), key);
    // What is gone stays as pods know it: when it comes back as it was, they have it already.
    const gone = digests.flatMap(([name, digest]) => (digest === undefined && before?.has(name) ? [[name, before.get(name) ?? ""] as const] : []));
    const changed = Array.from(now.keys()).filter((name) => before?.has(name) && before.get(name) !== now.get(name));
    const withRestart = new Map([...now, ...gone]);
    const entries = new Map([...withRestart].map(([name, digest]) => [name, changed.includes(name) ? (before?.get(name) ?? digest) : digest]));
    const onlySeen = Array.from(entries.keys()).filter((name) => !before?.has(name) || read?.onlySeen.includes(name));
    const record = startedWithText({ owner, entries, behind: changed, onlySeen });
    // Until it is written down, and if somebody takes it off.
    this.#seen.set(id, { uid, text: record });
    if (changed.length === 0) {
      this.#behindSince.delete(id);
      return { ...current, record };
    }
    const nowMs = this.#scope.clock.monotonic();
    const behindSinceMs = this.#behindSince.get(id) ?? nowMs;
    this.#behindSince.set(id, behindSinceMs);
    const wanted = { record, recordOfRestart: startedWithText({ owner, entries: withRestart }), priority: priorityOf(workload.annotations) };
    const sources = followed.filter((each) => changed.includes(entryName(each))).map((each) => sourceKey({ ...each, namespace }));
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
    const tried = (part: ChangeDigest): boolean => workload.desired === 0 || this.#isTried(id, part, { now, sources, key });
    const untried = parts.filter((part) => !tried(part)).map(({ digest }) => digest);
    return { ...current, ...wanted, inspection, untried };
  }

  /** Another workload was restarted with each of its entries, and its pods are healthy. */
  #isTried(
    id: WorkloadId,
    { names }: ChangeDigest,
    { now, sources, key }: { readonly now: StartedWith; readonly sources: readonly ObjectKey[]; readonly key: Uint8Array },
  ): boolean {
    const users = [...new Set(sources.flatMap((source) => this.#users(source)))];
    return names.every((name) =>
      users.some((other) => {
        const workload = other === id ? undefined : this.#workload(other);
        const text = workload?.records[startedWithAnnotation] ?? "";
        if (workload?.progress !== "finished" || workload.restarting || workload.desired === 0) return false;
        return saysStartedWith(text, () => ownerDigest(key, workload.source.uid), name, now.get(name) ?? "");
      }),
    );
  }

  /** Others may have waited for this one to come through what they are behind with. */
  #tellHealthy(id: WorkloadId, { progress, restarting, records, ref }: DeepReadonly<Workload>, followed: readonly Followed[]): void {
    const text = progress === "finished" && !restarting ? records[startedWithAnnotation] : undefined;
    if (text === this.#healthyWith.get(id)) return;
    if (text === undefined) this.#healthyWith.delete(id);
    else this.#healthyWith.set(id, text);
    const users = followed.flatMap(({ kind, name }) => this.#users(sourceKey({ kind, name, namespace: ref.namespace })));
    this.#scope.due(new Set(users.filter((other) => other !== id && this.#behindSince.get(other) !== undefined)));
  }

  #workload(id: WorkloadId): DeepReadonly<Workload> | undefined {
    const [kind = "", namespace = "", name = ""] = id.split("/");
    return this.#scope.workloads.get(kind)?.get(keyOf({ namespace, name }));
  }

  #startedWith(id: WorkloadId, { source: { uid }, records }: DeepReadonly<Workload>, owner: string): ReturnType<typeof readStartedWith> {
    const seen = this.#seen.get(id);
    return readStartedWith(records[startedWithAnnotation], owner) ?? readStartedWith(seen?.uid === uid ? seen.text : undefined, owner);
  }

  #content(namespace: string, { kind, name }: Pick<Followed, "kind" | "name">): KeptContent | undefined {
    if (kind !== "SecretProviderClass") return this.#contents.get(kind)?.get(keyOf({ namespace, name }));
    const mounts = this.#mounts?.byIndex("class", `${namespace}/${name}`) ?? [];
    return contentOfMounts(mounts.flatMap((key) => this.#mounts?.get(key)?.content ?? []));
  }

  /** As the API server has it now. */
  async #read(
    client: Client,
    { kind, namespace, name }: { kind: SourceKind; namespace: string; name: string },
    signal: AbortSignal,
  ): Promise<KeptContent | undefined> {
    if (kind === "Secret") {
      const secret = await client.get(Secret, { namespace, name }, signal);
      return secret && keepSecret(secret);
    }
    if (kind === "ConfigMap") {
      const configMap = await client.get(ConfigMap, { namespace, name }, signal);
      return configMap && keepConfigMap(configMap);
    }
    return this.#content(namespace, { kind, name });
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
    if (!("initial" in change && change.initial)) this.#settling.changed(source);
    this.#scope.due(this.#users(source));
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

const current = { inspection: { type: "current" }, replaced: true, blocker: undefined, againInMs: undefined } satisfies Finding;

/** What somebody sees who cannot compare contents: the operator's marks. */
function marked({ records }: DeepReadonly<Workload>): Finding {
  const { behind } = readNames(records[startedWithAnnotation]);
  if (behind.length === 0) return current;
  const digest = behind.map((name) => `consumers:${name}`).join("+");
  return { ...current, inspection: { type: "outdated", reason: "CredentialChanged", message: changedInWords(behind), digest } };
}
