// Tries a client's credentials at the token endpoint, as the eventing webhooks will.
import * as z from "zod";
import type { ClientCredentials } from "./identity-provider.ts";
import { decode, type ProviderAnswer, refusalOf } from "./provider-answer.ts";
import type { ProviderHttp } from "./provider-http.ts";

const tokenSchema = z.object({ access_token: z.string().min(1) });
const errorSchema = z.object({ error: z.string() });

/** How a client shows who it is: in the header, or in the form, whose encoding every server reads alike. */
export interface TokenRequest extends ClientCredentials {
  readonly tokenUrl: string;
  readonly method: "client_secret_basic" | "client_secret_post";
}

/** True if a token was given, false if the endpoint says that the client or its secret is wrong. The token itself is dropped. */
export function acceptsCredentials(http: ProviderHttp, { tokenUrl, method, ...credentials }: TokenRequest, signal?: AbortSignal): Promise<boolean> {
  const inForm = method === "client_secret_post";
  const { clientId, clientSecret } = credentials;
  const form = new URLSearchParams({ grant_type: "client_credentials", ...(inForm && { client_id: clientId, client_secret: clientSecret }) });
  const request = {
    step: "token",
    attempt: "failed to fetch a token with the client's credentials",
    method: "POST",
    url: tokenUrl,
    headers: { "content-type": "application/x-www-form-urlencoded", ...(!inForm && { authorization: clientAuthorization(credentials) }) },
    body: form.toString(),
    secrets: [clientSecret],
  } as const;
  return http.ask(request, isAccepted, signal);
}

function isAccepted(answer: ProviderAnswer): boolean {
  if (answer.status === 200) return decode(answer, tokenSchema).access_token !== "";
  if (answer.status !== 400 && answer.status !== 401) throw refusalOf(answer);
  // RFC 6749, 5.2: invalid_client may come with either status; a 400 can also mean that the request is wrong and tells nothing of the client.
  const { error } = decode(answer, errorSchema);
  if (error === "invalid_client") return false;
  throw refusalOf(answer);
}

/** RFC 6749, 2.3.1: both parts are form-encoded before they go into the header. */
function clientAuthorization({ clientId, clientSecret }: ClientCredentials): string {
  return `Basic ${Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString("base64")}`;
}

function formEncoded(text: string): string {
  return new URLSearchParams({ v: text }).toString().slice(2);
}
