// Public keys as JWKs (RFC 7517) and the JWKS document made of them: algorithms, members, checks.
import { Buffer } from "node:buffer";
import { createHash, type KeyObject } from "node:crypto";
import * as z from "zod";
import type { CertificateChain } from "./certificates.ts";

// Which signature algorithms (RFC 7518, RFC 8037) go with which kind of key, and which keys are strong enough to be published.

/** Every value that a published `alg` can have. */
export const signatureAlgorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"] as const;

export type SignatureAlgorithm = (typeof signatureAlgorithms)[number];

/** The kinds of keys that can be published. */
type KeyType = "RSA" | "P-256" | "P-384" | "P-521" | "Ed25519";

/** RFC 7518, section 3.3: a key of 2048 bits or larger must be used. */
const minRsaBits = 2048;

/** OpenSSL's names of the curves that JWS knows. */
const curves: ReadonlyMap<string | undefined, KeyType> = new Map([
  ["prime256v1", "P-256"],
  ["secp384r1", "P-384"],
  ["secp521r1", "P-521"],
]);

/** For each kind of key the algorithms it can be used with, the usual one first. */
const algorithms: Readonly<Record<KeyType, readonly [SignatureAlgorithm, ...SignatureAlgorithm[]]>> = {
  RSA: ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  "P-256": ["ES256"],
  "P-384": ["ES384"],
  "P-521": ["ES512"],
  Ed25519: ["EdDSA"],
};

/** The kind of a public key, or what is wrong with it. */
export function keyTypeOf(publicKey: KeyObject): KeyType | { readonly unsupported: string } {
  const { asymmetricKeyType, asymmetricKeyDetails } = publicKey;
  if (asymmetricKeyType === "rsa") {
    const bits = asymmetricKeyDetails?.modulusLength ?? 0;
    return bits >= minRsaBits ? "RSA" : { unsupported: `an RSA key of ${bits} bits is too small; ${minRsaBits} bits are the least` };
  }
  if (asymmetricKeyType === "ec") {
    const curve = asymmetricKeyDetails?.namedCurve;
    return curves.get(curve) ?? { unsupported: `the curve ${curve ?? "of the EC key"} is not one of P-256, P-384 and P-521` };
  }
  if (asymmetricKeyType === "ed25519") return "Ed25519";
  return { unsupported: `a key of type ${asymmetricKeyType ?? "unknown"} cannot be published; use RSA, EC or Ed25519` };
}

/** The algorithms that a kind of key can be used with; the first is the default. */
export function algorithmsFor(keyType: KeyType): readonly [SignatureAlgorithm, ...SignatureAlgorithm[]] {
  return algorithms[keyType];
}

/** True if `text` names an algorithm. */
export function isSignatureAlgorithm(text: unknown): text is SignatureAlgorithm {
  return signatureAlgorithms.some((algorithm) => algorithm === text);
}

// A certificate's public key as a JWK (RFC 7517), built member by member so that nothing private can ever be in it.

/** The members that are the key itself. */
type KeyMembers =
  | { readonly kty: "RSA"; readonly n: string; readonly e: string }
  | { readonly kty: "EC"; readonly crv: string; readonly x: string; readonly y: string }
  | { readonly kty: "OKP"; readonly crv: string; readonly x: string };

/** A published key. There is no `key_ops`: it says the same as `use`, and RFC 7517 advises against giving both. */
export type PublicJwk = KeyMembers & {
  readonly use: "sig";
  readonly alg: SignatureAlgorithm;
  readonly kid: string;
  readonly x5c: readonly string[];
  readonly x5t: string;
  readonly "x5t#S256": string;
};

/** How a key gets its `kid`: from the key (RFC 7638), so that it outlives renewals; or from the certificate, as rieset/jwks-operator does it. */
export const keyIdSchemes = ["Thumbprint", "CertificateSHA1"] as const;

export type KeyIdScheme = (typeof keyIdSchemes)[number];

