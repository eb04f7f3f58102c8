// A namespace in memory with one rotation set in it: carries the writes of plans out one at a time, as the API server would, and may stop between any two.
import { withBelievedAnnotations } from "../../src/controllers/rotation/annotations.ts";
import type {
  ObjectObservation,
  RecordObservation,
  SetObservation,
  SourceObservation,
  TargetObservation,
} from "../../src/controllers/rotation/observe.ts";
import type { RotationPlan, RotationWrite } from "../../src/controllers/rotation/plan.ts";
import type { MaintenanceWindows } from "../../src/feature/maintenance-window.ts";
import { type ModelSource, type ModelTarget, ranksOf } from "./naive-rules.ts";
import type { ScriptedTarget } from "./script.ts";

/** The source, or one of several that claim to be it. */
export interface WorldSource {
  readonly name: string;
  readonly uid: string;
  readonly watched: string;
  readonly content: string;
  readonly readable: boolean;
  readonly writtenAt: number;
}

/** A RotationTarget, less what the world itself knows. */
type WorldTarget = Omit<ModelTarget, "blocked"> & { readonly uid: string };

const resource = "secrets";

/** The namespace. Tests change it freely between runs. */
export class RotationWorld {
  readonly sources: Map<string, WorldSource>;
  readonly targets: Map<string, WorldTarget>;
  readonly objects: Map<string, ObjectObservation>;
  readonly records: Map<number, RecordObservation>;
  changePolicy: "Settled" | "Queue" = "Settled";
  /** False: the operator was started without the flag for the kind of source and targets, and sees none of them. */
  isKindWatched = true;
  /** The operator has just been started, and does not know what happened before. */
  isFirstLook = false;
  /** How often the source has changed since a look at it succeeded. */
  changes = 0;
  /** Targets that people have paused, and whether they have paused the whole set. */
  readonly paused: Set<string>;
  isPaused = false;
  /** When contents may move. */
  maintenance: MaintenanceWindows | undefined;
  /** Targets whose objects the API server does not take. */
  readonly refused: Set<string>;
  /** The versions that targets' statuses say they hold. */
  readonly reported: Map<string, number>;
  /** Versions that a person has given up. */
  readonly givenUp: Set<number>;
  /** Targets that take a version only when its key has been published for long enough, and from when on that is so, by content. */
  readonly waiting: Set<string>;
  readonly published: Map<string, number>;
  /** By how much the operator's clock is ahead of the API server's. */
  clockAheadMs = 0;
  #lastId = 0;

  /** `like`: what it is a copy of. */
  constructor(like?: RotationWorld) {
    this.sources = new Map(like?.sources);
    this.targets = new Map(like?.targets);
    this.objects = new Map(like?.objects);
    this.records = new Map(like?.records);
    this.paused = new Set(like?.paused);
    this.refused = new Set(like?.refused);
    this.reported = new Map(like?.reported);
    this.givenUp = new Set(like?.givenUp);
    this.waiting = new Set(like?.waiting);
    this.published = new Map(like?.published);
    if (!like) return;
    this.changePolicy = like.changePolicy;
    this.isKindWatched = like.isKindWatched;
    this.isFirstLook = like.isFirstLook;
    this.changes = like.changes;
    this.isPaused = like.isPaused;
    this.maintenance = like.maintenance;
    this.clockAheadMs = like.clockAheadMs;
    this.#lastId = like.#lastId;
  }

  /** A copy that goes its own way. */
  fork(): RotationWorld {
    return new RotationWorld(this);
  }

