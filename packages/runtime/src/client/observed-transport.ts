// A transport that reports every request, for metrics, and measures how far the server's clock is from ours.
import type { Clock } from "../clock.ts";
import { LruMap } from "../collections.ts";
import type { Transport, TransportRequest } from "./transport.ts";
import { runtimeLimits } from "../limits.ts";

/** A request that was answered, or could not be. */
export interface RequestObservation {
  readonly method: TransportRequest["method"];
  /** `plural.group`; empty for paths that are no resource. */
  readonly resource: string;
  readonly verb: string;
  /** The HTTP status; undefined if there was no answer. */
  readonly status: number | undefined;
  /** From sending to the response's headers. */
  readonly durationMs: number;
}

/** What to report to, and by which clock. */
interface ObserveOptions {
  readonly clock: Clock;
  readonly onRequest: (observation: RequestObservation) => void;
}

/** Sends through `transport` and reports each request once, when its headers are there or it has failed. */
export function observeTransport(transport: Transport, { clock, onRequest }: ObserveOptions): Transport {
  return {
    async send(request, signal) {
      const { verb, resource } = requestInfoOf(request.method, request.path);
      const startMs = clock.monotonic();
      const report = (status: number | undefined): void =>
        onRequest({ method: request.method, resource, verb, status, durationMs: clock.monotonic() - startMs });
      try {
        const response = await transport.send(request, signal);
        report(response.status);
        return response;
      } catch (error) {
        report(undefined);
        throw error;
      }
    },
    close: () => transport.close(),
  };
}

// What the API server warns of: fields that it does not know, versions that go.

/** A warning, in words that may be shown. */
interface ServerWarning {
  /** `patch deployments.apps`. */
  readonly request: string;
  readonly text: string;
}

/** What the API server itself warns of, as of 1.36, with nothing of an object but field names. Policies and webhooks warn in words of their own, which can quote values. */
const ownWarnings = new RegExp(
  `^(?:${[
    String.raw`(?:unknown|duplicate) field "[\w.$[\]-]{1,160}"$`,
    String.raw`[\w./-]{1,253} \w{1,63} is deprecated in v[\d.]{1,9}\+(?:, unavailable in v[\d.]{1,9}\+)?(?:; use [\w./-]{1,253} \w{1,63})?$`,
    String.raw`[a-z][\w.[\]-]{0,160}: deprecated (?:since|in) v[\d.]{1,9}`,
    String.raw`would violate PodSecurity "[\w.:-]{1,60}"`,
    String.raw`metadata\.finalizers: "[\w./-]{1,253}": prefer a domain-qualified finalizer name`,
  ].join("|")})`,
);

/** How many warnings are remembered as said. */
const maxWarnings = 256;

/** Sends through `transport` and tells of each sort of warning once. */
export function observeWarnings(transport: Transport, onWarning: (warning: ServerWarning) => void): Transport {
  const said = new LruMap<string, true>(maxWarnings);
  return {
    async send(request, signal) {
      const response = await transport.send(request, signal);
      const header = response.headers["warning"];
      if (header === undefined) return response;
      const { verb, resource } = requestInfoOf(request.method, request.path);
      for (const [, quoted = ""] of header.slice(0, runtimeLimits.refusalWords).matchAll(/\b299 \S{1,100} "((?:[^"\\]|\\.)*)"/g)) {
        const text =
          ownWarnings.exec(quoted.replaceAll(/\\(.)/g, "$1"))?.[0] ??
          "a policy or webhook warns, in words that are withheld, for they may quote a secret";
        const warning = { request: `${verb} ${resource}`, text };
        const name = `${warning.request} ${text}`;
        if (!said.get(name)) onWarning(warning);
        said.set(name, true);
      }
      return response;
    },
    close: () => transport.close(),
  };
}

// How far the API server's clock is from ours, from the Date header of its responses.

/** What is known about the API server's clock. */
export interface ServerClock {
  /**
   * By how many milliseconds the server's clock is ahead of ours (negative: behind), as of its last answer; undefined before the first.
   * The header has whole seconds and the answer was under way: it is the least difference that explains the header, so clocks that agree give 0.
   * A clock of ours that was set since then is seen at once, by the one that cannot be set.
   */
  aheadMs(): number | undefined;
}

/** The header's resolution. */
const headerStepMs = 1000;

/** Sends through `transport` and reads the time of every answer. */
export function observeServerClock(transport: Transport, clock: Clock): { readonly transport: Transport; readonly serverClock: ServerClock } {
  let measured: { readonly aheadMs: number; readonly offsetMs: number } | undefined;
  /** Stays the same for as long as nobody sets the clock. */
  const offset = (): number => clock.now() - clock.monotonic();
  return {
    serverClock: {
      aheadMs() {
        if (!measured) return undefined;
        const setByMs = offset() - measured.offsetMs;
        return Math.abs(setByMs) < headerStepMs ? measured.aheadMs : measured.aheadMs - Math.round(setByMs);
      },
    },
    transport: {
      async send(request, signal) {
        const sentMs = clock.now();
        const response = await transport.send(request, signal);
        const dateMs = Date.parse(response.headers["date"] ?? "");
        if (!Number.isNaN(dateMs)) measured = { aheadMs: minDifference(dateMs, { sentMs, receivedMs: clock.now() }), offsetMs: offset() };
        return response;
      },
      close: () => transport.close(),
    },
  };
}

/** The server wrote `dateMs` at some moment of that second, which was after we sent and before we received. */
function minDifference(dateMs: number, { sentMs, receivedMs }: { readonly sentMs: number; readonly receivedMs: number }): number {
  const minMs = dateMs - receivedMs;
  const maxMs = dateMs + headerStepMs - sentMs;
  if (minMs > 0) return minMs;
  return maxMs < 0 ? maxMs : 0;
}

// What a request to the API server is about, read off its method and path: for metrics, and for naming the right that is missing.

/** A request in the words of RBAC. */
interface RequestInfo {
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