/** The JWK of a chain's leaf. */
export function publicJwkOf(chain: CertificateChain, { kid, alg }: { readonly kid: string; readonly alg: SignatureAlgorithm }): PublicJwk {
  const leaf = Buffer.from(chain.certificates[0], "base64");
  return {
    ...keyMembersOf(chain.publicKey),
    use: "sig",
    alg,
    kid,
    x5c: chain.certificates,
    x5t: createHash("sha1").update(leaf).digest("base64url"),
    "x5t#S256": createHash("sha256").update(leaf).digest("base64url"),
  };
}

/** The `kid` of a chain's leaf. */
export function keyIdOf(chain: CertificateChain, scheme: KeyIdScheme): string {
  if (scheme === "Thumbprint") return thumbprintOf(keyMembersOf(chain.publicKey));
  return createHash("sha1").update(Buffer.from(chain.certificates[0], "base64")).digest("hex").slice(0, 16);
}

/** RFC 7638 with SHA-256: the required members alone, in lexicographic order, without white space. RFC 8037 says which they are for OKP. */
export function thumbprintOf(members: KeyMembers): string {
  return createHash("sha256")
    .update(JSON.stringify(requiredMembers(members)))
    .digest("base64url");
}

function requiredMembers(key: KeyMembers): object {
  if (key.kty === "RSA") return { e: key.e, kty: key.kty, n: key.n };
  if (key.kty === "EC") return { crv: key.crv, kty: key.kty, x: key.x, y: key.y };
  return { crv: key.crv, kty: key.kty, x: key.x };
}

function keyMembersOf(publicKey: KeyObject): KeyMembers {
  const { kty, n, e, crv, x, y } = publicKey.export({ format: "jwk" });
  if (kty === "RSA" && n && e) return { kty, n, e };
  if (kty === "EC" && crv && x && y) return { kty, crv, x, y };
  if (kty === "OKP" && crv && x) return { kty, crv, x };
  throw new Error(`a public key of type ${kty ?? "unknown"} has no JWK form; only RSA, EC and OKP keys should get here`);
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

const base64url = z.string().regex(/^[A-Za-z0-9_-]+$/);

const certified = {
  use: z.literal("sig"),
  alg: z.enum(signatureAlgorithms),
  kid: z.string().min(1),
  x5c: z.array(z.base64().min(1)).min(1),
  x5t: base64url,
  "x5t#S256": base64url,
};

/** Strict: a member that is not named here, such as a private one, makes the JWKS document invalid. */
const publicJwk = z.discriminatedUnion("kty", [
  z.strictObject({ kty: z.literal("RSA"), n: base64url, e: base64url, ...certified }),
  z.strictObject({ kty: z.literal("EC"), crv: z.enum(["P-256", "P-384", "P-521"]), x: base64url, y: base64url, ...certified }),
  z.strictObject({ kty: z.literal("OKP"), crv: z.literal("Ed25519"), x: base64url, ...certified }),
]);

const jwks = z.strictObject({
  keys: z.array(publicJwk).refine((keys) => new Set(keys.map(({ kid }) => kid)).size === keys.length, "two keys have the same kid"),
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

/** A document that somebody published, whatever its entries are. */
const publishedDocument = z.looseObject({ keys: z.array(z.unknown()) });

/** An entry of a document that somebody published, as far as it is needed to go on publishing its key. */
const publishedEntry = z.looseObject({ kid: z.string().min(1), alg: z.string().optional(), x5c: z.array(z.string()).min(1) });

type PublishedEntry = z.infer<typeof publishedEntry>;

/** The entries of a published document that have a `kid` and a certificate; none if the text is no JWKS. Written for any JWKS, not only ours. */
export function entriesOfJwks(text: string): readonly PublishedEntry[] {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return [];
  }
  const { data } = publishedDocument.safeParse(document);
  return (data?.keys ?? []).flatMap((key) => publishedEntry.safeParse(key).data ?? []);
}
