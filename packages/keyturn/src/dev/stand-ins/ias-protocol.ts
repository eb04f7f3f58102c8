// What the stand-in for IAS answers with: responses in IAS's forms, and access tokens.
import { createPublicKey, generateKeyPair, type KeyObject, randomUUID, sign } from "node:crypto";
import { promisify } from "node:util";
import type { ApplicationDirectory } from "./ias-directory.ts";
import type { IasRoute } from "./ias-failures.ts";

/** What is sent back. */
export interface IasAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A request as the handlers see it. */
export interface IasRequest extends IasRoute {
  readonly query: URLSearchParams;
  readonly authorization: string | undefined;
  readonly body: string;
}

/** What the handlers work with. */
export interface IasTenant {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  readonly directory: Directory;
  readonly signer: TokenSigner;
  readonly nowMs: number;
  /** When an application's client ID can be seen. */
  readonly clientIdFrom: "first-secret" | "creation";
  /** How long after its creation an application is shown to anybody. */
  readonly shownAfterMs: number;
}

/** What handlers do with a directory; a view of an earlier moment can stand in for it. */
export type Directory = Pick<ApplicationDirectory, "list" | "get" | "create" | "delete" | "addSecret" | "deleteSecret" | "accepts">;

/** What is said in a token. */
interface TokenClaims {
  readonly issuer: string;
  readonly clientId: string;
  readonly nowMs: number;
  readonly lifetimeSeconds: number;
}

/** An answer with a JSON body. */
export function json(status: number, body: unknown, headers: IasAnswer["headers"] = {}): IasAnswer {
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}

/** An answer without a body. */
export function empty(status: number, headers: IasAnswer["headers"] = {}): IasAnswer {
  return { status, headers, body: "" };
}

/** An error as IAS words it. */
export function refusal(status: number, message: string, details: readonly { readonly target: string; readonly message: string }[] = []): IasAnswer {
  return json(status, { code: status, message, ...(details.length > 0 && { details }) });
}

// The tenant's token endpoint: client credentials in, a signed token out.

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

// Access tokens: RS256 JWTs as IAS issues them, and the key set to verify them with.

const newKeyPair = promisify(generateKeyPair);

/** Signs with one key, made when first needed: most stand-ins never issue a token. */
export class TokenSigner {
  readonly #keyId = randomUUID();
  #key: Promise<KeyObject> | undefined;

  /** A signed token. */
  async sign({ issuer, clientId, nowMs, lifetimeSeconds }: TokenClaims): Promise<string> {
    const issuedAt = Math.floor(nowMs / 1000);
    const header = { alg: "RS256", typ: "JWT", kid: this.#keyId };
    const claims = { iss: issuer, sub: clientId, aud: clientId, jti: randomUUID(), iat: issuedAt, exp: issuedAt + lifetimeSeconds };
    const input = `${encode(header)}.${encode(claims)}`;
    return `${input}.${sign("sha256", Buffer.from(input), await this.#privateKey()).toString("base64url")}`;
  }

  /** The public key as a JWK set. */
  async keySet(): Promise<unknown> {
    const jwk = createPublicKey(await this.#privateKey()).export({ format: "jwk" });
    return { keys: [{ ...jwk, kid: this.#keyId, use: "sig", alg: "RS256" }] };
  }

  #privateKey(): Promise<KeyObject> {
    this.#key ??= newKeyPair("rsa", { modulusLength: 2048 }).then(({ privateKey }) => privateKey);
    return this.#key;
  }
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
