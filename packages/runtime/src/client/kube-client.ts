// The client: typed requests for each verb over a transport; reads are tried again.
import { type Clock, sleep, systemClock, sharedTimeSlice, checkNumbers } from "../clock.ts";
import { type Random, systemRandom } from "../random.ts";
import { compareResourceVersions } from "../watch/step.ts";
import { ApiError, isApiError } from "./api-error.ts";
import type { Answer, Answered, Client, DeleteOptions, ListResult, Selection } from "./client.ts";
import { apiVersionOf, collectionPath, keyOf, type Kind, type KubeObject, type ObjectName, objectPath, resourceOf, type Stored } from "./kind.ts";
import {
  acceptHeader,
  applyError,
  decodeObject,
  decodePage,
  isMissingObject,
  jsonPatchError,
  type Page,
  readResponse,
  waitingObject,
} from "./response.ts";
import { AnswerTooLongError, ConnectionError, type Lane, type Sender, type Transport, type TransportRequest } from "./transport.ts";
import { runtimeLimits } from "../limits.ts";

/** How a client behaves. */
export interface ClientOptions {
  /** What the server does about unknown and doubled fields of what is created or replaced. Default `Strict`: it refuses, as it does with whatever is applied. */
  readonly fieldValidation?: "Strict" | "Warn" | "Ignore";
  /** Longest answer that is read. Default 128 MiB. */
  readonly maxBodyBytes?: number;
  /** Default `call`. */
  readonly lane?: Lane;
  /** Default: nobody in particular, who may always write. */
  readonly sender?: Sender;
  /** From sending to the response's headers. Default the transport's. */
  readonly timeoutMs?: number;
  /** Default the machine's. */
  readonly clock?: Clock;
  /** Default the machine's. */
  readonly random?: Random;
  /** How often a read is tried again after a failure that passes. Default 5; 0 for those who are tried again as a whole. */
  readonly readRetries?: number;
}

/** client-go's page size: small enough for the server's memory, large enough to need few requests. */
const pageSize = 500;
/** A list whose continue token is refused this often is beyond what paging can do. */
const maxListRestarts = 3;

const contentTypes = {
  json: "application/json",
  apply: "application/apply-patch+yaml",
  jsonPatch: "application/json-patch+json",
  mergePatch: "application/merge-patch+json",
  strategicMergePatch: "application/strategic-merge-patch+json",
} as const;

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** A client over `transport`. It keeps no state, so any number may share one transport. Throws a `RangeError` for numbers that make no sense. */
export function createClient(transport: Transport, options: ClientOptions = {}): Client {
  const { maxBodyBytes, timeoutMs, readRetries } = options;
  checkNumbers({ maxBodyBytes, timeoutMs });
  checkNumbers({ readRetries }, 0);
  return clientOver(transport, options);
}

