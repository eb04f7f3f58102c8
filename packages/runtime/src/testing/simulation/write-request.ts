// A POST, PUT or PATCH to the simulated API server: what it asks for, checked and carried out on paper.
import * as z from "zod";
import { apiVersionOf } from "../../client/kind.ts";
import { mergesAlike } from "../../client/merge-patch.ts";
import type { TransportRequest } from "../../client/transport.ts";
import { applyJsonPatch, JsonPatchError } from "../../json-patch.ts";
import type { ApiPath } from "./api-route.ts";
import { applyMergePatch, isObject, objectOr, parseJson, stringOr } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";
import { applyObject, applyToNothing, createObject, updateObject } from "./object-write.ts";
import type { WriteContext, WriteResult } from "./object-write.ts";
import type { ObjectStore } from "./object-store.ts";
import type { ServedKind } from "./served-kind.ts";
import { alreadyExists, badRequest, conflict, invalid, notFound, refusal } from "./status-answer.ts";
import type { Refusal } from "./status-answer.ts";

/** What the server lends to a write. */
export interface WriteDesk {
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
export type WriteOutcome =
  | { readonly type: "refused"; readonly refusal: Refusal }
  | { readonly type: "accepted"; readonly status: number; readonly key: string; readonly result: Exclude<WriteResult, { readonly type: "refused" }> };

const refused = (answer: Refusal): WriteOutcome => ({ type: "refused", refusal: answer });

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
