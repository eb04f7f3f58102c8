// Asks the API server which declared rights this process, or somebody else, does not have, and says so in words.
import { SelfSubjectAccessReview } from "../client/builtin-kinds.ts";
import type { Client } from "../client/client.ts";
import { SubjectAccessReview } from "../client/reviews.ts";
import type { AccessRule, Verb } from "../controller/controller.ts";

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

/** Splits rules into the rights to ask for, one by one. What several rules ask for comes once, as the first of them has it. */
export function singleRights(rules: readonly AccessRule[], namespaces: readonly string[] = []): readonly SingleRight[] {
  const rights = rules.flatMap((rule) => {
    const limits = rule.namespace === undefined ? namespaces : [rule.namespace];
    const places = rule.kind.namespaced && limits.length > 0 ? limits.map((namespace) => ({ namespace })) : [{}];
    const names = rule.resourceNames ? rule.resourceNames.map((name) => ({ name })) : [{}];
    return places.flatMap((place) => names.flatMap((name) => rule.verbs.map((verb): SingleRight => ({ rule, verb, ...place, ...name }))));
  });
  const once = new Map<string, SingleRight>();
  for (const right of rights) if (!once.has(rightInWords(right))) once.set(rightInWords(right), right);
  return [...once.values()];
}

/** Somebody, as the API server knows them: for a ServiceAccount, `system:serviceaccount:NAMESPACE:NAME` and its groups. */
export interface AccessSubject {
  readonly user: string;
  readonly groups: readonly string[];
}

/** Questions on the way at the same time: enough to be quick, few enough to be fair to the API server. */
const questionsAtOnce = 8;

/** The declared rights that this process, or the subject in `as`, lacks, in the order of their declaration. Rejects as `Client.create` does when the API server cannot be asked. */
export async function missingAccess(
  client: Client,
  rules: readonly AccessRule[],
  options: { readonly namespaces?: readonly string[]; readonly signal?: AbortSignal; readonly as?: AccessSubject } = {},
): Promise<readonly SingleRight[]> {
  const rights = singleRights(rules, options.namespaces);
  const missing: SingleRight[] = [];
  for (let start = 0; start < rights.length; start += questionsAtOnce) {
    const batch = rights.slice(start, start + questionsAtOnce);
    const answers = await Promise.all(batch.map((right) => isAllowed(client, right, options)));
    missing.push(...batch.filter((_, index) => !answers[index]));
  }
  return missing;
}

async function isAllowed(
  client: Client,
  { rule, verb, namespace, name }: SingleRight,
  { signal, as }: { readonly signal?: AbortSignal; readonly as?: AccessSubject },
): Promise<boolean> {
  const resourceAttributes = {
    group: rule.kind.group,
    resource: rule.kind.plural,
    verb,
    ...(rule.subresource && { subresource: rule.subresource }),
    ...(namespace && { namespace }),
    ...(name && { name }),
  };
  const review = as
    ? await client.create(SubjectAccessReview, { metadata: {}, spec: { ...as, resourceAttributes } }, {}, signal)
    : await client.create(SelfSubjectAccessReview, { metadata: {}, spec: { resourceAttributes } }, {}, signal);
  return review.status?.allowed === true;
}
