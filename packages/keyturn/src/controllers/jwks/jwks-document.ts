// The JWKS document as text: written, and checked before anything is published.
import { Buffer } from "node:buffer";
import * as z from "zod";
import type { PublicJwk } from "./public-jwk.ts";
import { signatureAlgorithms } from "./signature-algorithm.ts";

/** The API server refuses a ConfigMap whose values together are larger than this. */
export const largestDocumentBytes = 1024 * 1024;

/** Writes the keys as a JWKS, in the order given. Equal keys give equal text. */
export function renderJwks(keys: readonly PublicJwk[]): string {
  return `${JSON.stringify({ keys }, undefined, 2)}\n`;
}

/** What the document takes up in a ConfigMap. */
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

/** Strict: a member that is not named here, such as a private one, makes the document invalid. */
const publicJwk = z.discriminatedUnion("kty", [
  z.strictObject({ kty: z.literal("RSA"), n: base64url, e: base64url, ...certified }),
  z.strictObject({ kty: z.literal("EC"), crv: z.enum(["P-256", "P-384", "P-521"]), x: base64url, y: base64url, ...certified }),
  z.strictObject({ kty: z.literal("OKP"), crv: z.literal("Ed25519"), x: base64url, ...certified }),
]);

const jwks = z.strictObject({
  keys: z.array(publicJwk).refine((keys) => new Set(keys.map(({ kid }) => kid)).size === keys.length, "two keys have the same kid"),
});

/** What is wrong with a document that is about to be published; undefined if nothing is. Never quotes the document. */
export function problemWithJwks(text: string): string | undefined {
  if (jwksSizeBytes(text) > largestDocumentBytes) return `the document is larger than the ${largestDocumentBytes} bytes that fit into a ConfigMap`;
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

export type PublishedEntry = z.infer<typeof publishedEntry>;

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
