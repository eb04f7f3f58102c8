// An API server in this process: answers requests as a real one would, at once and without faults; those are the transport's business.
import { fieldSelector, labelSelector, type Selector } from "../../cache/selectors.ts";
import { apiVersionOf, type Kind, type KubeObject } from "../../client/kind.ts";
import type { TransportRequest } from "../../client/transport.ts";
import type { Clock } from "../../clock.ts";
import { type JsonObject, listOr, objectOr, parseObject, stringOr } from "../../json.ts";
import type { Random } from "../../random.ts";
import { builtInKinds, type KindTraits, ObjectStore, type ServedKind, serveKind } from "./object-store.ts";
import { deleteObject, performWrite, type WriteRequest, type WriteResult } from "./object-write.ts";
import { badRequest, deletedStatus, notFound, notServed, type Refusal, refusal, tooLargeResourceVersion } from "./status-response.ts";
import { answerList, eventLine, WatchSession } from "./watch-sessions.ts";

/** A path under `/api` or `/apis`. */
export interface ApiPath {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** Takes a path apart; undefined if it names no resource. */
function parsePath(pathname: string): ApiPath | undefined {
  const steps = pathname.split("/").slice(1).map(decodeURIComponent);
  const [root, group, version, ...rest] = steps[0] === "api" ? ["api", "", ...steps.slice(1)] : steps;
  if ((root !== "api" && root !== "apis") || group === undefined || version === undefined) return undefined;
  const isScoped = rest[0] === "namespaces" && rest.length > 2 && rest[2] !== "status" && rest[2] !== "finalize";
  const [plural, name, subresource, ...more] = isScoped ? rest.slice(2) : rest;
  if (plural === undefined || more.length > 0) return undefined;
  return { group, version, plural, namespace: isScoped ? rest[1] : undefined, name, subresource };
}

/** A way to look at an object: as it is, or its metadata alone. */
export type View = (object: JsonObject) => JsonObject;

/** The object's metadata as a `PartialObjectMetadata`. */
const metadataView: View = (object) => ({
  kind: "PartialObjectMetadata",
  apiVersion: "meta.k8s.io/v1",
  metadata: objectOr(object["metadata"]),
});

/** What of the collection is selected by namespace and query, or why the query is wrong. */
function selectorOf(served: ServedKind, namespace: string | undefined, query: URLSearchParams): Selector | Refusal {
  const labels = labelSelector(query.get("labelSelector") ?? "");
  if (!labels) return badRequest("unable to parse the label selector");
  const own: Readonly<Record<string, readonly string[]>> = { Secret: ["type"], Pod: ["status.phase"] };
  const known = ["metadata.name", "metadata.namespace", ...(own[served.kind.kind] ?? [])];
  const fields = fieldSelector(query.get("fieldSelector") ?? "", known);
  if (typeof fields === "string")
    return badRequest(`"${fields}" is not a known field selector: only ${known.map((field) => `"${field}"`).join(", ")}`);
  return (object) => {
    if (namespace !== undefined && stringOr(objectOr(object["metadata"])["namespace"], "") !== namespace) return false;
    return labels(object) && fields(object);
  };
}

/** What the server answers. */
export type ServerAnswer =
  | { readonly type: "answer"; readonly status: number; readonly body: string; readonly retryAfterSeconds?: number; readonly isText?: boolean }
  | { readonly type: "watch"; readonly session: WatchSession };

/** How one request is to be served. */
export interface ServeOptions {
  /** How many revisions the watch cache is behind; seen only by reads that allow it (`resourceVersion=0`). Default 0. */
  readonly cacheLag?: number;
}

/** What a simulated server is made of. */
export interface SimulatedApiServerOptions {
  /** The server's own clock; dates objects. */
  readonly clock: Clock;
  /** Draws uids, generated names and default time-outs. */
  readonly random: Random;
  /** The first resourceVersion. Default 9,950, so that versions soon change their number of digits. */
  readonly revision?: number;
}

/**
 * A simulated API server. It serves ConfigMaps, Secrets, ServiceAccounts, Namespaces, Leases and Events, and what `serve` adds.
 *
 * Its answers are those of Kubernetes 1.36 as far as controllers can see: a differential test holds it to the real one.
 */
export class SimulatedApiServer {
  readonly store: ObjectStore;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #kinds = new Map<string, ServedKind>();