function clientOver(transport: Transport, options: ClientOptions): Client {
  const {
    fieldValidation = "Strict",
    maxBodyBytes = runtimeLimits.answerBodyBytes,
    clock = systemClock,
    random = systemRandom,
    readRetries = 5,
  } = options;

  const { lane, timeoutMs, sender } = options;
  const forReads = { ...(lane && { lane }), ...(timeoutMs !== undefined && { timeoutMs }), ...(sender && { flow: sender.flow }) };
  const forWrites = { ...forReads, ...(sender?.permit && { permit: sender.permit }) };
  const once = async (request: TransportRequest, attempt: string, signal?: AbortSignal): Promise<unknown> => {
    const response = await transport.send({ ...(request.method === "GET" ? forReads : forWrites), ...request }, signal);
    return readResponse(response, { attempt, maxBytes: maxBodyBytes, nowMs: clock.now() });
  };
  const read = (path: string, attempt: string, signal?: AbortSignal): Promise<unknown> =>
    retryRead(() => once({ method: "GET", path }, attempt, signal), { clock, random, maxRetries: readRetries }, signal);
  const write = async <T extends KubeObject, A extends Answer>(request: Write<A>, kind: Kind<T>, signal?: AbortSignal): Promise<Answered<T, A>> => {
    const { method, path, query, contentType, body, attempt, answer } = request;
    const headers = { "content-type": contentTypes[contentType], ...acceptHeader(kind, sender?.answersWhole?.(kind) ? "object" : answer) };
    const answered = await once({ method, path: withQuery(path, query), headers, body: JSON.stringify(body) }, attempt, signal);
    return decodeObject<T, A>(answered, kind, attempt);
  };

  const listFrom = async <T extends KubeObject>(kind: Kind<T>, selection: Selection, signal?: AbortSignal): Promise<ListResult<T>> => {
    const attempt = `list ${resourceOf(kind)}${selection.namespace ? ` in ${selection.namespace}` : ""}`;
    const items: Stored<T>[] = [];
    let resourceVersion: string | undefined;
    let token: string | undefined;
    do {
      const query = { labelSelector: selection.labels, fieldSelector: selection.fields, limit: pageSize, continue: token };
      const path = withQuery(collectionPath(kind, selection.namespace), query);
      const page = decodePage(await read(path, attempt, signal).catch(token === undefined ? undefined : refusedToken), kind, attempt);
      resourceVersion = versionOfList(page, { first: resourceVersion, token, attempt });
      for (const item of page.items) items.push(item);
      token = page.continue;
    } while (token);
    return { items, resourceVersion };
  };

  return {
    async get(kind, name, signal) {
      const attempt = attemptOf("get", kind, name);
      try {
        return decodeObject(await read(objectPath(kind, name), attempt, signal), kind, attempt);
      } catch (error) {
        if (isMissingObject(error)) return undefined;
        throw error;
      }
    },

    async list(kind, selection = {}, signal) {
      for (let restarts = 0; ; restarts++) {
        try {
          return await listFrom(kind, selection, signal);
        } catch (error) {
          const isRefused = error instanceof RefusedToken || isApiError(error, "Gone");
          if (isRefused && restarts < maxListRestarts) continue;
          throw error instanceof RefusedToken ? error.cause : error;
        }
      }
    },

    async create(kind, object, { fieldManager, dryRun, answer } = {}, signal) {
      const name = { ...object.metadata, name: object.metadata.name ?? `${object.metadata.generateName ?? ""}…` };
      const attempt = attemptOf("create", kind, name);
      const path = collectionPath(kind, namespaceFor(kind, object.metadata.namespace, attempt));
      const query = { ...writeQuery(dryRun), fieldManager, fieldValidation };
      return write({ method: "POST", path, query, contentType: "json", body: typed(kind, object), attempt, answer }, kind, signal);
    },

    async replace(kind, object, { fieldManager, subresource, dryRun, answer } = {}, signal) {
      const { path, attempt } = target("replace", kind, { name: nameIn(object, kind, "replace"), subresource });
      const query = { ...writeQuery(dryRun), fieldManager, fieldValidation };
      return write({ method: "PUT", path, query, contentType: "json", body: typed(kind, object), attempt, answer }, kind, signal);
    },

    async apply(kind, object, { fieldManager, force, subresource, dryRun, answer }, signal) {
      const { path, attempt } = target("apply", kind, { name: nameIn(object, kind, "apply"), subresource });
      // The schema decides what can be applied, whatever is asked for here, and nothing that we send has doubled fields: looking would be a second parsing.
      const query = { ...writeQuery(dryRun), fieldManager, force: force || undefined, fieldValidation: "Ignore" };
      const request = { method: "PATCH", path, query, contentType: "apply", body: typed(kind, object), attempt, answer } as const;
      return write(request, kind, signal).catch((error: unknown) => {
        throw applyError(error, attempt);
      });
    },

    async jsonPatch(kind, name, patch, { fieldManager, subresource, dryRun, answer } = {}, signal) {
      const { path, attempt } = target("patch", kind, { name, subresource });
      const query = { ...writeQuery(dryRun), fieldManager };
      return write({ method: "PATCH", path, query, contentType: "jsonPatch", body: patch, attempt, answer }, kind, signal).catch((error: unknown) => {
        throw jsonPatchError(error, patch, attempt);
      });
    },

    async mergePatch(kind, name, patch, { fieldManager, subresource, dryRun, answer } = {}, signal) {
      const { path, attempt } = target("patch", kind, { name, subresource });
      // The server would look for fields that it does not know, and name them in warnings that nobody reads.
      const query = { ...writeQuery(dryRun), fieldManager, fieldValidation: "Ignore" };
      const contentType = mayMergeStrategically(kind, patch) ? "strategicMergePatch" : "mergePatch";
      return write({ method: "PATCH", path, query, contentType, body: patch, attempt, answer }, kind, signal);
    },

    async delete(kind, name, deleteOptions = {}, signal) {
      const { path, attempt } = target("delete", kind, { name, subresource: undefined });
      const request = {
        method: "DELETE",
        path,
        headers: { "content-type": contentTypes.json, ...acceptHeader(kind, deleteOptions.answer) },
        body: JSON.stringify(deleteBody(deleteOptions)),
      } as const;
      try {
        return waitingObject(await once(request, attempt, signal), kind, attempt);
      } catch (error) {
        if (isMissingObject(error)) return undefined;
        throw error;
      }
    },

    async deleteCollection(kind, selection, deleteOptions = {}, signal) {
      const attempt = `delete ${resourceOf(kind)}${selection.namespace === undefined ? "" : ` in ${selection.namespace}`}`;
      const { labels, fields } = selection;
      if (kind.namespaced ? !selection.namespace : !labels && !fields) {
        throw new TypeError(`${attempt}: ${kind.namespaced ? "name a namespace" : "give a selector"}, or everything would go`);
      }
      const path = withQuery(collectionPath(kind, selection.namespace), { labelSelector: labels, fieldSelector: fields });
      const request = {
        method: "DELETE",
        path,
        headers: { "content-type": contentTypes.json },
        body: JSON.stringify(deleteBody(deleteOptions)),
      } as const;
      await once(request, attempt, signal);
    },

    request(request, signal) {
      const attempt = `${request.method} ${request.path.split("?", 1)[0] ?? ""}`;
      if (request.method !== "GET") return once(request, attempt, signal);
      return retryRead(() => once(request, attempt, signal), { clock, random, maxRetries: readRetries }, signal);
    },

    // Who runs keys has a backoff of its own, which holds no worker meanwhile and grows.
    sendingAs: (other) => clientOver(transport, { ...options, sender: other, readRetries: 0 }),
  };
}

