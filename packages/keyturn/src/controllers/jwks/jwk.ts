// Public keys as JWKs (RFC 7517), the JWKS document made of them, and the OpenID discovery document that leads to it.
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import * as z from "zod";
import {
  type CertificateChain,
  certificateKeyId,
  type KeyMembers,
  type SignatureAlgorithm,
  signatureAlgorithms,
  thumbprintOf,
} from "../../public-key.ts";

// An entry of a document, built member by member so that nothing private can ever be in it.

/**
 * A published key. There is no `key_ops`: it says the same as `use`, and RFC 7517 advises against giving both. Only entries of documents that were
 * taken over can be without `alg`, and only those and plain public keys without a certificate.
 */
export type PublicJwk = KeyMembers & {
  readonly use: "sig";
  readonly alg?: string;
  readonly kid: string;
  readonly x5c?: readonly [string, ...string[]];
  readonly x5t?: string;
  readonly "x5t#S256"?: string;
};

/** A public key with all that is said of it: its JWK, and what identifies the key itself, whatever it is called. */
export interface KeyEntry {
  readonly jwk: PublicJwk;
  /** RFC 7638. */
  readonly thumbprint: string;
  /** When its certificate expires, if it has one. */
  readonly notAfterMs: number | undefined;
}

/** How a key gets its `kid`: from the key (RFC 7638), so that it outlives renewals; or from the certificate, as rieset/jwks-operator does it. */
export const keyIdSchemes = ["Thumbprint", "CertificateSHA1"] as const;

export type KeyIdScheme = (typeof keyIdSchemes)[number];

/** Which entry of a document this is: one key can be there under several `kid`s, and with several algorithms, and documents of others may call two keys the same. */
export function entryId({
  jwk: { kid, alg = "" },
  thumbprint,
}: {
  readonly jwk: Pick<PublicJwk, "kid" | "alg">;
  readonly thumbprint: string;
}): string {
  return `${kid} ${alg} ${thumbprint}`;
}

/** The entry of a chain's leaf. */
export function certifiedEntry(chain: CertificateChain, { kid, alg }: { readonly kid: string; readonly alg: string | undefined }): KeyEntry {
  const { certificates, members, thumbprint, notAfterMs } = chain;
  const leaf = Buffer.from(certificates[0], "base64");
  const jwk: PublicJwk = {
    ...members,
    use: "sig",
    ...(alg !== undefined && { alg }),
    kid,
    x5c: certificates,
    x5t: createHash("sha1").update(leaf).digest("base64url"),
    "x5t#S256": createHash("sha256").update(leaf).digest("base64url"),
  };
  return { jwk, thumbprint, notAfterMs };
}

/** The entry of a key without a certificate. */
export function plainEntry(members: KeyMembers, { kid, alg }: { readonly kid: string; readonly alg: string | undefined }): KeyEntry {
  return { jwk: { ...members, use: "sig", ...(alg !== undefined && { alg }), kid }, thumbprint: thumbprintOf(members), notAfterMs: undefined };
}

/** The `kid` of a chain's leaf. */
export function keyIdOf(chain: CertificateChain, scheme: KeyIdScheme): string {
  if (scheme === "Thumbprint") return chain.thumbprint;
  return certificateKeyId(chain);
}

// The JWKS document as text: written, and checked before anything is published.

/** The API server refuses a ConfigMap whose values together are larger than this. */
export const maxDocumentBytes = 1024 * 1024;

/** Writes the keys as a JWKS, in the order given. Equal keys give equal text. */
export function renderJwks(keys: readonly PublicJwk[]): string {
  return `${JSON.stringify({ keys }, undefined, 2)}\n`;
}

/** What the JWKS document takes up in a ConfigMap. */
export function jwksSizeBytes(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

/** How JWKs write bytes. */
export const base64url = z.string().regex(/^[A-Za-z0-9_-]+$/);

/** What else a document that was taken over may give as `alg`. */
export const publishedAlgorithms = [...signatureAlgorithms, "ES256K", "Ed448"] as const;

const described = {
  use: z.literal("sig"),
  alg: z.enum(publishedAlgorithms).optional(),
  kid: z.string().min(1),
  x5c: z.array(z.base64().min(1)).min(1).optional(),
  x5t: base64url.optional(),
  "x5t#S256": base64url.optional(),
};

/** The curves that Keyturn publishes by itself, and those that it keeps in documents that it took over. */
export const ecCurves = ["P-256", "P-384", "P-521", "secp256k1"] as const;
export const edwardsCurves = ["Ed25519", "Ed448"] as const;

/** Strict: a member that is not named here, such as a private one, makes the JWKS document invalid. */
const publicJwk = z.discriminatedUnion("kty", [
  z.strictObject({ kty: z.literal("RSA"), n: base64url, e: base64url, ...described }),
  z.strictObject({ kty: z.literal("EC"), crv: z.enum(ecCurves), x: base64url, y: base64url, ...described }),
  z.strictObject({ kty: z.literal("OKP"), crv: z.enum(edwardsCurves), x: base64url, ...described }),
]);

const jwks = z.strictObject({
  keys: z
    .array(publicJwk)
    .refine(
      (keys) => new Set(keys.map(({ kid, alg = "", ...key }) => entryId({ jwk: { kid, alg }, thumbprint: thumbprintOf(key) }))).size === keys.length,
      "a key is there twice with the same kid and alg",
    ),
});

/** What is wrong with a document that is about to be published; undefined if nothing is. Never quotes the JWKS document. */
export function problemWithJwks(text: string): string | undefined {
  if (jwksSizeBytes(text) > maxDocumentBytes) return `the document is larger than the ${maxDocumentBytes} bytes that fit into a ConfigMap`;
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return "the document is not JSON";
  }
  const { error } = jwks.safeParse(document);
  const issue = error?.issues[0];
  return issue && `the document is not a JWKS: ${issue.path.join(".") || "the whole"}: ${issue.message}`;
}

/** The algorithm that a key is published with, or undefined if it cannot be used with the one that was asked for. */
export function algorithmFor(
  { kind, algorithms }: { readonly kind: string; readonly algorithms: readonly [SignatureAlgorithm, ...SignatureAlgorithm[]] },
  { algorithm, rsaAlgorithm }: { readonly algorithm: SignatureAlgorithm | undefined; readonly rsaAlgorithm: SignatureAlgorithm },
): SignatureAlgorithm | undefined {
  const wanted = algorithm ?? (kind === "RSA" ? rsaAlgorithm : algorithms[0]);
  return algorithms.find((possible) => possible === wanted);
}

// The OpenID discovery document: how relying parties that know an issuer's address find its keys.

/** The key within the published ConfigMap, and the file that nginx serves. */
export const discoveryFile = "openid-configuration.json";

/** Where discovery looks for the document (OpenID Connect Discovery 1.0, section 4), below an issuer's own path. */
export const discoveryPath = "/.well-known/openid-configuration";

/** The discovery document for an issuer with these keys, by file name; nothing without an issuer. It has what the specification requires of an issuer that only signs tokens. */
export function discoveryFiles(issuer: string | undefined, keys: readonly Pick<KeyEntry, "jwk">[]): Readonly<Record<string, string>> {
  if (issuer === undefined) return {};
  const document = {
    issuer,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [...new Set(keys.flatMap(({ jwk: { alg = [] } }) => alg))].toSorted(),
  };
  return { [discoveryFile]: `${JSON.stringify(document, undefined, 2)}\n` };
}
