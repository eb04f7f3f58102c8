// What a caller can ask of the API server: uncached reads and writes of typed objects.
import type { Kind, KubeObject, ObjectName, Stored } from "./kind.ts";
import type { Sender, TransportRequest } from "./transport.ts";

/** One operation of a JSON patch (RFC 6902). */
export type JsonPatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

/** Which objects a list or watch covers. All default to everything. */
export interface Selection {
  /** One namespace; absent for all. */
  readonly namespace?: string;
  /** Label selector in the API's own syntax, such as `app=web,tier!=db`. */
  readonly labels?: string;
  /** Field selector in the API's own syntax, such as `type=kubernetes.io/tls`. */
  readonly fields?: string;
}

/** How much of the object a write is answered with. */
export type Answer = "object" | "metadata";

/** What a write resolves to: of an answer in metadata nothing else can be read. */
export type Answered<T extends KubeObject, A extends Answer> = A extends "metadata" ? Stored<KubeObject> : Stored<T>;

/** Options that every write takes. */
export interface WriteOptions<A extends Answer = "object"> {
  /** Asks the server to check and answer, and to store nothing. Default false. */
  readonly dryRun?: boolean;
  /**
   * `metadata` asks for no more than the object's metadata, for writes whose answer nobody looks into: the rest is neither sent nor parsed.
   * A server that cannot do that, as an aggregated one may be, sends the whole object all the same. Default `object`.
   */
  readonly answer?: A;
}

/** Options of a create. */
export interface CreateOptions<A extends Answer = "object"> extends WriteOptions<A> {
  readonly fieldManager?: string;
}

/** Options of a server-side apply. */
export interface ApplyOptions<A extends Answer = "object"> extends WriteOptions<A> {
  /** Who owns the applied fields. */
  readonly fieldManager: string;
  /** Takes fields over from other managers instead of failing with `Conflict`. Default false. */
  readonly force?: boolean;
  /** `status` applies the status subresource. */
  readonly subresource?: "status" | "scale";
}

/** Options of a patch. */
export interface PatchOptions<A extends Answer = "object"> extends WriteOptions<A> {
  readonly fieldManager?: string;
  readonly subresource?: "status" | "scale";
}

/** Options of a delete. A precondition that does not hold fails with `Conflict` and deletes nothing. */
export interface DeleteOptions<A extends Answer = "object"> extends WriteOptions<A> {
  readonly uid?: string;
  readonly resourceVersion?: string;
  /** Default `Background`. */
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan";
}

/** Options of a delete of many. */
export interface DeleteCollectionOptions extends Pick<DeleteOptions, "propagationPolicy" | "dryRun"> {}

/** A whole collection at one resourceVersion. */
export interface ListResult<T extends KubeObject> {
  readonly items: readonly Stored<T>[];
  readonly resourceVersion: string;
}

/**
 * Typed access to the API server, always uncached.
 *
 * Guarantees: every method rejects with `ApiError` for an answer that is no success, with `ConnectionError` when there is no answer,
 * and with the signal's reason when it aborts. Only reads are retried (connection lost, 429, 5xx), and in a run not even those; a write is sent once.
 */
export interface Client {
  /** The object, or undefined if there is none. */
  get<T extends KubeObject>(kind: Kind<T>, name: ObjectName, signal?: AbortSignal): Promise<Stored<T> | undefined>;
  /** Reads the collection in pages of 500 and returns it whole. */
  list<T extends KubeObject>(kind: Kind<T>, selection?: Selection, signal?: AbortSignal): Promise<ListResult<T>>;
  /** Creates the object; `AlreadyExists` if its name is taken. */
  create<T extends KubeObject, A extends Answer = "object">(
    kind: Kind<T>,
    object: T,
    options?: CreateOptions<A>,
    signal?: AbortSignal,
  ): Promise<Answered<T, A>>;
  /** Replaces the object; with `metadata.resourceVersion` set, only if that is still current. */
  replace<T extends KubeObject, A extends Answer = "object">(
    kind: Kind<T>,
    object: T,
    options?: PatchOptions<A>,
    signal?: AbortSignal,
  ): Promise<Answered<T, A>>;
  /** Server-side apply of the fields in `object`. With `metadata.uid` set, fails with `Conflict` unless that very object exists. */
  apply<T extends KubeObject, A extends Answer = "object">(
    kind: Kind<T>,
    object: T,
    options: ApplyOptions<A>,
    signal?: AbortSignal,
  ): Promise<Answered<T, A>>;
  /** A JSON patch. `test` operations make it conditional: it fails with `Conflict` if one does not hold. */
  jsonPatch<T extends KubeObject, A extends Answer = "object">(
    kind: Kind<T>,
    name: ObjectName,
    patch: readonly JsonPatchOperation[],
    options?: PatchOptions<A>,
    signal?: AbortSignal,
  ): Promise<Answered<T, A>>;
  /** A JSON merge patch (RFC 7386). */
  mergePatch<T extends KubeObject, A extends Answer = "object">(
    kind: Kind<T>,
    name: ObjectName,
    patch: object,
    options?: PatchOptions<A>,
    signal?: AbortSignal,
  ): Promise<Answered<T, A>>;
  /** Deletes the object. Resolves to the object as it is if it waits for finalizers, else to undefined; also if there was none. */
  delete<T extends KubeObject, A extends Answer = "object">(
    kind: Kind<T>,
    name: ObjectName,
    options?: DeleteOptions<A>,
    signal?: AbortSignal,
  ): Promise<Answered<T, A> | undefined>;
  /**
   * Deletes what the selection covers, one after the other and not as a whole. It must name a namespace, or for cluster-scoped kinds a selector: nobody
   * deletes everything by accident. No key waits until its caches show it.
   */
  deleteCollection(kind: Kind, selection: Selection, options?: DeleteCollectionOptions, signal?: AbortSignal): Promise<void>;
  /** Any other request; resolves to the parsed JSON body of a success. */
  request(request: TransportRequest, signal?: AbortSignal): Promise<unknown>;
  /** A client like this one that sends in the sender's name. Absent where nothing leaves the process. */
  sendingAs?(sender: Sender): Client;
}
