// Carries a set's plan out: one write after the other, each only on the state that it was planned for. The only place that handles contents.
import {
  defineKind,
  isApiError,
  type JsonPatchOperation,
  keyOf,
  type Kind,
  type KubeObject,
  marked,
  type ObjectMeta,
  type OwnerReference,
  resourceOf,
  type Run,
  Secret,
  type Stored,
  TransientError,
} from "@keyturn/runtime";
import { keyturn } from "../../feature/feature.ts";
import { keepAnnotations } from "./annotations.ts";
import {
  appliedAtAnnotation,
  digestAnnotation,
  logAnnotation,
  proofAnnotation,
  rotationSetAnnotation,
  RotationTarget,
  versionAnnotation,
} from "./api.ts";
import { contentOf, digestOf, mustBeReplaced, storedContent } from "./content.ts";
import { contentOfRecord, ownerReferenceOf, recordName, recordSecret, type RotationLog, type VersionContent } from "./history.ts";
import { changedSince, type ObjectObservation, type Observed, type ReadMemory, type RecordObservation, type TargetObservation } from "./observe.ts";
import type { Precondition, RotationWrite } from "./plan.ts";
import type { Version } from "./rules.ts";
import { isProven, objectProof, recordProof, type Seal } from "./seal.ts";
import { readSource } from "./source.ts";

/** What writes are made with. */
interface WriteContext {
  readonly observed: Observed;
  readonly kinds: readonly Kind[];
  readonly memory: ReadMemory;
  readonly fieldManager: string;
  readonly seal: Seal | undefined;
  /** Its client is asked for only if something is to be written. */
  readonly run: Pick<Run, "client" | "signal">;
}

/** One write of a plan. `moves`: it gives a target another version than it held. */
export type SetAction = RotationWrite & { readonly moves?: boolean };

/** Makes the writes of one run; later ones build on what earlier ones left. */
export class SetWriter {
  readonly #context: WriteContext;
  readonly #contents = new Map<number, VersionContent>();
  readonly #records = new Map<number, Precondition>();
  readonly #created = new Map<number, Version>();
  #sealed: Promise<void> | undefined;
  #source: Promise<VersionContent> | undefined;

  constructor(context: WriteContext) {
    this.#context = context;
  }

  async make(action: SetAction): Promise<void> {
    await (this.#sealed ??= this.#sealRecords());
    // A version moves only if the source is what the plan says. A cache may be behind, and what is overwritten is lost; what is restored is not.
    if (action.moves) await this.#confirmSource();
    if (action.verb === "createRecord") return this.#createRecord(action, await this.#confirmSource());
    if (action.verb === "rebuildRecord") return this.#createRecord(action, await this.#survivingContent(action));
    if (action.verb === "noteRecord") return this.#noteRecord(action);
    if (action.verb === "deleteRecord") return this.#deleteRecord(action);
    return action.verb === "writeTarget" ? this.#writeTarget(action) : this.#deleteTarget(action);
  }

  get #set(): { readonly namespace: string; readonly set: string } {
    return this.#context.observed.observation;
  }

  async #createRecord(write: RotationWrite & { readonly verb: "createRecord" | "rebuildRecord" }, content: VersionContent): Promise<void> {
    const { fieldManager, run } = this.#context;
    const secret = recordSecret(this.#set, write, { content, owners: this.#owners(write.owners), seal: this.#context.seal });
    const created = await run.client.create(Secret, secret, { fieldManager, answer: "metadata" }, run.signal);
    this.#remember(write.seq, created);
    this.#created.set(write.seq, write);
    this.#context.memory.records.set(created.metadata.uid, write.digest);
    this.#contents.set(write.seq, content);
  }

