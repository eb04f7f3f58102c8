// Which object or collection a request is about: the path and query of a URL, taken apart.
import { objectOr, stringOr } from "./json.ts";
import type { JsonObject } from "./json.ts";
import { fieldSelector, labelSelector } from "./selector.ts";
import type { Selector } from "./selector.ts";
import type { ServedKind } from "./served-kind.ts";
import { badRequest } from "./status-answer.ts";
import type { Refusal } from "./status-answer.ts";

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
export function parsePath(pathname: string): ApiPath | undefined {
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
export const metadataView: View = (object) => ({
  kind: "PartialObjectMetadata",
  apiVersion: "meta.k8s.io/v1",
  metadata: objectOr(object["metadata"]),
});

/** What of the collection is selected by namespace and query, or why the query is wrong. */
export function selectorOf(served: ServedKind, namespace: string | undefined, query: URLSearchParams): Selector | Refusal {
  const labels = labelSelector(query.get("labelSelector") ?? "");
  if (!labels) return badRequest("unable to parse the label selector");
  const known = ["metadata.name", "metadata.namespace", ...(served.kind.kind === "Secret" ? ["type"] : [])];
  const fields = fieldSelector(query.get("fieldSelector") ?? "", known);
  if (typeof fields === "string")
    return badRequest(`"${fields}" is not a known field selector: only ${known.map((field) => `"${field}"`).join(", ")}`);
  return (object) => {
    if (namespace !== undefined && stringOr(objectOr(object["metadata"])["namespace"], "") !== namespace) return false;
    return labels(object) && fields(object);
  };
}
