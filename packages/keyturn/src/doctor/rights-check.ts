// Are all declared rights granted, and can the watches be opened that the controllers need?
import {
  type AccessRule,
  type AccessSubject,
  collectionPath,
  missingAccess,
  rightInWords,
  type SingleRight,
  singleRights,
  type TransportResponse,
} from "@keyturn/runtime";
import type { CheckContext } from "./doctor.ts";
import { fail, type Finding, ok, warn } from "../feature/feature.ts";

// Are all declared rights granted: one's own, or those of the operator's ServiceAccount?

/** As many as are named one by one. */
const maxNamed = 12;

/** Asks the API server about every declared right. */
export async function checkRights({ client, access, namespaces, serviceAccount, signal }: CheckContext): Promise<readonly Finding[]> {
  const who = serviceAccount ? `ServiceAccount ${serviceAccount.namespace}/${serviceAccount.name}` : "you";
  const missing = await missingAccess(client, access, { namespaces, signal, ...(serviceAccount && { as: serviceAccountUser(serviceAccount) }) });
  const total = singleRights(access, namespaces).length;
  if (missing.length === 0) return [ok("rights", `${who} ${serviceAccount ? "has" : "have"} all ${total} rights that the controllers need`)];
  const todo = serviceAccount
    ? `apply what \`keyturn rbac --namespace=${serviceAccount.namespace} --service-account=${serviceAccount.name}\` prints, with the operator's own --controllers and --namespaces`
    : "these are your own rights; for those of the operator, say --as-service-account NAMESPACE/NAME";
  const lines = [...Map.groupBy(missing, ({ rule, namespace, name }) => JSON.stringify([rule, namespace, name])).values()].map((together) => {
    const [first] = together;
    return first ? `${who} may not ${together.map(({ verb }) => verb).join(", ")} ${objectInWords(first)}: needed ${first.rule.why}` : "";
  });
  const findings = lines.slice(0, maxNamed).map((line) => fail("rights", line, todo));
  const rest = lines.length - findings.length;
  return rest > 0
    ? [...findings, fail("rights", `and ${rest} more lines like these; ${missing.length} of ${total} rights are missing`, todo)]
    : findings;
}

/** What a right is about, without its verb. */
function objectInWords(right: SingleRight): string {
  return rightInWords(right).slice(right.verb.length + 1);
}

/** How the API server knows a ServiceAccount. */
function serviceAccountUser({ namespace, name }: { readonly namespace: string; readonly name: string }): AccessSubject {
  return {
    user: `system:serviceaccount:${namespace}:${name}`,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
  };
}

// Can the watches that the controllers need be opened, and in which way?

/** What became of one attempt. */
interface Attempt {
  readonly resource: string;
  readonly status: number;
}

/** Opens every watch once and closes it again. Tried with one's own rights. */
export async function checkWatches(context: CheckContext): Promise<readonly Finding[]> {
  const rules = context.access.filter(({ verbs }) => verbs.includes("watch"));
  const watched = [...new Map(rules.map((rule) => [`${rule.kind.plural}.${rule.kind.group}`, rule])).values()];
  const attempts = await Promise.all(watched.map((rule) => attempt(rule, context)));
  return [...watchFindings(attempts), await watchListFinding(context)];
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

async function attempt({ kind, namespace }: AccessRule, context: CheckContext): Promise<Attempt> {
  const { group, plural, namespaced } = kind;
  const place = namespaced ? (namespace ?? context.namespaces[0]) : undefined;
  // A rule needs no version, and a request does; rules are declared with whole kinds, which have one.
  const version = "version" in kind ? String(kind.version) : "v1";
  const path = collectionPath({ group, plural, namespaced, version, kind: "" }, place);
  const { status } = await opened(`${path}?watch=1&timeoutSeconds=1&resourceVersion=0`, context);
  return { resource: group === "" ? plural : `${plural}.${group}`, status };
}

/** Lists by watching, where the server can; elsewhere lists are paged, which costs it more. */
async function watchListFinding(context: CheckContext): Promise<Finding> {
  const query = "watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  const { status } = await opened(`/api/v1/namespaces?${query}&fieldSelector=metadata.name%3Ddefault`, context);
  if (status === 200) return ok("watch list", "the API server can list by watching");
  if (status === 403) return ok("watch list", "not tried: you may not watch namespaces");
  return ok("watch list", "the API server cannot list by watching; lists are paged instead, which costs it more memory");
}

/** Sends the request, and takes no more than the headers of its answer. */
async function opened(path: string, { transport, signal }: CheckContext): Promise<Pick<TransportResponse, "status">> {
  const stop = new AbortController();
  try {
    return await transport.send({ method: "GET", path, lane: "watch" }, AbortSignal.any([signal, stop.signal]));
  } finally {
    stop.abort();
  }
}
