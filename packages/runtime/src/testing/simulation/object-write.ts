// What a write does to one object: the rules by which an API server accepts, completes, versions, keeps or removes it. Pure.
import { apiVersionOf } from "../../client/kind.ts";
import { objectOr, sameJson, stringOr, withKey, withoutNulls } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";
import { applyConfig, recordUpdate } from "./managed-fields.ts";
import type { Writer } from "./managed-fields.ts";
import { finalizersOf, withoutEmpty } from "./served-kind.ts";
import type { ServedKind } from "./served-kind.ts";
import { conflict, invalid, refusal } from "./status-answer.ts";
import type { Refusal } from "./status-answer.ts";

/** What a write comes to. `removed` answers with the object as it would have been stored. */
export type WriteResult =
  | { readonly type: "refused"; readonly refusal: Refusal }
  | { readonly type: "stored" | "unchanged" | "removed"; readonly object: JsonObject };

/** What the server brings to a write. */
export interface WriteContext {
  readonly served: ServedKind;
  readonly namespace: string | undefined;
  readonly writer: Writer;
  /** For an object that is created. */
  readonly uid: string;
}

const refused = (answer: Refusal): WriteResult => ({ type: "refused", refusal: answer });

/** A new object from what was posted, or from an apply to nothing. */
export function createObject({ served, namespace, writer, uid }: WriteContext, given: JsonObject, name: string): WriteResult {
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
export function updateObject({ served, writer }: Pick<WriteContext, "served" | "writer">, before: JsonObject, proposed: JsonObject): WriteResult {
  const candidate = limitToEndpoint(served, { before, proposed: received(proposed), writer });
  const object = recordUpdate(served, { before, after: served.complete(candidate), writer });
  return finishUpdate(served, { before, object, proposed, writer });
}

/** Server-side apply to an object that is there. */
export function applyObject(
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
export function applyToNothing(context: WriteContext, config: JsonObject, name: string): WriteResult {
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

/** What a delete does: removes the object, or marks it and waits for its finalizers. */
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
  const isMarked = metadata["deletionTimestamp"] !== undefined;
  const marks: Record<string, Json> = isMarked ? {} : { deletionTimestamp: writer.time, deletionGracePeriodSeconds: 0 };
  if (!isMarked && typeof metadata["generation"] === "number") marks["generation"] = metadata["generation"] + 1;
  const marked = withKey({ ...metadata, ...marks }, "finalizers", finalizers.length > 0 ? finalizers : undefined);
  const object = served.complete({ ...before, metadata: marked });
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