  /** A new uid or resourceVersion. */
  nextId(): string {
    this.#lastId += 1;
    return String(this.#lastId);
  }

  /** Creates the source or changes it; with no change it is written all the same. */
  putSource(change: Partial<WorldSource>, nowMs: number): WorldSource {
    const { name = "source" } = change;
    const first: WorldSource = { name, uid: this.nextId(), watched: "v0", content: "v0", readable: true, writtenAt: 0 };
    // The server's times are of whole seconds; the controller takes the later end.
    const source = { ...first, ...this.sources.get(name), ...change, writtenAt: Math.ceil(nowMs / 1000) * 1000 };
    this.sources.set(name, source);
    return source;
  }

  /** Creates a RotationTarget or changes its spec. */
  putTarget(name: string, { order, delay, deletionMode, whenUnfilled }: ScriptedTarget): void {
    const uid = this.targets.get(name)?.uid ?? this.nextId();
    this.targets.set(name, { name, uid, order, delayMs: delay * 1000, deletionMode, whenUnfilled });
  }

  /** Somebody makes an object of the target's name, in place of ours if need be; or takes it away again. */
  takeName(name: string): void {
    if (this.objects.get(name)?.ours === false) this.objects.delete(name);
    else {
      const identity = { resource, name, uid: this.nextId(), resourceVersion: this.nextId() };
      this.objects.set(name, { ...identity, ours: false, digest: "theirs", ownedByTarget: false });
    }
  }

  /** Somebody deletes or edits a target's object. False if there is none of ours. */
  spoil(name: string, how: "deleted" | "edited" | "unlabelled"): boolean {
    const object = this.objects.get(name);
    if (!object?.ours) return false;
    const resourceVersion = this.nextId();
    const { applied: _, ...bare } = object;
    if (how === "deleted") this.objects.delete(name);
    else this.objects.set(name, how === "edited" ? { ...object, resourceVersion, digest: "edited" } : { ...bare, resourceVersion });
    return true;
  }

  /** What the controller would see. */
  observe(believed: typeof withBelievedAnnotations = withBelievedAnnotations): SetObservation {
    const seen = { isFirstLook: this.isFirstLook || this.changes > 1, isPaused: this.isPaused };
    const sources = this.isKindWatched ? [...this.sources.values()].map((source) => observedSource(source, seen)) : [];
    const records = [...this.records.values()];
    const targets = [...this.targets.values()].map((target) => this.#observedTarget(target));
    return {
      namespace: "shop",
      set: "keys",
      sources,
      targets: believed(targets, { sources, records }),
      records,
      takenSeqs: [],
      formerSeq: records.length > 0 ? 0 : Math.max(0, ...Array.from(this.objects.values(), ({ applied }) => applied?.seq ?? 0)),
      unwatched: this.isKindWatched || records.length === 0 ? [] : [resource],
      givenUp: [...this.givenUp],
      ...(this.maintenance && { maintenance: this.maintenance }),
    };
  }

  /** The same for the naive simulator. */
  sight(): { readonly source: ModelSource; readonly targets: readonly ModelTarget[] } {
    const [first, ...others] = this.sources.values();
    const source: ModelSource =
      first === undefined
        ? { found: "none" }
        : others.length > 0 || !first.readable
          ? { found: "unreadable" }
          : { found: "one", watched: first.watched, content: first.content, uid: first.uid, writtenAt: first.writtenAt };
    const targets = Array.from(this.targets.values(), (target) => ({ ...target, blocked: this.objects.get(target.name)?.ours === false }));
    return { source, targets };
  }

  /** Makes the plan's writes in their order, `stopAfter` of them at most, handing each out before it is made. False if one was refused, after which nothing more is done. */
  carryOut(
    plan: RotationPlan,
    { stopAfter = Number.POSITIVE_INFINITY, onWrite }: { readonly stopAfter?: number; readonly onWrite?: (write: RotationWrite) => void } = {},
  ): boolean {
    for (const write of plan.writes.slice(0, stopAfter)) {
      if (!this.accepts(write)) return false;
      onWrite?.(write);
      this.#make(write);
    }
    return true;
  }

  /** What a target's object holds: a content, `-` for no object, `?` if it is not what it says. Somebody else's is `x`. */
  held(name: string): string {
    const object = this.objects.get(name);
    if (!object) return "-";
    if (!object.ours) return "x";
    return object.applied?.digest === object.digest ? object.digest : "?";
  }

  /** All that matters of the world, to be compared. */
  picture(): string {
    const objects = [...this.objects.values()].map(({ name, digest, applied }) => [name, digest, applied?.seq, applied?.atMs].join(" ")).sort();
    return `${objects.join(", ")}; history ${[...this.records.keys()].sort((a, b) => a - b).join(" ")}`;
  }

  /** The targets from the first rank to the last, those of one rank by name. */
  get ranked(): readonly { readonly name: string; readonly rank: number; readonly delayMs: number }[] {
    return ranksOf(this.sight().targets).flatMap(({ rank, delayMs, members }) => members.map(({ name }) => ({ name, rank, delayMs })));
  }

  removeTarget(name: string): "stays" | "goes" {
    const target = this.targets.get(name);
    const object = this.objects.get(name);
    this.targets.delete(name);
    this.reported.delete(name);
    // What the garbage collector does: an object goes with its owner, a record with the last of its owners.
    if (object?.ours && object.ownedByTarget) this.objects.delete(name);
    for (const [seq, record] of this.records) {
      const owners = record.owners.filter((uid) => uid !== target?.uid);
      if (owners.length === 0) this.records.delete(seq);
      else this.records.set(seq, { ...record, owners });
    }
    return this.objects.get(name)?.ours ? "stays" : "goes";
  }

  #observedTarget(target: WorldTarget): TargetObservation {
    const { name, uid, order, delayMs, deletionMode, whenUnfilled } = target;
    const object = this.objects.get(name);
    const { changePolicy } = this;
    const objects = object && this.isKindWatched ? [object] : [];
    const reason = this.refused.has(name) ? ("WriteRefused" as const) : this.paused.has(name) ? ("Paused" as const) : undefined;
    const blocker = reason ? { blocker: { reason, message: reason } } : {};
    const publications = new Map(Array.from(this.published, ([content, fromMs]) => [content, { fromMs }]));
    return {
      ...blocker,
      ...(this.waiting.has(name) && { publishBefore: { config: "tokens", publications } }),
      name,
      uid,
      generation: 1,
      order,
      delayMs,
      deletionMode,
      whenUnfilled,
      changePolicy,
      objectName: name,
      statusDigest: undefined,
      reportedSeq: this.reported.get(name),
      objects,
    };
  }

  /** False if the API server would refuse a write, or what it is made from is not what it was planned for. */
  accepts(write: RotationWrite): boolean {
    const live = "objectName" in write ? this.objects.get(write.objectName) : this.records.get(write.seq);
    if (write.verb === "rebuildRecord" && !this.#has(write)) return false;
    // Contents come from records; a version without one cannot be written.
    if (write.verb === "writeTarget" && this.records.get(write.seq)?.digest !== write.digest) return false;
    const isCreation = write.verb === "createRecord" || write.verb === "rebuildRecord" || (write.verb === "writeTarget" && !write.precondition);
    if (isCreation) return live === undefined;
    const { precondition } = write;
    return live !== undefined && (!precondition || (live.uid === precondition.uid && live.resourceVersion === precondition.resourceVersion));
  }

  #has({ from, digest }: RotationWrite & { readonly verb: "rebuildRecord" }): boolean {
    if (from.type === "object") return this.objects.get(from.name)?.digest === digest;
    return [...this.sources.values()].some(({ content }) => content === digest);
  }

  /** As before the first write of a run: where nothing is proven, all records are sealed. */
  #seal(): void {
    const records = [...this.records.values()];
    const objects = [...this.objects.values()];
    if (records.some(({ proof }) => proof === "valid") || objects.some(({ ours, applied }) => ours && applied?.isProven)) return;
    for (const record of records) this.records.set(record.seq, { ...record, proof: "valid" });
  }

