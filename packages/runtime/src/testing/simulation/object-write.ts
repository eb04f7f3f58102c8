// What a write does to one object: the rules by which an API server accepts, completes, versions, keeps or removes it. Pure.
import * as z from "zod";
import { apiVersionOf } from "../../client/kind.ts";
import { mergesAlike } from "../../client/kube-client.ts";
import type { TransportRequest } from "../../client/transport.ts";
import { applyJsonPatch, JsonPatchError } from "../../json-patch.ts";
import { applyMergePatch, isObject, type Json, type JsonObject, objectOr, parseJson, sameJson, stringOr, withKey, withoutNulls } from "../../json.ts";
import { applyConfig, recordUpdate, type Writer } from "./managed-fields.ts";
import { finalizersOf, type ObjectStore, type ServedKind, withoutEmpty } from "./object-store.ts";
import type { ApiPath } from "./simulated-api-server.ts";
import { alreadyExists, badRequest, conflict, invalid, notFound, refusal, type Refusal } from "./status-response.ts";

/** What a write comes to. `removed` answers with the object as it would have been stored. */
export type WriteResult =
  | { readonly type: "refused"; readonly refusal: Refusal }
  | { readonly type: "stored" | "unchanged" | "removed"; readonly object: JsonObject };

/** What the server brings to a write. */
interface WriteContext {
  readonly served: ServedKind;
  readonly namespace: string | undefined;
  readonly writer: Writer;
  /** For an object that is created. */
  readonly uid: string;
}

const refused = (refusal: Refusal): { readonly type: "refused"; readonly refusal: Refusal } => ({ type: "refused", refusal });

/** A new object from what was posted, or from an apply to nothing. */
function createObject({ served, namespace, writer, uid }: WriteContext, given: JsonObject, name: string): WriteResult {
  const posted = { ...served.blank, ...received(given) };
  const { resourceVersion: _version, uid: _uid, deletionTimestamp: _deletion, managedFields: _fields, ...own } = objectOr(posted["metadata"]);
  const metadata = {
    ...own,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    uid,
    creationTimestamp: writer.time,
    ...(served.generation ? { generation: 1 } : {}),
  };
  const object = served.complete({ ...(served.status ? withKey(posted, "status", undefined) : posted), ...typeOf(served), metadata });
  const problem = validate(served, object, undefined);
  if (problem) return refused(problem);
  return { type: "stored", object: recordUpdate(served, { before: { ...served.blank, metadata: {} }, after: object, writer }) };
}

/** `before` replaced by `proposed` through the writer's endpoint. */
function updateObject({ served, writer }: Pick<WriteContext, "served" | "writer">, before: JsonObject, proposed: JsonObject): WriteResult {
  const candidate = limitToEndpoint(served, { before, proposed: received(proposed), writer });
  const object = recordUpdate(served, { before, after: served.complete(candidate), writer });
  return finishUpdate(served, { before, object, proposed, writer });
}

/** Server-side apply to an object that is there. */
function applyObject(
  { served, writer }: Pick<WriteContext, "served" | "writer">,
  before: JsonObject,
  { config, force, unreadable }: { readonly config: JsonObject; readonly force: boolean; readonly unreadable: Refusal | undefined },
): WriteResult {
  const result = applyConfig(served, { live: before, config: received(config), writer, force });
  if (result.type === "conflict") {
    const causes = result.causes.map(({ manager, path }) => ({
      reason: "FieldManagerConflict",
      message: `conflict with "${manager}" using ${writer.apiVersion}`,
      field: path,
    }));
    return refused(refusal(409, "Conflict", `Apply failed with ${causes.length} conflict${causes.length === 1 ? "" : "s"}`, { causes }));
  }
  // Fields are merged before anybody decodes them, so conflicts come first.
  if (unreadable) return refused(unreadable);
  return finishUpdate(served, { before, object: served.complete(result.object), proposed: config, writer });
}

