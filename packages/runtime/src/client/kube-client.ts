// The client: typed requests over a transport.
import { systemClock, type Clock } from "../clock.ts";
import { systemRandom, type Random } from "../random.ts";
import { isApiError } from "./api-error.ts";
import type { Answer, Answered, Client, DeleteOptions, ListResult, Selection } from "./client.ts";
import { readAnswer } from "./answer-body.ts";
import { apiVersionOf, collectionPath, objectPath, resourceOf, type Kind } from "./kind.ts";
import { mayMergeStrategically } from "./merge-patch.ts";
import { keyOf, type KubeObject, type ObjectName, type Stored } from "./object.ts";
import { acceptHeader, applyError, decodeObject, decodePage, isMissingObject, jsonPatchError, waitingObject } from "./object-answer.ts";
import { retryRead } from "./read-retry.ts";
import type { Lane, Transport, TransportRequest } from "./transport.ts";

/** How a client behaves. */
export interface ClientOptions {
  /** What the server does about unknown and doubled fields of what is created or replaced. Default `Strict`: it refuses, as it does with whatever is applied. */
  readonly fieldValidation?: "Strict" | "Warn" | "Ignore";
  /** Longest answer that is read. Default 128 MiB. */
  readonly maxBodyBytes?: number;
  /** Default `call`. */
  readonly lane?: Lane;
  /** From sending to the response's headers. Default the transport's. */
  readonly timeoutMs?: number;
  /** Default the machine's. */
  readonly clock?: Clock;
  /** Default the machine's. */
  readonly random?: Random;
}

/** client-go's page size: small enough for the server's memory, large enough to need few requests. */
const pageSize = 500;
/** A list whose continue token expires this often is beyond what paging can do. */
const mostListRestarts = 3;

const contentTypes = {
  json: "application/json",
  apply: "application/apply-patch+yaml",
  jsonPatch: "application/json-patch+json",
  mergePatch: "application/merge-patch+json",
  strategicMergePatch: "application/strategic-merge-patch+json",
} as const;

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** A client over `transport`. It keeps no state, so any number may share one transport. */
export function createClient(transport: Transport, options: ClientOptions = {}): Client {
  const { fieldValidation = "Strict", maxBodyBytes = 128 * 1024 * 1024, clock = systemClock, random = systemRandom } = options;

  const once = async (request: TransportRequest, attempt: string, signal?: AbortSignal): Promise<unknown> => {
    const { lane, timeoutMs } = options;
    const response = await transport.send({ ...(lane && { lane }), ...(timeoutMs !== undefined && { timeoutMs }), ...request }, signal);
    return readAnswer(response, { attempt, maxBytes: maxBodyBytes, nowMs: clock.now() });
  };
  const read = (path: string, attempt: string, signal?: AbortSignal): Promise<unknown> =>
    retryRead(() => once({ method: "GET", path }, attempt, signal), { clock, random }, signal);
  const write = async <T extends KubeObject, A extends Answer>(request: Write<A>, kind: Kind<T>, signal?: AbortSignal): Promise<Answered<T, A>> => {
    const { method, path, query, contentType, body, attempt, answer } = request;
    const headers = { "content-type": contentTypes[contentType], ...acceptHeader(kind, answer) };
    const answered = await once({ method, path: withQuery(path, query), headers, body: JSON.stringify(body) }, attempt, signal);
    return decodeObject<T, A>(answered, kind, attempt);
  };

  const listFrom = async <T extends KubeObject>(kind: Kind<T>, selection: Selection, signal?: AbortSignal): Promise<ListResult<T>> => {
    const attempt = `list ${resourceOf(kind)}${selection.namespace ? ` in ${selection.namespace}` : ""}`;
    const items: Stored<T>[] = [];
    let resourceVersion = "";
    let token: string | undefined;
    do {
      const query = { labelSelector: selection.labels, fieldSelector: selection.fields, limit: pageSize, continue: token };
      const page = decodePage(await read(withQuery(collectionPath(kind, selection.namespace), query), attempt, signal), kind, attempt);
      for (const item of page.items) items.push(item);
      resourceVersion = page.resourceVersion;
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
          if (!isApiError(error, "Gone") || restarts >= mostListRestarts) throw error;
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
      // The server would look for fields that it does not know, and tell of them in warnings that nobody reads.
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

    request(request, signal) {
      const attempt = `${request.method} ${request.path.split("?", 1)[0] ?? ""}`;
      if (request.method !== "GET") return once(request, attempt, signal);
      return retryRead(() => once(request, attempt, signal), { clock, random }, signal);
    },
  };
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