  constructor({ clock, random, revision = 9_950 }: SimulatedApiServerOptions) {
    this.#clock = clock;
    this.#random = random;
    this.store = new ObjectStore(revision);
    for (const served of builtInKinds) this.#kinds.set(routeOf(served.kind), served);
    for (const name of ["default", "kube-system"]) this.seed({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }

  /** Serves a kind from now on, as installing a CRD does. */
  serve(kind: Kind, traits?: Partial<KindTraits>): void {
    this.#kinds.set(routeOf(kind), serveKind(kind, traits));
  }

  /** Serves a kind no longer; its objects go with it, as with a CRD that is deleted. */
  unserve(kind: Kind): void {
    const served = this.#kinds.get(routeOf(kind));
    if (!served) return;
    this.#kinds.delete(routeOf(kind));
    for (const [key] of this.store.list(served.resource)) this.store.remove(served.resource, key);
  }

  /** The served kinds. */
  get kinds(): readonly ServedKind[] {
    return [...this.#kinds.values()];
  }

  /** Makes a request that must succeed, in the name of nobody in particular; for setting a scene. Returns the object. */
  seed(object: KubeObject): JsonObject {
    const served = this.kinds.find(({ kind }) => kind.kind === object.kind && apiVersionOf(kind) === object.apiVersion);
    if (!served) throw new Error(`cannot seed ${object.kind ?? "an object without kind"}: serve its kind first`);
    const { group, version, plural } = served.kind;
    const scope = object.metadata.namespace === undefined ? "" : `/namespaces/${object.metadata.namespace}`;
    const path = `${group === "" ? `/api/${version}` : `/apis/${group}/${version}`}${scope}/${plural}`;
    const answer = this.handle({ method: "POST", path, body: JSON.stringify(object), headers: { "user-agent": "seed" } });
    const body = answer.type === "answer" ? parseObject(answer.body) : undefined;
    if (answer.type !== "answer" || answer.status !== 201 || !body)
      throw new Error(`cannot seed ${plural} ${object.metadata.name ?? ""}: ${JSON.stringify(answer)}`);
    return body;
  }

  /** Answers one request. */
  handle(request: TransportRequest, { cacheLag = 0 }: ServeOptions = {}): ServerAnswer {
    const url = new URL(request.path, "http://simulated");
    const plain = this.#plainAnswer(url.pathname);
    if (plain) return plain;
    const path = parsePath(url.pathname);
    const served = path && this.#kinds.get(`${path.group}/${path.version}/${path.plural}`);
    if (!path || !served) return this.#unknownPath(path);
    if (path.subresource !== undefined && !(path.subresource === "status" && served.status)) return refuse(notServed());
    if (request.method === "GET" && path.name === undefined) return this.#collection(served, { path, query: url.searchParams, request, cacheLag });
    if (request.method === "GET") return this.#get(served, { path, query: url.searchParams, request });
    if (request.method === "DELETE") return this.#delete(served, { path, query: url.searchParams, request });
    return this.#write(served, { path, query: url.searchParams, request });
  }

  #collection(
    served: ServedKind,
    {
      path,
      query,
      request,
      cacheLag,
    }: { readonly path: ApiPath; readonly query: URLSearchParams; readonly request: TransportRequest; readonly cacheLag: number },
  ): ServerAnswer {
    const selects = selectorOf(served, path.namespace, query);
    if (typeof selects !== "function") return refuse(selects);
    const isWatch = ["1", "true"].includes(query.get("watch") ?? "");
    const view = viewOf(request, isWatch ? "PartialObjectMetadata" : "PartialObjectMetadataList");
    if (typeof view !== "function") return refuse(view);
    const cached = Math.max(this.store.compacted, this.store.revision - cacheLag);
    if (!isWatch) return answerList(this.store, { served, selects, view, isPartial: view === metadataView, query, cached });
    return this.#watch(served, { selects, view, query, cached });
  }

  #watch(
    served: ServedKind,
    {
      selects,
      view,
      query,
      cached,
    }: { readonly selects: (object: JsonObject) => boolean; readonly view: View; readonly query: URLSearchParams; readonly cached: number },
  ): ServerAnswer {
    const bookmarks = query.get("allowWatchBookmarks") === "true" || query.get("allowWatchBookmarks") === "1";
    const wantsList = query.get("sendInitialEvents") === "true";
    const version = query.get("resourceVersion") ?? "";
    if (wantsList && query.get("resourceVersionMatch") !== "NotOlderThan") {
      return refuse(
        refusal(
          422,
          "Invalid",
          'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
        ),
      );
    }
    if (!/^\d*$/.test(version)) return refuse(badRequest(`invalid resource version "${version}"`));
    const seconds = Number(query.get("timeoutSeconds") ?? 0);
    const timeoutMs = (seconds > 0 ? seconds : 1_800 * (1 + this.#random())) * 1_000;
    const asked = Number(version || 0);
    const initialEvents = wantsList || asked === 0;
    // A list from the cache may be stale if the client says so with "0"; without a version it is current.
    const start = version === "0" ? cached : this.store.revision;
    if (wantsList && asked > this.store.revision) {
      return { type: "answer", status: 200, body: eventLine("ERROR", tooLargeResourceVersion(version, this.store.revision).body) };
    }
    const request = {
      served,
      selects,
      view,
      since: initialEvents ? start : asked,
      initialEvents,
      initialBookmark: wantsList && bookmarks,
      bookmarks,
      timeoutMs,
    };
    return { type: "watch", session: new WatchSession(this.store, request) };
  }

  #get(
    served: ServedKind,
    { path, query, request }: { readonly path: ApiPath; readonly query: URLSearchParams; readonly request: TransportRequest },
  ): ServerAnswer {
    const view = viewOf(request, "PartialObjectMetadata");
    if (typeof view !== "function") return refuse(view);
    const version = Number(query.get("resourceVersion") ?? 0);
    if (version > this.store.revision) return refuse(tooLargeResourceVersion(String(version), this.store.revision));
    const object = this.store.get(served.resource, keyOfPath(path));
    return object ? success(200, view(object)) : refuse(notFound(resourceName(served), path.name ?? ""));
  }

  #write(served: ServedKind, { path, query, request }: WriteRequest): ServerAnswer {
    const outcome = performWrite(
      {
        store: this.store,
        served,
        time: this.#time(),
        uid: () => this.#uid(),
        suffix: () => this.#hex(5),
        namespaceProblem: (name) => this.#namespaceProblem(name),
      },
      { path, query, request },
    );
    if (outcome.type === "refused") return refuse(outcome.refusal);
    const stored = this.#commit(served, outcome.key, outcome.result, query.get("dryRun") === "All");
    return seen(stored, outcome.status, request);
  }

  #delete(served: ServedKind, { path, query, request }: WriteRequest): ServerAnswer {
    const options = deleteOptions(request, query);
    if (path.name === undefined) return refuse(refusal(405, "MethodNotAllowed", "the simulation deletes no whole collections"));
    const key = keyOfPath(path);
    const object = this.store.get(served.resource, key);
    if (!object) return refuse(notFound(resourceName(served), path.name));
    const writer = { manager: "", subresource: "" as const, apiVersion: apiVersionOf(served.kind), time: this.#time() };
    const result = deleteObject({ served, writer }, object, options);
    if (result.type === "refused") return refuse(result.refusal);
    const isDryRun = listOr(options["dryRun"]).includes("All");
    const left = this.#commit(served, key, result, isDryRun);
    if (result.type !== "removed") return seen(left, 200, request);
    return success(200, deletedStatus(resourceName(served), path.name, stringOr(objectOr(object["metadata"])["uid"], "")));
  }

  #commit(served: ServedKind, key: string, result: Exclude<WriteResult, { readonly type: "refused" }>, isDryRun: boolean): JsonObject {
    if (isDryRun) return result.object;
    if (result.type === "stored") return this.store.put(served.resource, key, result.object);
    if (result.type === "removed") this.store.remove(served.resource, key);
    return result.object;
  }