/** Server-side apply to nothing: a create in the writer's name. */
function applyToNothing(context: WriteContext, config: JsonObject, name: string): WriteResult {
  const { served, writer } = context;
  const uid = objectOr(config["metadata"])["uid"];
  if (typeof uid === "string") {
    return refused(conflict(served.kind.plural, name, `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`));
  }
  const created = createObject(context, config, name);
  if (created.type !== "stored") return created;
  const bare = { ...created.object, metadata: withKey(objectOr(created.object["metadata"]), "managedFields", undefined) };
  const applied = applyConfig(served, { live: bare, config: received(config), writer, force: true, isNew: true });
  return applied.type === "applied" ? { type: "stored", object: served.complete(applied.object) } : created;
}

/** What a delete does: removes the object, or sets its deletionTimestamp and waits for its finalizers. */
export function deleteObject({ served, writer }: Pick<WriteContext, "served" | "writer">, before: JsonObject, options: JsonObject): WriteResult {
  const metadata = objectOr(before["metadata"]);
  const { uid, resourceVersion } = objectOr(options["preconditions"]);
  const name = stringOr(metadata["name"], "");
  for (const [what, wanted, actual] of [
    ["UID", uid, metadata["uid"]],
    ["ResourceVersion", resourceVersion, metadata["resourceVersion"]],
  ] as const) {
    if (typeof wanted === "string" && wanted !== actual) {
      const why = `the ${what} in the precondition (${wanted}) does not match the ${what} in record (${stringOr(actual, "")}). The object might have been ${what === "UID" ? "deleted and then recreated" : "modified"}`;
      return refused(conflict(served.kind.kind, name, why));
    }
  }
  const finalizers = withPropagation(finalizersOf(before), options["propagationPolicy"]);
  const waits = finalizers.length > 0 || served.kind.plural === "namespaces";
  if (!waits) return { type: "removed", object: before };
  const isDeleting = metadata["deletionTimestamp"] !== undefined;
  const deletion: Record<string, Json> = isDeleting ? {} : { deletionTimestamp: writer.time, deletionGracePeriodSeconds: 0 };
  if (!isDeleting && typeof metadata["generation"] === "number") deletion["generation"] = metadata["generation"] + 1;
  const deleting = withKey({ ...metadata, ...deletion }, "finalizers", finalizers.length > 0 ? finalizers : undefined);
  const object = served.complete({ ...before, metadata: deleting });
  return { type: sameJson(object, before) ? "unchanged" : "stored", object };
}

function withPropagation(finalizers: readonly string[], policy: Json | undefined): readonly string[] {
  const others = finalizers.filter((finalizer) => finalizer !== "orphan" && finalizer !== "foregroundDeletion");
  if (policy === "Orphan") return [...others, "orphan"];
  if (policy === "Foreground") return [...others, "foregroundDeletion"];
  return policy === "Background" ? others : finalizers;
}

/** `proposed`, with everything that the endpoint may not change put back. */
function limitToEndpoint(
  served: ServedKind,
  { before, proposed, writer }: { readonly before: JsonObject; readonly proposed: JsonObject; readonly writer: Writer },
): JsonObject {
  if (writer.subresource === "status") return withKey(before, "status", proposed["status"]);
  const was = objectOr(before["metadata"]);
  let metadata = objectOr(proposed["metadata"]);
  for (const key of [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
  ]) {
    metadata = withKey(metadata, key, was[key]);
  }
  const body = served.status ? withKey(proposed, "status", before["status"]) : proposed;
  return { ...body, ...typeOf(served), metadata };
}

/** Checks, counts the generation, and decides between storing, keeping and removing. */
function finishUpdate(
  served: ServedKind,
  {
    before,
    object,
    proposed,
    writer,
  }: { readonly before: JsonObject; readonly object: JsonObject; readonly proposed: JsonObject; readonly writer: Writer },
): WriteResult {
  const was = objectOr(before["metadata"]);
  const asked = objectOr(proposed["metadata"]);
  const isStatus = writer.subresource === "status";
  const name = stringOr(was["name"], "");
  if (typeof asked["resourceVersion"] === "string" && asked["resourceVersion"] !== "" && asked["resourceVersion"] !== was["resourceVersion"]) {
    return refused(conflict(served.kind.plural, name, "the object has been modified; please apply your changes to the latest version and try again"));
  }
  // Through the status endpoint metadata is put back before it is looked at.
  if (!isStatus && typeof asked["uid"] === "string" && asked["uid"] !== was["uid"]) {
    return refused(invalid(served.kind.kind, name, { field: "metadata.uid", problem: `Invalid value: "${asked["uid"]}": field is immutable` }));
  }
  const isDeleting = was["deletionTimestamp"] !== undefined;
  if (isDeleting && finalizersOf(object).some((finalizer) => !finalizersOf(before).includes(finalizer))) {
    return refused(
      invalid(served.kind.kind, name, {
        field: "metadata.finalizers",
        problem: "Forbidden: no new finalizers can be added if the object is being deleted",
      }),
    );
  }
  const problem = validate(served, object, before);
  if (problem) return refused(problem);
  const counted = countGeneration(served, before, object);
  if (isDeleting && finalizersOf(counted).length === 0 && served.kind.plural !== "namespaces") return { type: "removed", object: counted };
  return { type: sameJson(counted, before) ? "unchanged" : "stored", object: counted };
}

