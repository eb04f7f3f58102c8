// The list of applications as IAS gives it out: filtered, and in pages.
import { type IasAnswer, json, refusal } from "./answer.ts";
import type { StoredApplication } from "./application-directory.ts";

const longestPage = 100;

/** One page. `show` makes an application what the API shows of it. */
export function listPage(all: readonly StoredApplication[], query: URLSearchParams, show: (application: StoredApplication) => unknown): IasAnswer {
  const filter = filterOf(query.get("filter"));
  if (!filter) return refusal(400, "Invalid input.", [{ target: "filter", message: "is not supported" }]);
  const limit = Number(query.get("limit") ?? longestPage);
  if (!Number.isInteger(limit) || limit < 1 || limit > longestPage) {
    return refusal(400, "Invalid input.", [{ target: "limit", message: `must be 1 to ${longestPage}` }]);
  }
  const found = all.filter(filter);
  const cursor = query.get("cursor");
  const start = cursor === null ? Number(query.get("skip") ?? 0) : found.findIndex(({ id }) => id === cursor);
  if (start < 0) return refusal(400, "Invalid input.", [{ target: "cursor", message: "is not known" }]);
  const next = found[start + limit];
  const applications = found.slice(start, start + limit).map(show);
  return json(200, { totalResults: found.length, itemsPerPage: limit, ...(next && { nextCursor: next.id }), applications });
}

/** Which applications are wanted; undefined for a filter that the API does not have. */
function filterOf(text: string | null): ((application: StoredApplication) => boolean) | undefined {
  if (text === null) return () => true;
  const parts = /^(id|name|clientID) eq (?:("(?:[^"\\]|\\.)*")|([^\s"]+))$/.exec(text);
  if (!parts) return undefined;
  const [, attribute, quoted, plain] = parts;
  const wanted: unknown = quoted === undefined ? plain : JSON.parse(quoted);
  return ({ id, name, clientId }) => (attribute === "id" ? id : attribute === "name" ? name : clientId) === wanted;
}
