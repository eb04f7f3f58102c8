// For tests: fetches a token as a client of the webhooks would, and has it verified with the issuer's own keys.
import { Buffer } from "node:buffer";
import { createRemoteJWKSet, jwtVerify, type JWTPayload } from "jose";
import * as z from "zod";

/** What a token is fetched with. */
interface TokenFetch {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly tokenUrl: string;
  readonly jwksUrl: string;
  /** How the client shows who it is. */
  readonly method: "client_secret_basic" | "client_secret_post";
}

const tokenAnswer = z.object({ access_token: z.string() });

/** The claims of the token. Rejects if there is no token, or one that does not verify. */
export async function verifiedToken({ clientId, clientSecret, tokenUrl, jwksUrl, method }: TokenFetch): Promise<JWTPayload> {
  const body = new URLSearchParams({ grant_type: "client_credentials" });
  const headers: Record<string, string> = {};
  if (method === "client_secret_post") {
    body.set("client_id", clientId);
    body.set("client_secret", clientSecret);
  } else {
    const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
    headers["authorization"] = `Basic ${Buffer.from(pair).toString("base64")}`;
  }
  const response = await fetch(tokenUrl, { method: "POST", headers, body });
  const { access_token: token } = tokenAnswer.parse(await response.json());
  return (await jwtVerify(token, createRemoteJWKSet(new URL(jwksUrl)))).payload;
}