/**
 * The version of a list, given the page that `token` has brought. Throws if the page is older than the first, for what is stored was restored from a backup
 * in the middle of the list, and if the same page would be next: the list would have no end.
 */
function versionOfList(
  { resourceVersion, continue: next }: Page<KubeObject>,
  { first = resourceVersion, token, attempt }: { readonly first: string | undefined; readonly token: string | undefined; readonly attempt: string },
): string {
  if ((compareResourceVersions(resourceVersion, first) ?? 0) < 0)
    throw new ApiError(attempt, 410, { message: "the pages of the list are not of one history" });
  if (next !== undefined && next === token) throw new ApiError(attempt, 200, { message: "a page of the list is followed by itself" });
  return first;
}

/** The token of a page expires, and a server that was restored from a backup does not know it: asking for it again helps in neither case. */
class RefusedToken extends Error {}

function refusedToken(cause: unknown): never {
  throw isApiError(cause, "Gone", "BadRequest", "ServerError") ? new RefusedToken("a page of a list was refused", { cause }) : cause;
}

interface Write<A extends Answer> {
  readonly method: "POST" | "PUT" | "PATCH";
  readonly path: string;
  readonly query: Query;
  readonly contentType: keyof typeof contentTypes;
  readonly body: unknown;
  readonly attempt: string;
  readonly answer: A | undefined;
}

function withQuery(path: string, query: Query): string {
  let text = path;
  for (const name in query) {
    const value = query[name];
    if (value === undefined || value === "") continue;
    text += `${text === path ? "?" : "&"}${name}=${encodeURIComponent(value)}`;
  }
  return text;
}

function writeQuery(dryRun: boolean | undefined): Query {
  return { dryRun: dryRun ? "All" : undefined };
}

function deleteBody({ uid, resourceVersion, propagationPolicy = "Background", dryRun }: DeleteOptions<Answer>): object {
  const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
  return {
    apiVersion: "v1",
    kind: "DeleteOptions",
    propagationPolicy,
    ...((uid || resourceVersion) && { preconditions }),
    ...(dryRun && { dryRun: ["All"] }),
  };
}

function attemptOf(verb: string, kind: Kind, name: ObjectName): string {
  return `${verb} ${resourceOf(kind)} ${keyOf(name)}`;
}

function target(
  verb: string,
  kind: Kind,
  of: { readonly name: ObjectName; readonly subresource: string | undefined },
): { path: string; attempt: string } {
  const { name, subresource } = of;
  const attempt = attemptOf(verb, kind, name);
  namespaceFor(kind, name.namespace, attempt);
  return { path: objectPath(kind, name, subresource), attempt: subresource ? `${attempt} (${subresource})` : attempt };
}