  #namespaceProblem(name: string): Refusal | undefined {
    const namespace = this.store.get("namespaces", name);
    if (!namespace) return notFound("namespaces", name);
    if (objectOr(namespace["metadata"])["deletionTimestamp"] === undefined) return undefined;
    return refusal(403, "Forbidden", `unable to create new content in namespace ${name} because it is being terminated`, {
      causes: [{ reason: "NamespaceTerminating", message: `namespace ${name} is being terminated`, field: "metadata.namespace" }],
    });
  }

  #plainAnswer(pathname: string): ServerAnswer | undefined {
    if (["/healthz", "/livez", "/readyz"].includes(pathname)) return { type: "answer", status: 200, body: "ok", isText: true };
    if (pathname === "/version") return success(200, { major: "1", minor: "36", gitVersion: "v1.36.3-simulated" });
    const match = /^\/(?:api|apis\/(?<group>[^/]+))\/(?<version>[^/]+)$/.exec(pathname);
    if (!match?.groups) return undefined;
    const { group = "", version } = match.groups;
    const kinds = this.kinds.filter(({ kind }) => kind.group === group && kind.version === version);
    if (kinds.length === 0) return undefined;
    const resources = kinds.flatMap(({ kind, status }) =>
      ["", ...(status ? ["/status"] : [])].map((suffix) => ({ name: `${kind.plural}${suffix}`, kind: kind.kind, namespaced: kind.namespaced })),
    );
    return success(200, {
      kind: "APIResourceList",
      apiVersion: "v1",
      groupVersion: group === "" ? (version ?? "") : `${group}/${version}`,
      resources,
    });
  }

  #unknownPath(path: ApiPath | undefined): ServerAnswer {
    const isKnownGroup = path !== undefined && this.kinds.some(({ kind }) => kind.group === path.group && kind.version === path.version);
    return isKnownGroup ? refuse(notServed()) : { type: "answer", status: 404, body: "404 page not found\n", isText: true };
  }

  #time(): string {
    return `${new Date(this.#clock.now()).toISOString().slice(0, 19)}Z`;
  }

  #uid(): string {
    return [8, 4, 4, 4, 12].map((length) => this.#hex(length)).join("-");
  }

  #hex(length: number): string {
    return Array.from({ length }, () => Math.floor(this.#random() * 16).toString(16)).join("");
  }
}

