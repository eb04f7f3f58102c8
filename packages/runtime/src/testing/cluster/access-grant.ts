// Rights for tests: a ServiceAccount or user that may do exactly what the given rules say.
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod";
import type { PolicyRule } from "../../client/admin-kinds.ts";
import type { Client } from "../../client/client.ts";
import type { KubeObject } from "../../client/object.ts";
import { applyManifests } from "./manifests.ts";

/** A ServiceAccount by name. */
export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

/** Whom the rights are for. */
export type Subject = { readonly serviceAccount: ServiceAccountName } | { readonly user: string; readonly groups?: readonly string[] };

/** Rights of one subject. Granting again replaces what was granted before in the same place. */
export type Grant = Subject & {
  /** In the whole cluster. Default none. */
  readonly rules?: readonly PolicyRule[];
  /** In single namespaces, which are made if need be. Default none. */
  readonly namespacedRules?: Readonly<Record<string, readonly PolicyRule[]>>;
};

/** Makes the roles and bindings, and the ServiceAccount if it is one, and resolves when the API server acts on them. */
export async function grantAccess(client: Client, grant: Grant): Promise<void> {
  const subject = rbacSubject(grant);
  const name = `keyturn-testing:${slugOf(grant)}`;
  const namespaces = Object.entries(grant.namespacedRules ?? {});
  const needed = new Set([...("serviceAccount" in grant ? [grant.serviceAccount.namespace] : []), ...namespaces.map(([namespace]) => namespace)]);
  await applyManifests(client, [
    ...[...needed].map((namespace) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })),
    ...("serviceAccount" in grant ? [{ apiVersion: "v1", kind: "ServiceAccount", metadata: { ...grant.serviceAccount } }] : []),
    ...roleAndBinding("Cluster", { name }, grant.rules ?? [], subject),
    ...namespaces.flatMap(([namespace, rules]) => roleAndBinding("", { name, namespace }, rules, subject)),
  ]);
  await Promise.all([
    ...(grant.rules ?? []).map((rule) => inForce(client, grant, rule)),
    ...namespaces.flatMap(([namespace, rules]) => rules.map((rule) => inForce(client, grant, rule, namespace))),
  ]);
}

/** A word for the subject that can stand in file and object names. */
export function slugOf(subject: Subject): string {
  const parts = "serviceAccount" in subject ? [subject.serviceAccount.namespace, subject.serviceAccount.name] : [subject.user];
  return parts.join("-").replaceAll(/[^A-Za-z0-9.-]/g, "-");
}

function rbacSubject(subject: Subject): object {
  if ("serviceAccount" in subject) return { kind: "ServiceAccount", ...subject.serviceAccount };
  return { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: subject.user };
}

function roleAndBinding(
  scope: "Cluster" | "",
  metadata: { readonly name: string; readonly namespace?: string },
  rules: readonly PolicyRule[],
  subject: object,
): (KubeObject & Readonly<Record<string, unknown>>)[] {
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: `${scope}Role`, name: metadata.name };
  return [
    { apiVersion, kind: `${scope}Role`, metadata, rules },
    { apiVersion, kind: `${scope}RoleBinding`, metadata, roleRef, subjects: [subject] },
  ];
}

const reviewSchema = z.object({ status: z.object({ allowed: z.boolean() }) });

/** The API server learns of roles and bindings through watches of its own, so a grant takes effect a moment after it is stored. */
async function inForce(client: Client, subject: Subject, rule: PolicyRule, namespace?: string): Promise<void> {
  const body = JSON.stringify({
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { ...reviewedUser(subject), ...reviewedRequest(rule, namespace) },
  });
  const review = {
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    headers: { "content-type": "application/json" },
    body,
  } as const;
  while (!reviewSchema.parse(await client.request(review)).status.allowed) await delay(10);
}

function reviewedUser(subject: Subject): object {
  if (!("serviceAccount" in subject)) return { user: subject.user, groups: subject.groups ?? [] };
  const { namespace, name } = subject.serviceAccount;
  return {
    user: `system:serviceaccount:${namespace}:${name}`,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
  };
}

function reviewedRequest(rule: PolicyRule, namespace?: string): object {
  const [verb] = rule.verbs;
  const [path] = rule.nonResourceURLs ?? [];
  if (path !== undefined) return { nonResourceAttributes: { verb, path } };
  const [resource, subresource] = rule.resources?.[0]?.split("/") ?? [];
  const [group] = rule.apiGroups ?? [];
  const [name] = rule.resourceNames ?? [];
  return { resourceAttributes: { verb, group, resource, subresource, name, namespace } };
}