function nameIn({ metadata }: KubeObject, kind: Kind, verb: string): ObjectName {
  const { namespace, name } = metadata;
  if (!name) throw new TypeError(`${verb} ${resourceOf(kind)}: metadata.name is missing`);
  return namespace ? { namespace, name } : { name };
}

/** Without this check the request would go to a path that does not exist, and the server's 404 or 405 would explain nothing. */
function namespaceFor(kind: Kind, namespace: string | undefined, attempt: string): string | undefined {
  if (kind.namespaced && !namespace) throw new TypeError(`${attempt}: metadata.namespace is missing`);
  return namespace;
}

function typed<T extends KubeObject>(kind: Kind<T>, object: T): T {
  return { ...object, apiVersion: apiVersionOf(kind), kind: kind.kind };
}

// A collection read object by object: one page of it in memory at a time, and the event loop free in between.

/** What a collection is read with. */
export interface PagedListOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly selection?: Selection;
}

/** All objects of a collection at one resourceVersion. Rejects as `Client` does; with `Gone` if it takes longer than the server remembers, or the server was restored meanwhile. */
export async function* pagedList<T extends KubeObject>(
  kind: Kind<T>,
  { client, clock, selection: { namespace, labels, fields } = {} }: PagedListOptions,
  signal?: AbortSignal,
): AsyncGenerator<Stored<T>, void> {
  const query = new URLSearchParams({ limit: String(pageSize), ...(labels && { labelSelector: labels }), ...(fields && { fieldSelector: fields }) });
  const slice = sharedTimeSlice(clock);
  const attempt = `list ${resourceOf(kind)}`;
  let resourceVersion: string | undefined;
  let token: string | undefined;
  for (;;) {
    const body = await client.request({ method: "GET", path: `${collectionPath(kind, namespace)}?${query.toString()}` }, signal);
    const page = decodePage(body, kind, attempt);
    resourceVersion = versionOfList(page, { first: resourceVersion, token, attempt });
    for (const object of page.items) {
      yield object;
      if (slice.used) await slice.pause();
    }
    token = page.continue;
    if (token === undefined) return;
    query.set("continue", token);
  }
}

// In which of its two forms a merge patch is sent.

/**
 * True if the server, given the patch as a strategic merge patch, makes the same of it, for less: it needs no detour over the object's JSON. Custom kinds know only
 * the plain form, and in the core group there are none.
 */
function mayMergeStrategically(kind: Kind, patch: object): boolean {
  return kind.group === "" && mergesAlike(patch);
}

/** True if both forms mean the same: they differ in lists, and in members whose names begin with `$`, which are directives in the strategic one. */
export function mergesAlike(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return !Array.isArray(value) && Object.entries(value).every(([name, member]) => !name.startsWith("$") && mergesAlike(member));
}

// Trying a read again after transient failures.

/** What waiting is done with. */
interface ReadRetryOptions {
  readonly maxRetries: number;
  readonly clock: Clock;
  readonly random: Random;
}

const firstDelayMs = 100;
const maxDelayMs = 5_000;
/** A server that asks for more than this is left to the caller's own backoff. */
const maxRetryAfterMs = 30_000;

/** Calls `read` until it succeeds, fails for good, or has been retried so many times. Waits longer each time, with jitter, or as long as the server asks. */
async function retryRead<T>(read: () => Promise<T>, { clock, random, maxRetries }: ReadRetryOptions, signal?: AbortSignal): Promise<T> {
  for (let retries = 0; ; retries++) {
    try {
      return await read();
    } catch (error) {
      const delayMs = retryDelay(error, retries, random);
      if (retries >= maxRetries || delayMs === undefined) throw error;
      await sleep(clock, delayMs, signal);
    }
  }
}

function retryDelay(error: unknown, retries: number, random: Random): number | undefined {
  const isTransient =
    (error instanceof ConnectionError && !(error instanceof AnswerTooLongError)) || isApiError(error, "TooManyRequests", "ServerError");
  if (!isTransient) return undefined;
  // Between half and the whole of the step, so that many clients do not come back together.
  const backoffMs = Math.min(maxDelayMs, firstDelayMs * 2 ** retries) * (0.5 + random() / 2);
  const askedMs = isApiError(error) ? error.retryAfterMs : undefined;
  if (askedMs === undefined) return backoffMs;
  return askedMs > maxRetryAfterMs ? undefined : askedMs + backoffMs;
}
