// The `oidc` auth provider of kubeconfigs: an ID token, renewed with a refresh token at the issuer.
import { readFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import * as z from "zod";
import type { Clock } from "../../clock.ts";
import { createHttpTransport, type Environment } from "../http/http-transport.ts";
import type { TransportRequest } from "../transport.ts";
import { ConfigError } from "./connection-config.ts";
import { bearer, CredentialError, expiringLogin, type FetchedLogin, fixedCredentials, type Login } from "./credentials.ts";
import { runtimeLimits } from "../../limits.ts";

/** What the provider is run with. */
interface OidcLoginOptions {
  /** Names the context in errors. */
  readonly where: string;
  /** The kubeconfig's folder. */
  readonly dir: string;
  readonly clock: Clock;
  readonly env: Environment;
}

const discoverySchema = z.object({
  issuer: z.string(),
  token_endpoint: z.url(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
});
const tokenSchema = z.object({ id_token: z.string(), refresh_token: z.string().optional() });
const claimsSchema = z.object({ exp: z.number() });
const { tokenAnswerBytes: maxAnswerBytes } = runtimeLimits;

/**
 * A login by ID token. When that runs out, or the server rejects it, the issuer is asked for another.
 * A new refresh token is kept in memory alone: the user's kubeconfig is never written to.
 */
export function oidcLogin(config: Readonly<Record<string, string>>, options: OidcLoginOptions): Login {
  const issuer = config["idp-issuer-url"];
  const clientId = config["client-id"];
  if (!issuer || !clientId) throw new ConfigError("Malformed", `${options.where}: auth-provider oidc needs idp-issuer-url and client-id`);
  if (!URL.canParse(issuer)) throw new ConfigError("Malformed", `${options.where}: idp-issuer-url is no URL`);
  let refreshToken = config["refresh-token"];
  const fetchToken = async (): Promise<FetchedLogin> => {
    if (!refreshToken) throw new CredentialError(`the ID token of ${issuer} has run out and there is no refresh token: log in again`);
    const ca = await issuerCa(config, options.dir);
    const ask = (url: string, request: Omit<TransportRequest, "path">): Promise<unknown> => askIssuer(url, request, { ...options, ca });
    const discovered = discoverySchema.safeParse(await ask(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, { method: "GET" }));
    if (!discovered.success) throw new CredentialError(`OIDC issuer ${issuer} has no usable discovery document`);
    if (discovered.data.issuer.replace(/\/$/, "") !== issuer.replace(/\/$/, "")) {
      throw new CredentialError(`OIDC issuer ${issuer} calls itself ${discovered.data.issuer}: correct idp-issuer-url`);
    }
    const methods = discovered.data.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    const form = new URLSearchParams({ grant_type: "refresh_token", refresh_token: refreshToken });
    const answer = await ask(discovered.data.token_endpoint, {
      method: "POST",
      ...authenticatedForm(form, { clientId, secret: config["client-secret"], inHeader: methods.includes("client_secret_basic") }),
    });
    const token = tokenSchema.safeParse(answer);
    if (!token.success) throw new CredentialError(`OIDC issuer ${issuer} gave no ID token: ask for the scope openid when logging in`);
    refreshToken = token.data.refresh_token ?? refreshToken;
    return heldToken(token.data.id_token);
  };
  const idToken = config["id-token"];
  return expiringLogin(fetchToken, options.clock, idToken ? heldToken(idToken) : undefined);
}

interface ClientSecret {
  readonly clientId: string;
  readonly secret: string | undefined;
  readonly inHeader: boolean;
}

/** RFC 6749, 2.3.1: a confidential client identifies itself in the header or in the form; a public one gives only its id. */
function authenticatedForm(form: URLSearchParams, { clientId, secret, inHeader }: ClientSecret): Pick<TransportRequest, "headers" | "body"> {
  const headers: Record<string, string> = { "content-type": "application/x-www-form-urlencoded" };
  if (secret && inHeader) {
    headers["authorization"] = `Basic ${Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`).toString("base64")}`;
  } else {
    form.set("client_id", clientId);
    if (secret) form.set("client_secret", secret);
  }
  return { headers, body: form.toString() };
}

function heldToken(idToken: string): FetchedLogin {
  const expiresMs = expiryOf(idToken);
  return { headers: bearer(idToken), tls: {}, ...(expiresMs !== undefined && { expiresMs }) };
}

/** When a JWT runs out; undefined if it does not say. Only the API server checks signatures. */
function expiryOf(jwt: string): number | undefined {
  try {
    const claims = claimsSchema.safeParse(JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString("utf8")));
    return claims.success ? claims.data.exp * 1000 : undefined;
  } catch {
    // No JWT: whether it is any good is for the server to say.
    return undefined;
  }
}

async function issuerCa(config: Readonly<Record<string, string>>, dir: string): Promise<string | undefined> {
  const data = config["idp-certificate-authority-data"];
  if (data) return Buffer.from(data, "base64").toString("utf8");
  const file = config["idp-certificate-authority"];
  if (!file) return undefined;
  return readFile(isAbsolute(file) ? file : join(dir, file), "utf8").catch((cause: unknown) => {
    throw new CredentialError(`cannot read idp-certificate-authority from ${file}`, { cause });
  });
}

type AskOptions = OidcLoginOptions & { readonly ca: string | undefined };

async function askIssuer(url: string, request: Omit<TransportRequest, "path">, { ca, clock, env }: AskOptions): Promise<unknown> {
  const { origin, pathname, search } = new URL(url);
  const transport = createHttpTransport({ server: origin, credentials: fixedCredentials({ tls: ca ? { ca } : {} }), env, clock });
  try {
    const response = await transport.send({ ...request, path: `${pathname}${search}` });
    // Only the status is reported: bodies and forms hold tokens.
    if (response.status !== 200)
      throw new CredentialError(`OIDC issuer answered ${response.status} at ${origin}${pathname}: log in again if this goes on`);
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body) {
      chunks.push(chunk);
      bytes += chunk.byteLength;
      if (bytes > maxAnswerBytes) throw new CredentialError(`OIDC issuer answered with more than 1 MiB at ${origin}${pathname}`);
    }
    const text = Buffer.concat(chunks).toString("utf8");
    try {
      return JSON.parse(text);
    } catch {
      throw new CredentialError(`OIDC issuer answered with no JSON at ${origin}${pathname}`);
    }
  } finally {
    transport.close();
  }
}
