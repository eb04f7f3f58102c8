// Asks the API server which declared rights this process does not have, and says so in words.
import { SelfSubjectAccessReview } from "../client/admin-kinds.ts";
import type { Client } from "../client/client.ts";
import type { AccessRule, Verb } from "../controller/access.ts";

/** One right: a single verb in a single place. */
export interface SingleRight {
  readonly rule: AccessRule;
  readonly verb: Verb;
  /** Absent for the whole cluster. */
  readonly namespace?: string;
  readonly name?: string;
}

/** A right in words: `patch configmaps in namespace shop`, `list secrets in the cluster`. */
export function rightInWords({ rule, verb, namespace, name }: SingleRight): string {
  const { kind, subresource } = rule;
  const resource = `${kind.plural}${kind.group === "" ? "" : `.${kind.group}`}${subresource ? `/${subresource}` : ""}`;
  return `${verb} ${resource}${name ? ` named ${name}` : ""} ${namespace ? `in namespace ${namespace}` : "in the cluster"}`;
}

/** Splits rules into the rights to ask for, one by one. */
export function singleRights(rules: readonly AccessRule[], namespaces: readonly string[] = []): readonly SingleRight[] {
  return rules.flatMap((rule) => {
    const limits = rule.namespace === undefined ? namespaces : [rule.namespace];
    const places = rule.kind.namespaced && limits.length > 0 ? limits.map((namespace) => ({ namespace })) : [{}];
    const names = rule.resourceNames ? rule.resourceNames.map((name) => ({ name })) : [{}];
    return places.flatMap((place) => names.flatMap((name) => rule.verbs.map((verb) => ({ rule, verb, ...place, ...name }))));
  });
}

/** Questions on the way at the same time: enough to be quick, few enough to be fair to the API server. */
const questionsAtOnce = 8;

/** The declared rights that this process lacks, in the order of their declaration. Rejects as `Client.create` does when the API server cannot be asked. */
export async function missingAccess(
  client: Client,
  rules: readonly AccessRule[],
  options: { readonly namespaces?: readonly string[]; readonly signal?: AbortSignal } = {},
): Promise<readonly SingleRight[]> {
  const rights = singleRights(rules, options.namespaces);
  const missing: SingleRight[] = [];
  for (let start = 0; start < rights.length; start += questionsAtOnce) {
    const batch = rights.slice(start, start + questionsAtOnce);
    const answers = await Promise.all(batch.map((right) => isAllowed(client, right, options.signal)));
    missing.push(...batch.filter((_, index) => !answers[index]));
  }
  return missing;
}

async function isAllowed(client: Client, { rule, verb, namespace, name }: SingleRight, signal?: AbortSignal): Promise<boolean> {
  const resourceAttributes = {
    group: rule.kind.group,
    resource: rule.kind.plural,
    verb,
    ...(rule.subresource && { subresource: rule.subresource }),
    ...(namespace && { namespace }),
    ...(name && { name }),
  };
  const review = await client.create(SelfSubjectAccessReview, { metadata: {}, spec: { resourceAttributes } }, {}, signal);
  return review.status?.allowed === true;
}
