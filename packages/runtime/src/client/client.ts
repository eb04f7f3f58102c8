// What a caller can ask of the API server: uncached reads and writes of typed objects.
import type { Kind } from "./kind.ts";
import type { KubeObject, ObjectName, Stored } from "./object.ts";
import type { TransportRequest } from "./transport.ts";

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

/** Options that every write takes. */
export interface WriteOptions {
  /** Asks the server to check and answer, and to store nothing. Default false. */
  readonly dryRun?: boolean;
}

/** Options of a server-side apply. */
export interface ApplyOptions extends WriteOptions {
  /** Who owns the applied fields. */
  readonly fieldManager: string;
  /** Takes fields over from other managers instead of failing with `Conflict`. Default false. */
  readonly force?: boolean;
  /** `status` applies the status subresource. */
  readonly subresource?: "status" | "scale";
}

/** Options of a patch. */
export interface PatchOptions extends WriteOptions {
  readonly fieldManager?: string;
  readonly subresource?: "status" | "scale";
}

/** Options of a delete. A precondition that does not hold fails with `Conflict` and deletes nothing. */
export interface DeleteOptions extends WriteOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  /** Default `Background`. */
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan";
}

/** A whole collection at one resourceVersion. */
export interface ListResult<T extends KubeObject> {
  readonly items: readonly Stored<T>[];
  readonly resourceVersion: string;
}

/**
 * Typed access to the API server, always uncached.
 *
 * Guarantees: every method rejects with `ApiError` for an answer that is no success, with `ConnectionError` when there is no answer,
 * and with the signal's reason when it aborts. Only reads are retried (connection lost, 429, 5xx); a write is sent once.
 */
export interface Client {
  /** The object, or undefined if there is none. */
  get<T extends KubeObject>(kind: Kind<T>, name: ObjectName, signal?: AbortSignal): Promise<Stored<T> | undefined>;
  /** Reads the collection in pages of 500 and returns it whole. */
  list<T extends KubeObject>(kind: Kind<T>, selection?: Selection, signal?: AbortSignal): Promise<ListResult<T>>;
  /** Creates the object; `AlreadyExists` if its name is taken. */
  create<T extends KubeObject>(
    kind: Kind<T>,
    object: T,
    options?: WriteOptions & { readonly fieldManager?: string },
    signal?: AbortSignal,
  ): Promise<Stored<T>>;
  /** Replaces the object; with `metadata.resourceVersion` set, only if that is still current. */
  replace<T extends KubeObject>(kind: Kind<T>, object: T, options?: PatchOptions, signal?: AbortSignal): Promise<Stored<T>>;
  /** Server-side apply of the fields in `object`. With `metadata.uid` set, fails with `Conflict` unless that very object exists. */
  apply<T extends KubeObject>(kind: Kind<T>, object: T, options: ApplyOptions, signal?: AbortSignal): Promise<Stored<T>>;
  /** A JSON patch. `test` operations make it conditional: it fails with `Conflict` if one does not hold. */
  jsonPatch<T extends KubeObject>(
    kind: Kind<T>,
    name: ObjectName,
    patch: readonly JsonPatchOperation[],
    options?: PatchOptions,
    signal?: AbortSignal,
  ): Promise<Stored<T>>;
  /** A JSON merge patch (RFC 7386). */
  mergePatch<T extends KubeObject>(kind: Kind<T>, name: ObjectName, patch: object, options?: PatchOptions, signal?: AbortSignal): Promise<Stored<T>>;
  /** Deletes the object. Resolves to the object as it is if it waits for finalizers, else to undefined; also if there was none. */
  delete<T extends KubeObject>(kind: Kind<T>, name: ObjectName, options?: DeleteOptions, signal?: AbortSignal): Promise<Stored<T> | undefined>;
  /** Any other request; resolves to the parsed JSON body of a success. */
  request(request: TransportRequest, signal?: AbortSignal): Promise<unknown>;
}
