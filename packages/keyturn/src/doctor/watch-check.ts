// Can the watches that the controllers need be opened, and in which way?
import { type AccessRule, collectionPath, type TransportResponse } from "@keyturn/runtime";
import type { Examination } from "./examination.ts";
import { fail, type Finding, ok, warn } from "./finding.ts";

/** What became of one attempt. */
interface Attempt {
  readonly resource: string;
  readonly status: number;
}

/** Opens every watch once and closes it again. Tried with one's own rights. */
export async function checkWatches(examination: Examination): Promise<readonly Finding[]> {
  const rules = examination.access.filter(({ verbs }) => verbs.includes("watch"));
  const watched = [...new Map(rules.map((rule) => [`${rule.kind.plural}.${rule.kind.group}`, rule])).values()];
  const attempts = await Promise.all(watched.map((rule) => attempt(rule, examination)));
  return [...watchFindings(attempts), await watchListFinding(examination)];
}

/** Judges the attempts. */
export function watchFindings(attempts: readonly Attempt[]): readonly Finding[] {
  const named = (matches: (status: number) => boolean): readonly string[] =>
    attempts.filter(({ status }) => matches(status)).map(({ resource }) => resource);
  const open = named((status) => status === 200);
  const forbidden = named((status) => status === 403);
  const missing = named((status) => status === 404);
  const failing = attempts.filter(({ status }) => ![200, 403, 404].includes(status));
  return [
    ...(open.length > 0 ? [ok("watches", `${open.length} of ${attempts.length} watches were opened`)] : []),
    ...(forbidden.length > 0
      ? [
          warn(
            "watches",
            `you may not watch ${forbidden.join(", ")}, so it was not tried`,
            "see the findings about rights; run doctor as somebody who may",
          ),
        ]
      : []),
    ...(missing.length > 0
      ? [warn("watches", `the API server does not serve ${missing.join(", ")}`, "see the findings about kinds; what is optional can be left out")]
      : []),
    ...failing.map(({ resource, status }) =>
      fail("watches", `a watch of ${resource} was answered with ${status}`, "see the log of kube-apiserver; the operator tries again until it works"),
    ),
  ];
}

async function attempt({ kind, namespace }: AccessRule, examination: Examination): Promise<Attempt> {
  const { group, plural, namespaced } = kind;
  const place = namespaced ? (namespace ?? examination.namespaces[0]) : undefined;
  // A rule needs no version, and a request does; rules are declared with whole kinds, which have one.
  const version = "version" in kind ? String(kind.version) : "v1";
  const path = collectionPath({ group, plural, namespaced, version, kind: "" }, place);
  const { status } = await opened(`${path}?watch=1&timeoutSeconds=1&resourceVersion=0`, examination);
  return { resource: group === "" ? plural : `${plural}.${group}`, status };
}

/** Lists by watching, where the server can; elsewhere lists are paged, which costs it more. */
async function watchListFinding(examination: Examination): Promise<Finding> {
  const query = "watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  const { status } = await opened(`/api/v1/namespaces?${query}&fieldSelector=metadata.name%3Ddefault`, examination);
  if (status === 200) return ok("watch list", "the API server can list by watching");
  if (status === 403) return ok("watch list", "not tried: you may not watch namespaces");
  return ok("watch list", "the API server cannot list by watching; lists are paged instead, which costs it more memory");
}

/** Sends the request, and takes no more than the headers of its answer. */
async function opened(path: string, { transport, signal }: Examination): Promise<Pick<TransportResponse, "status">> {
  const stop = new AbortController();
  try {
    return await transport.send({ method: "GET", path, lane: "watch" }, AbortSignal.any([signal, stop.signal]));
  } finally {
    stop.abort();
  }
}
