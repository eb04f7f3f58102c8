// The `Status` objects with which an API server refuses a request or confirms a delete.
import type { Json, JsonObject } from "../../json.ts";

/** A request that was refused. */
export interface Refusal {
  readonly code: number;
  readonly body: JsonObject;
  readonly retryAfterSeconds?: number;
}

/** A failure `Status`. The API server leaves `reason` out where it has none. */
export function refusal(code: number, reason: string | undefined, message: string, details?: JsonObject): Refusal {
  const body: Record<string, Json> = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message };
  if (reason !== undefined) body["reason"] = reason;
  if (details !== undefined) body["details"] = details;
  const retryAfter = details?.["retryAfterSeconds"];
  return { code, body: { ...body, code }, ...(typeof retryAfter === "number" ? { retryAfterSeconds: retryAfter } : {}) };
}

export const badRequest = (message: string): Refusal => refusal(400, "BadRequest", message);

export const notServed = (): Refusal => refusal(404, "NotFound", "the server could not find the requested resource", {});

export const expired = (message: string): Refusal => refusal(410, "Expired", message);

export function notFound(plural: string, name: string): Refusal {
  return refusal(404, "NotFound", `${plural} "${name}" not found`, { name, kind: plural });
}

export function conflict(plural: string, name: string, why: string): Refusal {
  return refusal(409, "Conflict", `Operation cannot be fulfilled on ${plural} "${name}": ${why}`, { name, kind: plural });
}

export function alreadyExists(plural: string, name: string): Refusal {
  return refusal(409, "AlreadyExists", `${plural} "${name}" already exists`, { name, kind: plural });
}

export function invalid(kind: string, name: string, { field, problem }: { readonly field: string; readonly problem: string }): Refusal {
  const causes = [{ reason: "FieldValueInvalid", message: problem, field }];
  return refusal(422, "Invalid", `${kind} "${name}" is invalid: ${field}: ${problem}`, { name, kind, causes });
}

/** The server has not reached the resourceVersion that was asked for. */
export function tooLargeResourceVersion(asked: string, current: number): Refusal {
  return refusal(504, "Timeout", `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  });
}

/** What a delete answers when the object is gone at once. */
export function deletedStatus(plural: string, name: string, uid: string): JsonObject {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details: { name, kind: plural, uid } };
}