function countGeneration(served: ServedKind, before: JsonObject, object: JsonObject): JsonObject {
  const generation = objectOr(before["metadata"])["generation"];
  if (!served.generation || typeof generation !== "number") return object;
  const counted = ({ metadata: _metadata, status: _status, ...rest }: JsonObject): JsonObject => rest;
  if (sameJson(counted(before), counted(object))) return object;
  return { ...object, metadata: { ...objectOr(object["metadata"]), generation: generation + 1 } };
}

function validate(served: ServedKind, object: JsonObject, before: JsonObject | undefined): Refusal | undefined {
  const problem = served.validate(object, before);
  return problem && invalid(served.kind.kind, stringOr(objectOr(object["metadata"])["name"], ""), problem);
}

/** An object as it is once decoded: without nulls, and without the parts of metadata that are empty. */
function received(object: JsonObject): JsonObject {
  const clean = withoutNulls(object);
  return { ...clean, metadata: withoutEmpty(objectOr(clean["metadata"]), ["labels", "annotations", "finalizers", "ownerReferences"]) };
}

function typeOf({ kind }: ServedKind): JsonObject {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind };
}

// A POST, PUT or PATCH to the simulated API server: what it asks for, checked and carried out on paper.

/** What the server lends to a write. */
interface WriteDesk {
  readonly store: ObjectStore;
  readonly served: ServedKind;
  readonly time: string;
  readonly uid: () => string;
  /** Completes a `generateName`. */
  readonly suffix: () => string;
  /** Why nothing can be created in the namespace. */
  readonly namespaceProblem: (namespace: string) => Refusal | undefined;
}

/** A write that was addressed to one path. */
export interface WriteRequest {
  readonly path: ApiPath;
  readonly query: URLSearchParams;
  readonly request: TransportRequest;
}

/** What is to be committed under which key, and the status to answer with. */
type WriteOutcome =
  | { readonly type: "refused"; readonly refusal: Refusal }
  | { readonly type: "accepted"; readonly status: number; readonly key: string; readonly result: Exclude<WriteResult, { readonly type: "refused" }> };

/** Decides what the write does; stores nothing itself. */
export function performWrite(desk: WriteDesk, write: WriteRequest): WriteOutcome {
  const body = parseJson(write.request.body ?? "");
  if (body === undefined) return refused(badRequest("the object provided is unrecognized: it is not JSON"));
  if (write.request.method === "PATCH") return patch(desk, write, body);
  if (!isObject(body)) return refused(badRequest("the object provided is unrecognized: it is no object"));
  const problem = typeProblem(desk.served, write, body) ?? unreadable(desk.served, body, (text) => badRequest(text));
  if (problem) return refused(problem);
  return write.request.method === "POST" ? create(desk, write, body) : replace(desk, write, body);
}

function create(desk: WriteDesk, write: WriteRequest, posted: JsonObject): WriteOutcome {
  const { served, store } = desk;
  const metadata = objectOr(posted["metadata"]);
  const generateName = stringOr(metadata["generateName"], "");
  const name = stringOr(metadata["name"], "") || (generateName && `${generateName}${desk.suffix()}`);
  if (name === "")
    return refused(invalid(served.kind.kind, "", { field: "metadata.name", problem: "Required value: name or generateName is required" }));
  const blocked = namespaceProblem(desk, write);
  if (blocked) return refused(blocked);
  if (stringOr(metadata["resourceVersion"], "") !== "")
    return refused(refusal(500, undefined, "resourceVersion should not be set on objects to be created"));
  const key = keyFor(write.path, name);
  const result = createObject(contextOf(desk, write), posted, name);
  if (result.type !== "refused" && store.get(served.resource, key)) return refused(alreadyExists(served.resource, name));
  return accepted(result, 201, key);
}