  #make(write: RotationWrite): void {
    this.#seal();
    switch (write.verb) {
      case "createRecord":
      case "rebuildRecord": {
        const { seq, watchDigest, digest, seenAtMs, log, owners } = write;
        this.records.set(seq, {
          seq,
          uid: this.nextId(),
          resourceVersion: this.nextId(),
          resource,
          watchDigest,
          digest,
          seenAtMs,
          log,
          owners,
          proof: "valid",
        });
        return;
      }
      case "noteRecord": {
        const record = this.records.get(write.seq);
        const proven = write.log ? { log: write.log, proof: "valid" as const } : {};
        if (record) this.records.set(write.seq, { ...record, ...proven, resourceVersion: this.nextId(), owners: write.owners });
        return;
      }
      case "deleteRecord":
        this.records.delete(write.seq);
        return;
      case "writeTarget": {
        const { objectName: name, seq, digest, atMs, ownedByTarget } = write;
        const uid = this.objects.get(name)?.uid ?? this.nextId();
        this.objects.set(name, {
          resource,
          name,
          uid,
          resourceVersion: this.nextId(),
          ours: true,
          applied: { seq, digest, atMs, isProven: true },
          digest,
          ownedByTarget,
        });
        return;
      }
      case "deleteTarget":
        this.objects.delete(write.objectName);
        return;
    }
  }
}

function observedSource(
  { name, uid, watched, content, readable, writtenAt }: WorldSource,
  { isFirstLook, isPaused }: Pick<RotationWorld, "isFirstLook" | "isPaused">,
): SourceObservation {
  return {
    resource,
    name,
    uid,
    content: readable ? { ok: true, watchDigest: watched, digest: content } : { ok: false, reason: "PathNotFound", message: "no such path" },
    writtenAtMs: writtenAt,
    ...(isFirstLook && { isFirstLook }),
    ...(isPaused && { pause: { untilMs: undefined } }),
  };
}
