// The etcd of the simulation: all objects at one revision, the history that watches read, compaction, and restoring an older backup.
import { defineKind, type Kind, resourceOf } from "../../client/kind.ts";
import { isList, isObject, type JsonObject, listOr, objectOr, stringOr, withKey } from "../../json.ts";
import type { MergeRules } from "./object-fields.ts";

/** One change of one object. */
export interface StoreChange {
  readonly revision: number;
  readonly resource: string;
  readonly key: string;
  readonly before: JsonObject | undefined;
  /** Undefined for a removal; `before` is then the last state. */
  readonly after: JsonObject | undefined;
}

/** Everything the store held at one moment. */
export interface Backup {
  readonly revision: number;
  readonly objects: ReadonlyMap<string, ReadonlyMap<string, JsonObject>>;
}

/** Objects by resource (`plural.group`) and key, with every change numbered by a growing revision. */
export class ObjectStore {
  #revision: number;
  #compacted: number;
  #objects = new Map<string, Map<string, JsonObject>>();
  #history: StoreChange[] = [];
  readonly #listeners = new Set<(change: StoreChange) => void>();

  constructor(revision: number) {
    this.#revision = revision;
    this.#compacted = revision;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Changes up to here are no longer known. */
  get compacted(): number {
    return this.#compacted;
  }

  get(resource: string, key: string): JsonObject | undefined {
    return this.#objects.get(resource)?.get(key);
  }

  /** Stores the object with the next revision as its resourceVersion, and returns it. */
  put(resource: string, key: string, object: JsonObject): JsonObject {
    const collection = this.#objects.get(resource) ?? new Map<string, JsonObject>();
    this.#objects.set(resource, collection);
    const before = collection.get(key);
    this.#revision += 1;
    const after = withVersion(object, this.#revision);
    collection.set(key, after);
    this.#record({ revision: this.#revision, resource, key, before, after });
    return after;
  }

  remove(resource: string, key: string): void {
    const before = this.get(resource, key);
    if (!before) return;
    this.#objects.get(resource)?.delete(key);
    this.#revision += 1;
    this.#record({ revision: this.#revision, resource, key, before, after: undefined });
  }

  /** The collection now, or as it was at an earlier revision; sorted by key. The revision must not lie before `compacted`. */
  list(resource: string, revision: number = this.#revision): readonly (readonly [string, JsonObject])[] {
    const state = new Map(this.#objects.get(resource));
    for (const change of this.#history.toReversed()) {
      if (change.revision <= revision) break;
      if (change.resource !== resource) continue;
      if (change.before) state.set(change.key, change.before);
      else state.delete(change.key);
    }
    return [...state].sort(([left], [right]) => (left < right ? -1 : 1));
  }

  /** What changed in the collection after the revision, oldest first. */
  changesSince(resource: string, revision: number): readonly StoreChange[] {
    const newer: StoreChange[] = [];
    for (let index = this.#history.length - 1; index >= 0; index -= 1) {
      const change = this.#history[index];
      if (!change || change.revision <= revision) break;
      if (change.resource === resource) newer.push(change);
    }
    return newer.toReversed();
  }

  /** Every object there is, with its resource and key. */
  *all(): IterableIterator<readonly [resource: string, key: string, object: JsonObject]> {
    for (const [resource, collection] of this.#objects) for (const [key, object] of collection) yield [resource, key, object];
  }

  /** Forgets the changes up to the revision; watches that still need them get 410. */
  compact(revision: number): void {
    this.#compacted = Math.max(this.#compacted, Math.min(revision, this.#revision));
    this.#history = this.#history.filter((change) => change.revision > this.#compacted);
  }

  backup(): Backup {
    return { revision: this.#revision, objects: new Map([...this.#objects].map(([resource, collection]) => [resource, new Map(collection)])) };
  }

  /** Goes back to the backup: later writes are gone and their revisions are given out again. */
  restore({ revision, objects }: Backup): void {
    this.#objects = new Map([...objects].map(([resource, collection]) => [resource, new Map(collection)]));
    this.#revision = revision;
    this.#compacted = revision;
    this.#history = [];
  }

  /** Calls the listener after every change. Returns the way to stop. */
  onChange(listener: (change: StoreChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #record(change: StoreChange): void {
    this.#history.push(change);
    for (const listener of this.#listeners) listener(change);
  }
}

/** The object with its resourceVersion set. */
export function withVersion(object: JsonObject, revision: number): JsonObject {
  return { ...object, metadata: withKey(objectOr(object["metadata"]), "resourceVersion", String(revision)) };
}

// What a simulated API server serves: a kind, and the traits in which kinds differ where a controller can see it.

/** Something wrong with an object. */
interface Problem {
  readonly field: string;
  readonly problem: string;
}

/** How a kind behaves. */
export interface KindTraits {
  /** `status` is a subresource. */
  readonly status: boolean;
  /** `metadata.generation` counts changes outside metadata and status. */
  readonly generation: boolean;
  /** A PUT creates what is not there. */
  readonly createOnUpdate: boolean;
  /** A PUT without resourceVersion is taken. */
  readonly unconditionalUpdate: boolean;
  /** Listed items carry apiVersion and kind; the server's own kinds leave them out. */
  readonly typedItems: boolean;
  /** Takes strategic merge patches; custom kinds do not. */
  readonly strategicMerge: boolean;
  /** Lists that merge by key, and parts that only merge as a whole. */
  readonly mergeRules: MergeRules;
  /** What is there in every object of the kind, even in an empty one; nobody owns it. */
  readonly blank: JsonObject;
  /** Defaults, as the server fills them in. */
  readonly complete: (object: JsonObject) => JsonObject;
  /** What makes the object unreadable, before anything else is looked at. */
  readonly decode: (object: JsonObject) => Problem | undefined;
  readonly validate: (object: JsonObject, before: JsonObject | undefined) => Problem | undefined;
}

/** A kind with its traits. */
export interface ServedKind extends KindTraits {
  readonly kind: Kind;
  readonly resource: string;
}

const metadataRules: MergeRules = { "metadata.ownerReferences": ["uid"], "metadata.finalizers": "set" };

const customResource: KindTraits = {
  status: true,
  generation: true,
  createOnUpdate: false,
  unconditionalUpdate: false,
  typedItems: true,
  strategicMerge: false,
  mergeRules: { "status.conditions": ["type"] },
  blank: {},
  complete: (object) => object,
  decode: () => undefined,
  validate: () => undefined,
};

const plainBuiltIn: KindTraits = {
  ...customResource,
  status: false,
  generation: false,
  unconditionalUpdate: true,
  typedItems: false,
  strategicMerge: true,
  complete: (object) => withoutEmpty(object, ["data", "binaryData"]),
};

/** Serves a kind as a custom resource with a status subresource would be, but for the traits given. */
export function serveKind(kind: Kind, traits: Partial<KindTraits> = {}): ServedKind {
  const merged = { ...customResource, ...traits };
  return { ...merged, kind, resource: resourceOf(kind), mergeRules: { ...metadataRules, ...merged.mergeRules } };
}

const core = (kind: string, plural: string, namespaced = true): Kind => defineKind({ group: "", version: "v1", kind, plural, namespaced });

/** The kinds that every simulated server serves. */
export const builtInKinds: readonly ServedKind[] = [
  serveKind(core("ConfigMap", "configmaps"), plainBuiltIn),
  serveKind(core("Secret", "secrets"), { ...plainBuiltIn, complete: completeSecret, decode: decodeSecret, validate: validateSecret }),
  serveKind(core("ServiceAccount", "serviceaccounts"), plainBuiltIn),
  serveKind(core("Namespace", "namespaces", false), { ...plainBuiltIn, status: true, blank: { spec: {}, status: {} }, complete: completeNamespace }),
  serveKind(defineKind({ group: "coordination.k8s.io", version: "v1", kind: "Lease", plural: "leases", namespaced: true }), {
    ...plainBuiltIn,
    createOnUpdate: true,
    unconditionalUpdate: false,
    blank: { spec: {} },
    decode: (object) => notMicroTime(objectOr(object["spec"]), "spec.", ["acquireTime", "renewTime"]),
    validate: validateLease,
  }),
  serveKind(defineKind({ group: "events.k8s.io", version: "v1", kind: "Event", plural: "events", namespaced: true }), {
    ...plainBuiltIn,
    createOnUpdate: true,
    decode: (object) => notMicroTime(object, "", ["eventTime"]) ?? notMicroTime(objectOr(object["series"]), "series.", ["lastObservedTime"]),
    validate: validateEvent,
  }),
];

function completeSecret(object: JsonObject): JsonObject {
  const { stringData, ...rest } = object;
  const encoded = Object.entries(objectOr(stringData)).map(([key, value]) => [key, Buffer.from(stringOr(value, "")).toString("base64")]);
  const data = { ...objectOr(rest["data"]), ...Object.fromEntries(encoded) };
  return { ...withoutEmpty({ ...rest, data }, ["data"]), type: stringOr(rest["type"], "Opaque") };
}

function decodeSecret(object: JsonObject): Problem | undefined {
  for (const [key, value] of Object.entries(objectOr(object["data"]))) {
    if (typeof value !== "string" || !/^[A-Za-z0-9+/]*={0,2}$/.test(value)) return { field: `data.${key}`, problem: "illegal base64 data" };
  }
  return undefined;
}

function validateSecret(object: JsonObject, before: JsonObject | undefined): Problem | undefined {
  if (before && before["type"] !== object["type"]) return { field: "type", problem: "field is immutable" };
  return undefined;
}

function completeNamespace(object: JsonObject): JsonObject {
  const phase = objectOr(object["metadata"])["deletionTimestamp"] === undefined ? "Active" : "Terminating";
  return { ...object, spec: isObject(object["spec"]) ? object["spec"] : { finalizers: ["kubernetes"] }, status: { phase } };
}

/** The server takes these times only with exactly six decimals. */
const microTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$/;

function notMicroTime(object: JsonObject, prefix: string, fields: readonly string[]): Problem | undefined {
  const wrong = fields.find((field) => object[field] !== undefined && !microTime.test(stringOr(object[field], "")));
  return wrong === undefined ? undefined : { field: `${prefix}${wrong}`, problem: `cannot be parsed as "2006-01-02T15:04:05.000000Z07:00"` };
}

function validateLease(object: JsonObject): Problem | undefined {
  const spec = objectOr(object["spec"]);
  const { leaseDurationSeconds: duration, leaseTransitions: transitions } = spec;
  if (typeof duration === "number" && duration <= 0) return { field: "spec.leaseDurationSeconds", problem: "must be greater than 0" };
  if (typeof transitions === "number" && transitions < 0) return { field: "spec.leaseTransitions", problem: "must be greater than or equal to 0" };
  return undefined;
}

function validateEvent(object: JsonObject, before: JsonObject | undefined): Problem | undefined {
  if (before) return undefined;
  for (const field of ["eventTime", "reportingController", "reportingInstance", "action", "reason"]) {
    if (stringOr(object[field], "") === "") return { field, problem: "Required value" };
  }
  if (!["Normal", "Warning"].includes(stringOr(object["type"], ""))) return { field: "type", problem: "has invalid value" };
  if (stringOr(object["note"], "").length > 1024) return { field: "message", problem: "can have at most 1024 characters" };
  const namespace = stringOr(objectOr(object["regarding"])["namespace"], "default");
  if (namespace !== objectOr(object["metadata"])["namespace"])
    return { field: "involvedObject.namespace", problem: "does not match event.namespace" };
  return undefined;
}

/** The finalizers of an object. */
export function finalizersOf(object: JsonObject): readonly string[] {
  return listOr(objectOr(object["metadata"])["finalizers"]).filter((item) => typeof item === "string");
}

/** The object less those of its members that are empty maps or lists. */
export function withoutEmpty(object: JsonObject, members: readonly string[]): JsonObject {
  return members.reduce((left, member) => {
    const value = left[member];
    const isEmpty = (isObject(value) || isList(value)) && Object.keys(value).length === 0;
    return isEmpty ? withKey(left, member, undefined) : left;
  }, object);
}