  async #noteRecord({ seq, precondition, log, owners }: RotationWrite & { readonly verb: "noteRecord" }): Promise<void> {
    const text = log && JSON.stringify(log);
    const annotations = text !== undefined && { annotations: { [logAnnotation]: text, [proofAnnotation]: this.#recordProof(seq, text) ?? null } };
    await this.#patchRecord(seq, precondition, { ...annotations, ownerReferences: this.#owners(owners) });
  }

  async #patchRecord(seq: number, precondition: Precondition | undefined, changed: object): Promise<void> {
    const { fieldManager, run } = this.#context;
    const metadata = { ...changed, ...(this.#records.get(seq) ?? precondition) };
    this.#remember(seq, await run.client.mergePatch(Secret, this.#recordName(seq), { metadata }, { fieldManager, answer: "metadata" }, run.signal));
  }

  async #deleteRecord({ seq, precondition }: RotationWrite & { readonly verb: "deleteRecord" }): Promise<void> {
    const { run } = this.#context;
    await run.client.delete(Secret, this.#recordName(seq), this.#records.get(seq) ?? precondition, run.signal);
  }

  #recordProof(seq: number, log: string): string | undefined {
    const { observed, seal } = this.#context;
    const { namespace, set, records } = observed.observation;
    const version = this.#created.get(seq) ?? records.find((record) => record.seq === seq);
    return seal && version && recordProof(seal, keyOf({ namespace, name: set }), { ...version, log });
  }

  /**
   * Before the first write to a set in which nothing is proven: an earlier release has written it, or the key was lost. A crash in between must not leave what
   * looks forged: proofs that do not hold go first, and then the newest record is sealed before the others.
   */
  async #sealRecords(): Promise<void> {
    const { observed, seal } = this.#context;
    const { observation } = observed;
    if (!seal || isProven(observation)) return;
    const records = observation.records.toSorted((a, b) => b.seq - a.seq);
    for (const record of records.filter(({ proof }) => proof === "invalid"))
      await this.#patchRecord(record.seq, preconditionOf(record), { annotations: { [proofAnnotation]: null } });
    for (const record of records) if (record.log) await this.#noteRecord({ verb: "noteRecord", ...record, precondition: preconditionOf(record) });
  }

