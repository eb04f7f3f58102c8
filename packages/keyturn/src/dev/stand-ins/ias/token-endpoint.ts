// The tenant's token endpoint: client credentials in, a signed token out.
import { type IasAnswer, json } from "./answer.ts";
import type { IasRequest, IasTenant } from "./request.ts";

const lifetimeSeconds = 3600;

/** Gives a token to a client that shows a secret which is valid now. */
export async function issueToken({ authorization, body }: IasRequest, { url, directory, signer, nowMs }: IasTenant): Promise<IasAnswer> {
  const form = new URLSearchParams(body);
  const [clientId, secret] = clientOf(authorization, form);
  if (!directory.accepts(clientId, secret, nowMs)) return json(401, { error: "invalid_client", error_description: "Bad client credentials" });
  if (form.get("grant_type") !== "client_credentials") return json(400, { error: "unsupported_grant_type" });
  const token = await signer.sign({ issuer: url, clientId, nowMs, lifetimeSeconds });
  return json(200, { access_token: token, token_type: "Bearer", expires_in: lifetimeSeconds });
}

/** RFC 6749, 2.3.1: in the header, each part form-encoded, or in the form. */
function clientOf(authorization: string | undefined, form: URLSearchParams): readonly [string, string] {
  const encoded = /^Basic (\S+)$/.exec(authorization ?? "")?.[1];
  if (encoded === undefined) return [form.get("client_id") ?? "", form.get("client_secret") ?? ""];
  const [clientId = "", secret = ""] = Buffer.from(encoded, "base64").toString("utf8").split(":", 2).map(formDecoded);
  return [clientId, secret];
}

function formDecoded(text: string): string {
  return new URLSearchParams(`v=${text}`).get("v") ?? "";
}