function replace(desk: WriteDesk, write: WriteRequest, proposed: JsonObject): WriteOutcome {
  const { served, store } = desk;
  const name = write.path.name ?? "";
  const key = keyFor(write.path, name);
  const before = store.get(served.resource, key);
  const { resourceVersion, uid } = objectOr(proposed["metadata"]);
  if (!before) {
    if (!served.createOnUpdate || write.path.subresource !== undefined) return refused(notFound(served.resource, name));
    const blocked =
      namespaceProblem(desk, write) ??
      (stringOr(uid, "") === "" ? undefined : conflict(served.resource, name, "Precondition failed: there is no object with that UID"));
    return blocked ? refused(blocked) : accepted(createObject(contextOf(desk, write), proposed, name), 201, key);
  }
  if (stringOr(uid, "") !== "" && uid !== objectOr(before["metadata"])["uid"])
    return refused(conflict(served.resource, name, "Precondition failed: the UID in the precondition is not that of the object"));
  if (!served.unconditionalUpdate && stringOr(resourceVersion, "") === "") {
    return refused(
      invalid(served.kind.kind, name, { field: "metadata.resourceVersion", problem: "Invalid value: 0x0: must be specified for an update" }),
    );
  }
  return accepted(updateObject(contextOf(desk, write), before, proposed), 200, key);
}

function patch(desk: WriteDesk, write: WriteRequest, body: Json): WriteOutcome {
  const { served, store } = desk;
  const type = headerOf(write.request, "content-type").split(";")[0]?.trim();
  const name = write.path.name ?? "";
  const key = keyFor(write.path, name);
  const before = store.get(served.resource, key);
  if (type === "application/apply-patch+yaml") return apply(desk, write, { body, before, key });
  const change = changeBy(type, body, served);
  if (!change) {
    return refused(
      refusal(
        415,
        "UnsupportedMediaType",
        `the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml`,
      ),
    );
  }
  if (!before) return refused(notFound(served.resource, name));
  const proposed = change(before);
  if (proposed === undefined) return refused(refusal(422, "Invalid", "the server rejected our request due to an error in our request", {}));
  return patched(contextOf(desk, write), before, { proposed, key });
}

/** What a patch of that type makes of an object, or undefined if the kind takes none. */
function changeBy(type: string | undefined, body: Json, served: ServedKind): ((before: JsonObject) => Json | undefined) | undefined {
  const merge = (before: JsonObject): Json => applyMergePatch(before, body);
  switch (type) {
    case "application/merge-patch+json":
      return merge;
    case "application/strategic-merge-patch+json":
      // What merges by rules of its own here is left to the real server.
      return served.strategicMerge && mergesAlike(body) ? merge : undefined;
    case "application/json-patch+json":
      return (before) => jsonPatched(before, body);
    case undefined:
    default:
      return undefined;
  }
}

const jsonPatchSchema = z.array(
  z.discriminatedUnion("op", [
    z.object({ op: z.literal(["add", "replace"]), path: z.string(), value: z.json() }),
    z.object({ op: z.literal("test"), path: z.string(), value: z.json().default(null) }),
    z.object({ op: z.literal("remove"), path: z.string() }),
    z.object({ op: z.literal(["move", "copy"]), path: z.string(), from: z.string() }),
  ]),
);

/** Undefined if it is no JSON patch, or one of its operations cannot be carried out. */
function jsonPatched(before: JsonObject, body: Json): Json | undefined {
  const patch = jsonPatchSchema.safeParse(body);
  if (!patch.success) return undefined;
  try {
    // Made of nothing but the JSON that went in.
    return applyJsonPatch(before, patch.data, { absentIsNull: true }) as Json;
  } catch (error) {
    if (error instanceof JsonPatchError) return undefined;
    throw error;
  }
}