  async #writeTarget(write: RotationWrite & { readonly verb: "writeTarget" }): Promise<void> {
    const version = await this.#versionContent(write);
    const written = await this.#replaceTarget(write, version);
    const { uid, resourceVersion } = written.metadata;
    const digest = digestOf(storedContent(write.resource, contentOf(written)));
    // What the server made of a custom kind's content is found out when it is looked at next.
    if (digest === write.digest) this.#context.memory.intact.set(uid, resourceVersion);
  }

  async #replaceTarget(write: RotationWrite & { readonly verb: "writeTarget" }, version: VersionContent): Promise<Stored<KubeObject>> {
    const { fieldManager, run } = this.#context;
    const { client, signal } = run;
    const { namespace } = this.#set;
    const kind = this.#kindOf(write.resource, version);
    const name = { namespace, name: write.objectName };
    const targetUid = this.#context.observed.observation.targets.find((target) => target.name === write.target)?.uid ?? "";
    const annotations = this.#annotations(write);
    const create = (): Promise<Stored<KubeObject>> =>
      client.create(kind, targetObject(write, version, { namespace, targetUid, live: undefined, annotations }), { fieldManager }, signal);
    if (!write.precondition) return create();
    const patched = await this.#patchTarget(write, version);
    if (patched) return patched;
    const live = await client.get(kind, name, signal);
    if (live?.metadata.resourceVersion !== write.precondition.resourceVersion) throw changedSince(`${write.resource}/${write.objectName}`);
    if (!mustBeReplaced(live, version.content))
      return client.replace(kind, targetObject(write, version, { namespace, targetUid, live, annotations }), { fieldManager }, signal);
    await client.delete(kind, name, write.precondition, signal);
    return create();
  }

  /** Changes the object without looking at it first, where that is possible. */
  async #patchTarget(write: RotationWrite & { readonly verb: "writeTarget" }, version: VersionContent): Promise<Stored<KubeObject> | undefined> {
    const { fieldManager, observed, run } = this.#context;
    const target = observed.observation.targets.find(({ name }) => name === write.target);
    const live = target?.objects.find(({ uid }) => uid === write.precondition?.uid);
    const patch = live?.ownedByTarget === write.ownedByTarget ? targetPatch(write, version, this.#annotations(write)) : undefined;
    if (!patch) return undefined;
    try {
      const name = { namespace: this.#set.namespace, name: write.objectName };
      return await run.client.jsonPatch(this.#kindOf(write.resource, version), name, patch, { fieldManager }, run.signal);
    } catch (error) {
      // It is immutable, or a Secret of another type: only a look at it shows which.
      if (isApiError(error, "Invalid")) return undefined;
      throw error;
    }
  }

  async #deleteTarget({ resource, objectName, precondition }: RotationWrite & { readonly verb: "deleteTarget" }): Promise<void> {
    const { run } = this.#context;
    await run.client.delete(this.#kindOf(resource), { namespace: this.#set.namespace, name: objectName }, precondition, run.signal);
  }

  /** The content of a version whose record is lost, from what still has it. */
  async #survivingContent({ from, digest }: RotationWrite & { readonly verb: "rebuildRecord" }): Promise<VersionContent> {
    if (from.type === "source") return this.#confirmSource();
    const { run } = this.#context;
    const { resource, name } = from;
    const kind = this.#kindOf(resource);
    const object = await run.client.get(kind, { namespace: this.#set.namespace, name }, run.signal);
    const content = object && storedContent(resource, contentOf(object));
    if (!object || !content || object.metadata.uid !== from.uid || digestOf(content) !== digest) throw changedSince(`${resource}/${name}`);
    return { apiVersion: object.apiVersion ?? "", kind: object.kind ?? kind.kind, content };
  }

  /** The source's content as the plan saw it: read for the plan, or read again and found the same. */
  #confirmSource(): Promise<VersionContent> {
    return (this.#source ??= this.#readSource());
  }

  async #readSource(): Promise<VersionContent> {
    const { memory, observed, run } = this.#context;
    const { namespace, set, sources } = observed.observation;
    const [source] = sources;
    if (!source?.content.ok) throw changedSince(`the source of set ${set}`);
    const read = observed.contents.get(source.uid);
    if (read) return read;
    const { resource, name, uid, content } = source;
    const kind = this.#kindOf(resource);
    const object = await run.client.get(kind, { namespace, name }, run.signal);
    const known = memory.sources.get(uid);
    // It may be the same again, and have been another since.
    if (known && object?.metadata.resourceVersion !== known.resourceVersion) throw changedSince(`${resource}/${name}`);
    const paths = object && keepAnnotations(object).source;
    const again = object && paths?.set === set && object.metadata.uid === uid ? readSource(object, resource, paths) : undefined;
    const isSame = again?.content.ok && again.content.digest === content.digest && again.content.watchDigest === content.watchDigest;
    if (!object || !again?.payload || !isSame) throw changedSince(`${resource}/${name}`);
    return { apiVersion: object.apiVersion ?? "", kind: object.kind ?? kind.kind, content: again.payload };
  }

  async #versionContent({ seq, digest, resource }: RotationWrite & { readonly verb: "writeTarget" }): Promise<VersionContent> {
    const known = this.#contents.get(seq);
    if (known) return known;
    const { observed, memory, run } = this.#context;
    const { sources, records } = observed.observation;
    const recordUid = records.find((record) => record.seq === seq)?.uid ?? "";
    const [source] = sources;
    // What has just been read of the source need not be read again from a record that is known to hold the same.
    const isSource = source?.content.ok && source.content.digest === digest && source.resource === resource;
    if (this.#source && isSource && memory.records.get(recordUid) === digest) return this.#source;
    const name = this.#recordName(seq);
    const record = await run.client.get(Secret, name, run.signal);
    if (!record) throw changedSince(`version record ${name.name}`);
    const content = contentOfRecord(record, name);
    memory.records.set(record.metadata.uid, digestOf(content.content));
    this.#contents.set(seq, content);
    return content;
  }

  /** What says which version an object was written with. */
  #annotations({ target, seq, digest, atMs }: TargetWrite): Readonly<Record<string, string>> {
    const { seal } = this.#context;
    const { namespace, set } = this.#set;
    const provenFor = { setKey: keyOf({ namespace, name: set }), targetKey: keyOf({ namespace, name: target }) };
    return {
      [rotationSetAnnotation]: set,
      [versionAnnotation]: String(seq),
      [digestAnnotation]: digest,
      [appliedAtAnnotation]: new Date(atMs).toISOString(),
      ...(seal && { [proofAnnotation]: objectProof(seal, provenFor, { seq, digest, atMs }) }),
    };
  }

  #kindOf(resource: string, version?: VersionContent): Kind {
    const kind = this.#context.kinds.find((candidate) => resourceOf(candidate) === resource);
    if (!kind)
      throw new TransientError(`versions of ${resource} cannot be written: start the operator with --rotation.kinds for it`, {
        reason: "WriteRefused",
      });
    return version ? defineKind({ ...kind, kind: version.kind }) : kind;
  }

  #recordName(seq: number): { readonly namespace: string; readonly name: string } {
    return { namespace: this.#set.namespace, name: recordName(this.#set.set, seq) };
  }

  #owners(uids: readonly string[]): readonly OwnerReference[] {
    return this.#context.observed.observation.targets.filter(({ uid }) => uids.includes(uid)).map(ownerReferenceOf);
  }

  #remember(seq: number, { metadata: { uid, resourceVersion } }: Stored<KubeObject>): void {
    this.#records.set(seq, { uid, resourceVersion });
  }
}