/** The options of a delete: a body, where there is one, hides those in the query, `dryRun` included. */
function deleteOptions({ body }: TransportRequest, query: URLSearchParams): JsonObject {
  if (body !== undefined && body !== "") return parseObject(body) ?? {};
  const policy = query.get("propagationPolicy");
  return { dryRun: query.getAll("dryRun"), ...(policy === null ? {} : { propagationPolicy: policy }) };
}

const asIs: View = (object) => object;

function viewOf({ headers }: TransportRequest, partial: "PartialObjectMetadata" | "PartialObjectMetadataList"): View | Refusal {
  const asked = /as=(PartialObjectMetadata(?:List)?)\b/.exec(acceptOf(headers))?.[1];
  if (asked === undefined) return asIs;
  if (asked === partial) return metadataView;
  return refusal(406, "NotAcceptable", `you requested ${asked}, but the requested object is ${partial.endsWith("List") ? "" : "not "}a list`);
}

/** What is written is written, also when it cannot be shown as it was asked for. */
function seen(object: JsonObject, status: number, request: TransportRequest): ServerAnswer {
  const view = viewOf(request, "PartialObjectMetadata");
  return typeof view === "function" ? success(status, view(object)) : refuse(view);
}

function acceptOf(headers: TransportRequest["headers"]): string {
  return Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === "accept")?.[1] ?? "";
}

function success(status: number, body: JsonObject): ServerAnswer {
  return { type: "answer", status, body: JSON.stringify(body) };
}

function refuse({ code, body, retryAfterSeconds }: Refusal): ServerAnswer {
  return { type: "answer", status: code, body: JSON.stringify(body), ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
}

function routeOf({ group, version, plural }: Kind): string {
  return `${group}/${version}/${plural}`;
}

/** How messages name the resource. */
function resourceName({ resource }: ServedKind): string {
  return resource;
}

function keyOfPath({ namespace, name = "" }: ApiPath): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
