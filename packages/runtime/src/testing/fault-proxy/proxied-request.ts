// A request on its way through the fault proxy, and which requests a fault is about.
import type { IncomingHttpHeaders } from "node:http";

/** A request as the proxy got it. */
export interface ProxiedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The whole body; requests to an API server are small. */
  readonly body: Buffer;
  readonly isWatch: boolean;
  /** POST, PUT, PATCH or DELETE. Reviews of rights and tokens count as writes too, by their method. */
  readonly isWrite: boolean;
}

/** Selects requests: all given parts must fit; an empty match selects every request. */
export interface RequestMatch {
  readonly method?: string | readonly string[];
  /** Tested against path and query. */
  readonly path?: RegExp;
  /** True for watches only, false for anything else. */
  readonly watch?: boolean;
  /** True for writes only, false for reads. */
  readonly write?: boolean;
}

/** What is known of a request without its body. */
export type RequestLine = Pick<ProxiedRequest, "method" | "path" | "isWatch" | "isWrite">;

/** Whether `request` is one of those that `match` selects. */
export function matches({ method, path, watch, write }: RequestMatch, request: RequestLine): boolean {
  return (
    (method === undefined || [method].flat().includes(request.method)) &&
    (path === undefined || path.test(request.path)) &&
    (watch === undefined || watch === request.isWatch) &&
    (write === undefined || write === request.isWrite)
  );
}

/** Reads the first line of a request. */
export function requestLine(method: string, path: string): RequestLine & Pick<ProxiedRequest, "query"> {
  const query = new URL(path, "https://proxy").searchParams;
  const isWatch = method === "GET" && ["true", "1"].includes(query.get("watch") ?? "");
  return { method, path, query, isWatch, isWrite: ["POST", "PUT", "PATCH", "DELETE"].includes(method) };
}