// What is noted with version records, and when it has to be noted anew.

/** The owners of every record: with the last of the set's targets the history goes too. */
export function recordOwners(targets: readonly TargetObservation[]): readonly string[] {
  return targets.map(({ uid }) => uid).toSorted();
}

/** A note of the log, if it is another than what the record says. */
export function logNote(record: RecordObservation, log: RotationLog, owners: readonly string[]): RotationWrite | undefined {
  if (log === record.log && hasOwners(record, owners)) return undefined;
  return { verb: "noteRecord", seq: record.seq, precondition: preconditionOf(record), log: log === record.log ? undefined : log, owners };
}

/** A note of the owners alone, if they are others than what the record says. */
export function ownersNote(record: RecordObservation, owners: readonly string[]): readonly RotationWrite[] {
  if (hasOwners(record, owners)) return [];
  return [{ verb: "noteRecord", seq: record.seq, precondition: preconditionOf(record), log: undefined, owners }];
}

/** Which state of a record a write is meant for. */
export function preconditionOf({ uid, resourceVersion }: RecordObservation): { readonly uid: string; readonly resourceVersion: string } {
  return { uid, resourceVersion };
}

function hasOwners(record: RecordObservation, owners: readonly string[]): boolean {
  const has = record.owners.toSorted();
  return has.length === owners.length && has.every((uid, index) => uid === owners[index]);
}

// What is to be done to a target's objects so that there is one, with the content of the version that the target holds.

/** What a target should hold: a version since a time, or no object at all. */
export type Wanted = { readonly type: "version"; readonly version: Version; readonly atMs: number } | { readonly type: "none" };

/** The writes for one target; empty if all is as it should be. Only objects that are marked as this target's are touched. */
export function targetWrites(target: TargetObservation, wanted: Wanted): readonly RotationWrite[] {
  const ours = target.objects.filter((object) => object.ours);
  if (wanted.type === "none") return ours.map((object) => removal(target, object));
  const { version, atMs } = wanted;
  const ownedByTarget = target.deletionMode === "cascade";
  const live = ours.find(({ resource, name }) => resource === version.resource && name === target.objectName);
  const write: RotationWrite = {
    verb: "writeTarget",
    target: target.name,
    resource: version.resource,
    objectName: target.objectName,
    seq: version.seq,
    digest: version.digest,
    atMs,
    ownedByTarget,
    precondition: live && { uid: live.uid, resourceVersion: live.resourceVersion },
  };
  const isCurrent = live && holds(live, version) && live.ownedByTarget === ownedByTarget;
  // The old object goes only when there is a new one.
  return [...(isCurrent ? [] : [write]), ...ours.filter((object) => object !== live).map((object) => removal(target, object))];
}

