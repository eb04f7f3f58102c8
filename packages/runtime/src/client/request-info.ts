// What a request to the API server is about, read off its method and path: for metrics, and for naming the right that is missing.

/** A request in the words of RBAC. */
export interface RequestInfo {
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; for other paths the method in lower case. */
  readonly verb: string;
  /** `plural.group`, or the plural alone in the core group; empty for paths that are no resource. */
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

const objectVerbs: Readonly<Record<string, string>> = { GET: "get", POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" };
const collectionVerbs: Readonly<Record<string, string>> = { GET: "list", POST: "create", DELETE: "deletecollection" };

/** Reads a request as the API server does. Never throws: what is no resource path has an empty `resource`. */
export function requestInfoOf(method: string, path: string): RequestInfo {
  const [pathname = "", query = ""] = path.split("?", 2);
  const parts = pathname.split("/").filter((part) => part !== "");
  const core = parts[0] === "api" && parts.length >= 3;
  const grouped = parts[0] === "apis" && parts.length >= 4;
  if (!core && !grouped) return { verb: method.toLowerCase(), resource: "" };
  const group = core ? "" : (parts[1] ?? "");
  let rest = parts.slice(core ? 2 : 3);
  let namespace: string | undefined;
  // `namespaces/x` alone, and its subresources, are about the namespace itself.
  if (rest[0] === "namespaces" && rest.length >= 3 && rest[2] !== "status" && rest[2] !== "finalize") {
    namespace = decode(rest[1]);
    rest = rest.slice(2);
  }
  const [plural = "", rawName, subresource] = rest;
  const name = decode(rawName);
  const watch = method === "GET" && name === undefined && /^(1|true)$/.test(new URLSearchParams(query).get("watch") ?? "");
  const verbs = name === undefined ? collectionVerbs : objectVerbs;
  return {
    verb: watch ? "watch" : (verbs[method] ?? method.toLowerCase()),
    resource: group === "" ? plural : `${plural}.${group}`,
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
    ...(subresource !== undefined && { subresource }),
  };
}

function decode(part: string | undefined): string | undefined {
  if (part === undefined) return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
