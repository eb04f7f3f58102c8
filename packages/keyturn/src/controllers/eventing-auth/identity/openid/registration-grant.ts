// The right to manage one registered client (RFC 7592), as it is kept between requests.
import { createHash } from "node:crypto";
import * as z from "zod";

/** What is kept. Whoever has it can read, change and delete the client. */
export interface RegistrationGrant {
  /** The server that gave it: with another one it is worth nothing. */
  readonly issuer: string;
  readonly clientId: string;
  /** Where the client is managed and the token for that. Absent if the server registered the client and gave no right to manage it. */
  readonly management?: { readonly uri: string; readonly token: string };
  /** The hint of the secret that was issued last. */
  readonly hint?: string;
  /**
   * A request that ends the token was about to be sent, when the server had just accepted that token. If it is refused from then on, the request
   * had its effect and its answer was lost. Otherwise a refused token says nothing about the client.
   */
  readonly asked?: "update" | "delete";
}

const grantSchema = z.object({
  issuer: z.string(),
  clientId: z.string(),
  management: z.object({ uri: z.string(), token: z.string() }).optional(),
  hint: z.string().optional(),
  asked: z.enum(["update", "delete"]).optional(),
});

/** The grant as text, for a Secret. */
export function grantText(grant: RegistrationGrant): string {
  return JSON.stringify(grant);
}

/** The grant that the text holds; undefined if it is none. */
export function readGrant(text: string | undefined): RegistrationGrant | undefined {
  if (text === undefined) return undefined;
  try {
    const { hint, management, asked, ...grant } = grantSchema.parse(JSON.parse(text));
    return { ...grant, ...(management && { management }), ...(hint !== undefined && { hint }), ...(asked && { asked }) };
  } catch {
    // Somebody has edited it. The client that it belonged to cannot be managed any more.
    return undefined;
  }
}

/** Names a secret without telling anything of it: the server gives no hints, and its secrets are long and random. */
export function hintOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex").slice(0, 12);
}