function patched(context: WriteContext, before: JsonObject, { proposed, key }: { readonly proposed: Json; readonly key: string }): WriteOutcome {
  if (!isObject(proposed)) return refused(badRequest("the patch leaves no object"));
  const was = objectOr(before["metadata"]);
  const is = objectOr(proposed["metadata"]);
  if (is["name"] !== was["name"] || is["namespace"] !== was["namespace"])
    return refused(badRequest("the name of the object does not match the name on the URL"));
  const problem = unreadable(context.served, proposed, (text) => refusal(422, "Invalid", text, {}));
  return problem ? refused(problem) : accepted(updateObject(context, before, proposed), 200, key);
}

function apply(
  desk: WriteDesk,
  write: WriteRequest,
  { body, before, key }: { readonly body: Json; readonly before: JsonObject | undefined; readonly key: string },
): WriteOutcome {
  const { served } = desk;
  const name = write.path.name ?? "";
  if (!isObject(body)) return refused(badRequest("the object provided is unrecognized: it is no object"));
  if ((write.query.get("fieldManager") ?? "") === "") {
    return refused(refusal(422, "Invalid", 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'));
  }
  const problem = typeProblem(served, write, body);
  if (problem) return refused(problem);
  const metadata = objectOr(body["metadata"]);
  if (metadata["managedFields"] !== undefined) return refused(badRequest("metadata.managedFields must be nil"));
  const context = contextOf(desk, write);
  const undecodable = unreadable(served, body, (text) => refusal(500, undefined, text));
  if (before) {
    const force = ["1", "true"].includes(write.query.get("force") ?? "");
    return accepted(applyObject(context, before, { config: body, force, unreadable: undecodable }), 200, key);
  }
  if (write.path.subresource !== undefined) return refused(notFound(served.resource, name));
  const blocked = namespaceProblem(desk, write) ?? undecodable;
  return blocked ? refused(blocked) : accepted(applyToNothing(context, body, name), 201, key);
}

function accepted(result: WriteResult, status: number, key: string): WriteOutcome {
  return result.type === "refused" ? result : { type: "accepted", status, key, result };
}

function contextOf({ served, time, uid }: WriteDesk, { path, query, request }: WriteRequest): WriteContext {
  const agent = headerOf(request, "user-agent").split("/")[0] ?? "";
  return {
    served,
    namespace: path.namespace,
    uid: uid(),
    writer: {
      manager: query.get("fieldManager") || agent || "unknown",
      subresource: path.subresource === "status" ? "status" : "",
      apiVersion: apiVersionOf(served.kind),
      time,
    },
  };
}

/** What cannot be decoded is refused with another code by each kind of write. */
function unreadable({ kind, decode }: ServedKind, object: JsonObject, refuse: (text: string) => Refusal): Refusal | undefined {
  const problem = decode(object);
  return problem && refuse(`${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${problem.field}: ${problem.problem}`);
}

function typeProblem({ kind }: ServedKind, { path }: WriteRequest, body: JsonObject): Refusal | undefined {
  const metadata = objectOr(body["metadata"]);
  if (body["apiVersion"] !== apiVersionOf(kind) || body["kind"] !== kind.kind) {
    return badRequest(
      `the object is a ${stringOr(body["apiVersion"], "")} ${stringOr(body["kind"], "")}, but the path is for ${apiVersionOf(kind)} ${kind.kind}`,
    );
  }
  if (kind.namespaced && path.namespace === undefined) return badRequest("an empty namespace may not be set during creation");
  const namespace = metadata["namespace"];
  if (typeof namespace === "string" && namespace !== (path.namespace ?? ""))
    return badRequest("the namespace of the provided object does not match the namespace sent on the request");
  const name = metadata["name"];
  if (path.name !== undefined && name !== path.name)
    return badRequest(`the name of the object (${stringOr(name, "")}) does not match the name on the URL (${path.name})`);
  return undefined;
}

function namespaceProblem({ served, namespaceProblem: problemOf }: WriteDesk, { path }: WriteRequest): Refusal | undefined {
  return served.kind.namespaced && path.namespace !== undefined ? problemOf(path.namespace) : undefined;
}

function headerOf({ headers }: TransportRequest, name: string): string {
  return Object.entries(headers ?? {}).find(([key]) => key.toLowerCase() === name)?.[1] ?? "";
}

function keyFor({ namespace }: ApiPath, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
