// The two questions about somebody else's access that the API server answers. Nothing of them is stored.
import { defineKind, type KubeObject } from "@keyturn/runtime";

/** Somebody, as the API server knows them. */
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

/** May they do this? */
export interface SubjectAccessReview extends KubeObject {
  readonly spec: {
    readonly user: string;
    readonly uid?: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
    readonly resourceAttributes: { readonly group: string; readonly resource: string; readonly verb: string; readonly namespace?: string };
  };
  readonly status?: { readonly allowed: boolean };
}
export const SubjectAccessReview = defineKind<SubjectAccessReview>({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SubjectAccessReview",
  plural: "subjectaccessreviews",
  namespaced: false,
});
