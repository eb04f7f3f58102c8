// The answer to a LIST: a page of a collection at one revision, with a token for the next page.
import { apiVersionOf } from "../../client/kind.ts";
import type { View } from "./api-route.ts";
import { parseObject, withKey } from "./json.ts";
import type { Json, JsonObject } from "./json.ts";
import type { ObjectStore } from "./object-store.ts";
import type { Selector } from "./selector.ts";
import type { ServedKind } from "./served-kind.ts";
import type { ServerAnswer } from "./simulated-api-server.ts";
import { badRequest, expired, tooLargeResourceVersion } from "./status-answer.ts";
import type { Refusal } from "./status-answer.ts";

/** What was asked for. */
export interface ListRequest {
  readonly served: ServedKind;
  readonly selects: Selector;
  readonly view: View;
  readonly isPartial: boolean;
  readonly query: URLSearchParams;
  /** The revision at which reads from the watch cache are served. */
  readonly cached: number;
}

interface PageStart {
  readonly revision: number;
  /** The first key is the one after this. */
  readonly after: string;
}

/** Serves the list. Pages of one list are all of the revision of the first. */
export function answerList(store: ObjectStore, list: ListRequest): ServerAnswer {
  const start = startOf(store, list);
  if ("code" in start) return { type: "answer", status: start.code, body: JSON.stringify(start.body) };
  const { served, selects, view, isPartial, query } = list;
  const rest = store.list(served.resource, start.revision).filter(([key, object]) => key > start.after && selects(object));
  const limit = Number(query.get("limit") ?? 0);
  const page = limit > 0 ? rest.slice(0, limit) : rest;
  const metadata: Record<string, Json> = { resourceVersion: String(start.revision) };
  const last = page.at(-1);
  if (last && page.length < rest.length) {
    metadata["continue"] = tokenOf({ revision: start.revision, after: last[0] });
    metadata["remainingItemCount"] = rest.length - page.length;
  }
  const type = isPartial
    ? { kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" }
    : { kind: `${served.kind.kind}List`, apiVersion: apiVersionOf(served.kind) };
  const items = page.map(([, object]) => (isPartial || served.typedItems ? view(object) : untyped(object)));
  return { type: "answer", status: 200, body: JSON.stringify({ ...type, metadata, items }) };
}

function startOf(store: ObjectStore, { query, cached }: ListRequest): PageStart | Refusal {
  const token = query.get("continue") ?? "";
  const version = query.get("resourceVersion") ?? "";
  if (token === "") {
    if (!/^\d*$/.test(version)) return badRequest(`invalid resource version "${version}"`);
    if (Number(version) > store.revision) return tooLargeResourceVersion(version, store.revision);
    if (query.get("resourceVersionMatch") === "Exact") {
      return Number(version) < store.compacted ? expired("The provided resource version is too old") : { revision: Number(version), after: "" };
    }
    return { revision: version === "" ? store.revision : Math.max(cached, Number(version)), after: "" };
  }
  const parsed = parseObject(Buffer.from(token, "base64url").toString());
  const { revision, after } = parsed ?? {};
  if (typeof revision !== "number" || typeof after !== "string") return badRequest("continue key is not valid");
  if (revision < store.compacted || revision > store.revision) {
    return expired(
      "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.",
    );
  }
  return { revision, after };
}

function tokenOf({ revision, after }: PageStart): string {
  return Buffer.from(JSON.stringify({ revision, after })).toString("base64url");
}

function untyped(object: JsonObject): JsonObject {
  return withKey(withKey(object, "kind", undefined), "apiVersion", undefined);
}