/** True if the object says that it has the version, and has it. */
function holds({ applied, digest }: ObjectObservation, version: Version): boolean {
  return applied?.seq === version.seq && applied.digest === version.digest && digest === version.digest;
}

function removal({ name }: TargetObservation, { resource, name: objectName, uid, resourceVersion }: ObjectObservation): RotationWrite {
  return { verb: "deleteTarget", target: name, resource, objectName, precondition: { uid, resourceVersion } };
}

// A target's object as it is written: the content of a version, what says so, and our label. Nothing of the source's metadata.

type TargetWrite = RotationWrite & { readonly verb: "writeTarget" };

/** The object that a write makes. What others have put into the metadata of one that exists stays there. */
function targetObject(
  write: TargetWrite,
  { content }: VersionContent,
  {
    namespace,
    targetUid,
    live,
    annotations,
  }: {
    readonly namespace: string;
    readonly targetUid: string;
    readonly live: Stored<KubeObject> | undefined;
    readonly annotations: Readonly<Record<string, string>>;
  },
): KubeObject {
  const name = write.objectName;
  const before: ObjectMeta = live?.metadata ?? {};
  const ownerReferences = ownersOf(write, { uid: targetUid, others: live?.metadata.ownerReferences ?? [] });
  const written: KubeObject = {
    ...content,
    // What is reported about an object is not rotated, and not lost either.
    ...(live && "status" in live && { status: live.status }),
    metadata: {
      namespace,
      name,
      ...(live && { uid: live.metadata.uid, resourceVersion: live.metadata.resourceVersion }),
      ...(before.labels && { labels: before.labels }),
      ...(before.finalizers && { finalizers: before.finalizers }),
      ...(ownerReferences.length > 0 && { ownerReferences }),
      annotations: { ...before.annotations, ...annotations },
    },
  };
  return marked(written, keyturn, { kind: RotationTarget, name: { namespace, name: write.target } });
}

/** All that the content of these kinds can consist of, so that it can be set without a look at the object. */
const knownMembers: ReadonlyMap<string, readonly string[]> = new Map([
  ["secrets", ["data", "type", "immutable"]],
  ["configmaps", ["data", "binaryData", "immutable"]],
]);

/** The same as a patch of an object in the state that the write is meant for; undefined for kinds of which not every member is known. */
function targetPatch(
  write: TargetWrite,
  { content }: VersionContent,
  annotations: Readonly<Record<string, string>>,
): readonly JsonPatchOperation[] | undefined {
  const members = knownMembers.get(write.resource);
  if (!members || !write.precondition || Object.keys(content).some((name) => !members.includes(name))) return undefined;
  const { uid, resourceVersion } = write.precondition;
  return [
    { op: "test", path: "/metadata/uid", value: uid },
    { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
    ...members.map((name) => ({ op: "add", path: `/${name}`, value: content[name] ?? null }) as const),
    ...Object.entries(annotations).map(
      ([name, value]) => ({ op: "add", path: `/metadata/annotations/${name.replaceAll("/", "~1")}`, value }) as const,
    ),
  ];
}

function ownersOf(
  { target, ownedByTarget }: TargetWrite,
  { uid, others }: { readonly uid: string; readonly others: readonly OwnerReference[] },
): readonly OwnerReference[] {
  const strangers = others.filter((owner) => owner.uid !== uid);
  return ownedByTarget ? [...strangers, ownerReferenceOf({ name: target, uid })] : strangers;
}
