// authentication.k8s.io/v1 as Kubernetes publishes it. Written by `node tools/kubernetes-types.ts`: do not edit.
import { defineKind, type KubeObject } from "../../../client/kind.ts";

/** BoundObjectReference is a reference to an object that a token is bound to. */
export interface BoundObjectReference {
  /** apiVersion is API version of the referent. */
  readonly apiVersion?: string;
  /** kind of the referent. Valid kinds are 'Pod' and 'Secret'. */
  readonly kind?: string;
  /** name of the referent. */
  readonly name?: string;
  /** uid of the referent. */
  readonly uid?: string;
}

/** SelfSubjectReview contains the user information that the kube-apiserver has about the user making this request. When using impersonation, users will receive the user info of the user being impersonated.  If impersonation or request header authentication is used, any extra keys will have their case ignored and returned as lowercase. */
export interface SelfSubjectReview extends KubeObject {
  /** status is filled in by the server with the user attributes. */
  readonly status?: SelfSubjectReviewStatus;
}
/** Names selfsubjectreviews of authentication.k8s.io/v1. */
export const SelfSubjectReview = /* @__PURE__ */ defineKind<SelfSubjectReview>({ group: "authentication.k8s.io", version: "v1", kind: "SelfSubjectReview", plural: "selfsubjectreviews", namespaced: false });

/** SelfSubjectReviewStatus is filled by the kube-apiserver and sent back to a user. */
export interface SelfSubjectReviewStatus {
  /** userInfo is a set of attributes belonging to the user making this request. */
  readonly userInfo?: UserInfo;
}

/** TokenRequest requests a token for a given service account. */
export interface TokenRequest extends KubeObject {
  /** spec holds information about the request being evaluated */
  readonly spec?: TokenRequestSpec;
  /** status is filled in by the server and indicates whether the token can be authenticated. */
  readonly status?: TokenRequestStatus;
}

/** TokenRequestSpec contains client provided parameters of a token request. */
export interface TokenRequestSpec {
  /** audiences are the intendend audiences of the token. A recipient of a token must identify themself with an identifier in the list of audiences of the token, and otherwise should reject the token. A token issued for multiple audiences may be used to authenticate against any of the audiences listed but implies a high degree of trust between the target audiences. */
  readonly audiences?: readonly string[];
  /** boundObjectRef is a reference to an object that the token will be bound to. The token will only be valid for as long as the bound object exists. NOTE: The API server's TokenReview endpoint will validate the BoundObjectRef, but other audiences may not. Keep ExpirationSeconds small if you want prompt revocation. */
  readonly boundObjectRef?: BoundObjectReference;
  /** expirationSeconds is the requested duration of validity of the request. The token issuer may return a token with a different validity duration so a client needs to check the 'expiration' field in a response. */
  readonly expirationSeconds?: number;
}

/** TokenRequestStatus is the result of a token request. */
export interface TokenRequestStatus {
  /** expirationTimestamp is the time of expiration of the returned token. */
  readonly expirationTimestamp?: string;
  /** token is the opaque bearer token. */
  readonly token?: string;
}

/** TokenReview attempts to authenticate a token to a known user. Note: TokenReview requests may be cached by the webhook token authenticator plugin in the kube-apiserver. */
export interface TokenReview extends KubeObject {
  /** spec holds information about the request being evaluated */
  readonly spec: TokenReviewSpec;
  /** status is filled in by the server and indicates whether the request can be authenticated. */
  readonly status?: TokenReviewStatus;
}
/** Names tokenreviews of authentication.k8s.io/v1. */
export const TokenReview = /* @__PURE__ */ defineKind<TokenReview>({ group: "authentication.k8s.io", version: "v1", kind: "TokenReview", plural: "tokenreviews", namespaced: false });

/** TokenReviewSpec is a description of the token authentication request. */
export interface TokenReviewSpec {
  /** audiences is a list of the identifiers that the resource server presented with the token identifies as. Audience-aware token authenticators will verify that the token was intended for at least one of the audiences in this list. If no audiences are provided, the audience will default to the audience of the Kubernetes apiserver. */
  readonly audiences?: readonly string[];
  /** token is the opaque bearer token. */
  readonly token: string;
}

/** TokenReviewStatus is the result of the token authentication request. */
export interface TokenReviewStatus {
  /** audiences are audience identifiers chosen by the authenticator that are compatible with both the TokenReview and token. An identifier is any identifier in the intersection of the TokenReviewSpec audiences and the token's audiences. A client of the TokenReview API that sets the spec.audiences field should validate that a compatible audience identifier is returned in the status.audiences field to ensure that the TokenReview server is audience aware. If a TokenReview returns an empty status.audience field where status.authenticated is "true", the token is valid against the audience of the Kubernetes API server. */
  readonly audiences?: readonly string[];
  /** authenticated indicates that the token was associated with a known user. */
  readonly authenticated?: boolean;
  /** error indicates that the token couldn't be checked */
  readonly error?: string;
  /** user is the UserInfo associated with the provided token. */
  readonly user?: UserInfo;
}

/** UserInfo holds the information about the user needed to implement the user.Info interface. */
export interface UserInfo {
  /** extra is any additional information provided by the authenticator. */
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  /** groups is the names of groups this user is a part of. */
  readonly groups?: readonly string[];
  /** uid is a unique value that identifies this user across time. If this user is deleted and another user by the same name is added, they will have different UIDs. */
  readonly uid?: string;
  /** username is the name that uniquely identifies this user among all active users. */
  readonly username?: string;
}
