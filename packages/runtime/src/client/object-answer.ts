// What answers of the API server mean: objects, pages of lists, and the errors that say something else than they mean.
import { protobufType } from "../wire/protobuf-envelope.ts";
import { ApiError, isApiError } from "./api-error.ts";
import type { Answer, Answered, JsonPatchOperation, ListResult } from "./client.ts";
import { apiVersionOf, type Kind, resourceOf } from "./kind.ts";
import type { KubeObject, Stored } from "./object.ts";
import { isRecord } from "../json.ts";

/** A 404 about the object; one about the path means that the kind is not served, and is thrown. */
export function isMissingObject(error: unknown): boolean {
  return isApiError(error, "NotFound") && error.body.kind === "Status" && error.body.details?.name !== undefined;
}

/**
 * Two answers to an apply that say something else than they mean, as of Kubernetes 1.36: a uid that is not the object's is a 422 about an
 * immutable field, where it is a conflict; and a field that the schema does not have is a 500, where no retry can help.
 */
export function applyError(error: unknown, attempt: string): unknown {
  if (!isApiError(error)) return error;
  const { body } = error;
  if (error.code === "Invalid" && body.details?.causes?.some(({ field }) => field === "metadata.uid")) {
    return new ApiError(attempt, 409, { ...body, reason: "Conflict" });
  }
  if (error.status === 500 && body.message?.startsWith("failed to create typed patch object")) {
    return new ApiError(attempt, 400, { ...body, reason: "BadRequest" });
  }
  return error;
}

/**
 * A JSON patch that does not fit the object is a 422 that names no field, as of Kubernetes 1.36; one that was meant to be conditional has met another
 * object than it was made for, which is a conflict: reading again helps. What the server refuses after patching names the field.
 */
export function jsonPatchError(error: unknown, patch: readonly JsonPatchOperation[], attempt: string): unknown {
  const conditional = patch.some(({ op }) => op === "test");
  if (!conditional || !isApiError(error, "Invalid") || error.body.details?.causes?.length) return error;
  return new ApiError(attempt, 409, { ...error.body, reason: "Conflict" });
}

const metadataOnly = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
/** In protobuf it costs the server and us least. The whole object is second best: not every server can show less of it. */
const metadataAccepted = `${protobufType};${metadataOnly},application/json;${metadataOnly},application/json`;

/** The header that asks for the answer. */
export function acceptHeader(kind: Kind, answer: Answer | undefined): { readonly accept?: string } {
  // What holds a Namespace is in its spec, and whether it is gone must be known.
  if (answer !== "metadata" || resourceOf(kind) === "namespaces") return {};
  return { accept: metadataAccepted };
}

/**
 * The object that a body is, or its metadata less `managedFields`; those name the object's kind, as if it were whole. Throws `ApiError` if it is
 * neither.
 */
export function decodeObject<T extends KubeObject, A extends Answer = "object">(body: unknown, kind: Kind<T>, attempt: string): Answered<T, A> {
  if (!isRecord(body) || !isRecord(body["metadata"])) {
    throw new ApiError(attempt, 200, { message: `the answer is no ${kind.kind}` });
  }
  if (body["kind"] === "PartialObjectMetadata") {
    body["apiVersion"] = apiVersionOf(kind);
    body["kind"] = kind.kind;
    delete body["metadata"]["managedFields"];
  }
  return body as unknown as Answered<T, A>;
}

/** A page of a list; `continue` asks for the next. */
export interface Page<T extends KubeObject> extends ListResult<T> {
  readonly continue: string | undefined;
}

/** Items of a list lack what the list says once for all: it is filled in, so that they look as if read one by one. */
export function decodePage<T extends KubeObject>(body: unknown, kind: Kind<T>, attempt: string): Page<T> {
  const metadata = isRecord(body) ? body["metadata"] : undefined;
  const items = isRecord(body) ? (body["items"] ?? []) : undefined;
  if (!isRecord(metadata) || !Array.isArray(items)) throw new ApiError(attempt, 200, { message: `the answer is no list of ${kind.kind}` });
  const apiVersion = apiVersionOf(kind);
  for (const item of items as Record<string, unknown>[]) {
    item["apiVersion"] ??= apiVersion;
    item["kind"] ??= kind.kind;
  }
  const { resourceVersion, continue: token } = metadata as { resourceVersion?: string; continue?: string };
  return { items: items as Stored<T>[], resourceVersion: resourceVersion ?? "", continue: token || undefined };
}

/** Some kinds answer a delete with the object even when it is gone: it is still there only if something holds it. */
export function waitingObject<T extends KubeObject, A extends Answer>(body: unknown, kind: Kind<T>, attempt: string): Answered<T, A> | undefined {
  if (isRecord(body) && body["kind"] === "Status") return undefined;
  const object = decodeObject<T, A>(body, kind, attempt);
  return object.metadata.deletionTimestamp && !isLastSight(object) ? object : undefined;
}

/** True for an object that is being deleted and that nothing holds any more: the server removes it with the answer that shows it so. */
export function isLastSight(object: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata;
  // Only Namespaces have finalizers in their spec.
  const spec = "spec" in object && isRecord(object.spec) ? object.spec : {};
  const held = finalizers.length > 0 || deletionGracePeriodSeconds > 0 || (Array.isArray(spec["finalizers"]) && spec["finalizers"].length > 0);
  return deletionTimestamp !== undefined && !held;
}
