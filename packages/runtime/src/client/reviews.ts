// The questions about somebody else's access that the API server answers. Nothing of them is stored.
import type { Client } from "./client.ts";
import { defineKind, type KubeObject } from "./kind.ts";
import { runtimeLimits } from "../limits.ts";

/** Somebody, as the API server knows them: for a ServiceAccount, `system:serviceaccount:NAMESPACE:NAME` and its groups. */
export interface ReviewedUser {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Whose token is this? */
export interface TokenReview extends KubeObject {
  readonly spec: { readonly token: string };
  readonly status?: { readonly authenticated?: boolean; readonly user?: ReviewedUser };
}
export const TokenReview = defineKind<TokenReview>({
  group: "authentication.k8s.io",
  version: "v1",
  kind: "TokenReview",
  plural: "tokenreviews",
  namespaced: false,
});

/** What somebody wants to do: something with objects, or with a path that belongs to none, such as `/metrics`. */
export type AskedRight =
  | {
      readonly resourceAttributes: {
        readonly group: string;
        readonly resource: string;
        readonly subresource?: string;
        readonly verb: string;
        readonly namespace?: string;
        readonly name?: string;
      };
    }
  | { readonly nonResourceAttributes: { readonly path: string; readonly verb: string } };

/** May they do this? */
export interface SubjectAccessReview extends KubeObject {
  readonly spec: AskedRight & Omit<ReviewedUser, "username"> & { readonly user: string };
  readonly status?: { readonly allowed: boolean };
}
export const SubjectAccessReview = defineKind<SubjectAccessReview>({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SubjectAccessReview",
  plural: "subjectaccessreviews",
  namespaced: false,
});

/** The token in a request's `Authorization` header; undefined if it is not a bearer's. */
export function bearerToken(authorization = ""): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1];
}

/** Whose token this is; undefined for one that is not good, or no longer. Rejects as `Client.create` does. */
export async function ownerOfToken(client: Client, token: string, signal?: AbortSignal): Promise<ReviewedUser | undefined> {
  if (token.length > runtimeLimits.bearerToken) return undefined;
  const { status } = await client.create(TokenReview, { metadata: {}, spec: { token } }, {}, signal);
  return status?.authenticated ? status.user : undefined;
}

/** Whether they may do this. Rejects as `Client.create` does. */
export async function isAllowedTo(client: Client, { username, ...rest }: ReviewedUser, right: AskedRight, signal?: AbortSignal): Promise<boolean> {
  const review: SubjectAccessReview = { metadata: {}, spec: { user: username, ...rest, ...right } };
  return (await client.create(SubjectAccessReview, review, {}, signal)).status?.allowed === true;
}
