// What a simulated API server serves: a kind, and the traits in which kinds differ where a controller can tell.
import { defineKind, resourceOf } from "../../client/kind.ts";
import type { Kind } from "../../client/kind.ts";
import { isObject, listOr, objectOr, stringOr, withKey } from "./json.ts";
import type { JsonObject } from "./json.ts";
import type { MergeRules } from "./object-fields.ts";

/** Something wrong with an object; `decoding` problems are answered with 400, the others with 422. */
export interface Problem {
  readonly type: "decoding" | "invalid";
  readonly field: string;
  readonly problem: string;
}

/** How a kind behaves. */
export interface KindTraits {
  /** `status` is a subresource. */
  readonly status: boolean;
  /** `metadata.generation` counts changes outside metadata and status. */
  readonly generation: boolean;
  /** A PUT creates what is not there. */
  readonly createOnUpdate: boolean;
  /** A PUT without resourceVersion is taken. */
  readonly unconditionalUpdate: boolean;
  /** Listed items carry apiVersion and kind; the server's own kinds leave them out. */
  readonly typedItems: boolean;
  /** Lists that merge by key, and parts that only merge as a whole. */
  readonly mergeRules: MergeRules;
  /** Defaults, as the server fills them in. */
  readonly complete: (object: JsonObject) => JsonObject;
  readonly validate: (object: JsonObject, before: JsonObject | undefined) => Problem | undefined;
}

/** A kind with its traits. */
export interface ServedKind extends KindTraits {
  readonly kind: Kind;
  readonly resource: string;
}

const metadataRules: MergeRules = { "metadata.ownerReferences": ["uid"], "metadata.finalizers": "set" };

const customResource: KindTraits = {
  status: true,
  generation: true,
  createOnUpdate: false,
  unconditionalUpdate: false,
  typedItems: true,
  mergeRules: { "status.conditions": ["type"] },
  complete: (object) => object,
  validate: () => undefined,
};

const plainBuiltIn: KindTraits = { ...customResource, status: false, generation: false, unconditionalUpdate: true, typedItems: false };

/** Serves a kind as a custom resource with a status subresource would be, but for the traits given. */
export function serveKind(kind: Kind, traits: Partial<KindTraits> = {}): ServedKind {
  const merged = { ...customResource, ...traits };
  return { ...merged, kind, resource: resourceOf(kind), mergeRules: { ...metadataRules, ...merged.mergeRules } };
}

const core = (kind: string, plural: string, namespaced = true): Kind => defineKind({ group: "", version: "v1", kind, plural, namespaced });

/** The kinds that every simulated server serves. */
export const builtInKinds: readonly ServedKind[] = [
  serveKind(core("ConfigMap", "configmaps"), plainBuiltIn),
  serveKind(core("Secret", "secrets"), { ...plainBuiltIn, complete: completeSecret, validate: validateSecret }),
  serveKind(core("ServiceAccount", "serviceaccounts"), plainBuiltIn),
  serveKind(core("Namespace", "namespaces", false), { ...plainBuiltIn, status: true, complete: completeNamespace }),
  serveKind(defineKind({ group: "coordination.k8s.io", version: "v1", kind: "Lease", plural: "leases", namespaced: true }), {
    ...plainBuiltIn,
    createOnUpdate: true,
    unconditionalUpdate: false,
    validate: validateLease,
  }),
  serveKind(defineKind({ group: "events.k8s.io", version: "v1", kind: "Event", plural: "events", namespaced: true }), {
    ...plainBuiltIn,
    createOnUpdate: true,
    validate: validateEvent,
  }),
];

function completeSecret(object: JsonObject): JsonObject {
  const { stringData, ...rest } = object;
  const encoded = Object.entries(objectOr(stringData)).map(([key, value]) => [key, Buffer.from(stringOr(value, "")).toString("base64")]);
  const data = { ...objectOr(rest["data"]), ...Object.fromEntries(encoded) };
  return { ...withKey(rest, "data", Object.keys(data).length > 0 ? data : undefined), type: stringOr(rest["type"], "Opaque") };
}

function validateSecret(object: JsonObject, before: JsonObject | undefined): Problem | undefined {
  for (const [key, value] of Object.entries(objectOr(object["data"]))) {
    if (typeof value !== "string" || !/^[A-Za-z0-9+/]*={0,2}$/.test(value)) return { type: "decoding", field: `data.${key}`, problem: "illegal base64 data" };
  }
  if (before && before["type"] !== object["type"]) return { type: "invalid", field: "type", problem: "field is immutable" };
  return undefined;
}

function completeNamespace(object: JsonObject): JsonObject {
  const phase = objectOr(object["metadata"])["deletionTimestamp"] === undefined ? "Active" : "Terminating";
  return { ...object, spec: isObject(object["spec"]) ? object["spec"] : { finalizers: ["kubernetes"] }, status: { phase } };
}

/** The server takes these times only with exactly six decimals. */
const microTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$/;

function notMicroTime(object: JsonObject, prefix: string, fields: readonly string[]): Problem | undefined {
  const wrong = fields.find((field) => object[field] !== undefined && !microTime.test(stringOr(object[field], "")));
  return wrong === undefined ? undefined : { type: "decoding", field: `${prefix}${wrong}`, problem: `cannot be parsed as "2006-01-02T15:04:05.000000Z07:00"` };
}

function validateLease(object: JsonObject): Problem | undefined {
  const spec = objectOr(object["spec"]);
  const wrongTime = notMicroTime(spec, "spec.", ["acquireTime", "renewTime"]);
  if (wrongTime) return wrongTime;
  const { leaseDurationSeconds: duration, leaseTransitions: transitions } = spec;
  if (typeof duration === "number" && duration <= 0) return { type: "invalid", field: "spec.leaseDurationSeconds", problem: "must be greater than 0" };
  if (typeof transitions === "number" && transitions < 0) return { type: "invalid", field: "spec.leaseTransitions", problem: "must be greater than or equal to 0" };
  return undefined;
}

function validateEvent(object: JsonObject, before: JsonObject | undefined): Problem | undefined {
  const wrongTime = notMicroTime(object, "", ["eventTime"]) ?? notMicroTime(objectOr(object["series"]), "series.", ["lastObservedTime"]);
  if (wrongTime || before) return wrongTime;
  for (const field of ["eventTime", "reportingController", "reportingInstance", "action", "reason"]) {
    if (stringOr(object[field], "") === "") return { type: "invalid", field, problem: "Required value" };
  }
  if (!["Normal", "Warning"].includes(stringOr(object["type"], ""))) return { type: "invalid", field: "type", problem: "has invalid value" };
  if (stringOr(object["note"], "").length > 1024) return { type: "invalid", field: "message", problem: "can have at most 1024 characters" };
  const namespace = stringOr(objectOr(object["regarding"])["namespace"], "default");
  if (namespace !== objectOr(object["metadata"])["namespace"]) return { type: "invalid", field: "involvedObject.namespace", problem: "does not match event.namespace" };
  return undefined;
}

/** The finalizers of an object. */
export function finalizersOf(object: JsonObject): readonly string[] {
  return listOr(objectOr(object["metadata"])["finalizers"]).filter((item) => typeof item === "string");
}
