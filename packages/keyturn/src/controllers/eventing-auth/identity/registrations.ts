// The clients that are registered at one OpenID server (RFC 7591), each managed (RFC 7592) with the grant that is kept for it.
import { createHash } from "node:crypto";
import type { SendPermit } from "@keyturn/runtime";
import * as z from "zod";
import { isSameAddress, isUsable } from "./discovery.ts";
import {
  decode,
  expectDone,
  expectStatus,
  IdentityError,
  type IdentityOperation,
  oauthErrorIn,
  type ProviderHttp,
  type ProviderResponse,
  refusalOf,
} from "./provider-http.ts";
import type { ApplicationOwner, ApplicationRef, CreatedApplication, IssuedSecret } from "./provider.ts";

/** A grant with which something can be done. */
type ManagingGrant = RegistrationGrant & Required<Pick<RegistrationGrant, "management">>;

/** A client that exists, and the grant to it as it is now. */
interface KnownClient {
  readonly client: RegisteredClient;
  readonly grant: ManagingGrant;
}

/** A secret after an update. */
interface UpdatedSecret extends IssuedSecret {
  readonly fresh: boolean;
}

/** What clients are registered with. */
interface RegistrationsOptions {
  readonly http: ProviderHttp;
  readonly allowHttp: boolean;
  readonly issuer: string;
  readonly initialAccessToken?: string;
  /** Resolves if there is a server which calls itself by that issuer. */
  readonly discover: () => Promise<unknown>;
}

const registering = "failed to register a client";
const deleting = "failed to delete the client's registration";

/**
 * The clients of one server. Every grant that the server hands out is kept before a method resolves.
 * No method takes a signal: a grant that is on its way must not be lost.
 */
export class Registrations {
  readonly #options: RegistrationsOptions;

  constructor(options: RegistrationsOptions) {
    this.#options = options;
  }

  /** The grant that is kept for somebody; undefined if there is none of this server. */
  async grantOf(owner: ApplicationOwner): Promise<RegistrationGrant | undefined> {
    const grant = await keptGrant(owner);
    return grant && (await this.#isHere(grant)) ? grant : undefined;
  }

  /** Registers a client and keeps the grant to it. If that cannot be kept, the client is deleted again. */
  async register(owner: ApplicationOwner, registrationUrl: string): Promise<CreatedApplication> {
    const { http, allowHttp, issuer, initialAccessToken } = this.#options;
    const earlier = await this.grantOf(owner);
    if (earlier && !earlier.management) throw unmanageable(earlier.clientId);
    const headers = { "content-type": "application/json", ...(initialAccessToken && { authorization: `Bearer ${initialAccessToken}` }) };
    const body = JSON.stringify(newClientMetadata(owner.name));
    const request = { operation: "create", attempt: registering, method: "POST", url: registrationUrl, headers, body } as const;
    const client = await http.ask({ ...request, permit: toTheEnd(owner.permit) }, readRegistered).catch((error: unknown) => {
      throw unheard(error, owner.name);
    });
    const { client_id: clientId, client_secret: secret, registration_client_uri: uri, registration_access_token: token } = client;
    const issued = secret === undefined ? undefined : { secret, hint: hintOf(secret) };
    const grant: RegistrationGrant = { issuer, clientId, ...(issued && { hint: issued.hint }) };
    if (uri === undefined || token === undefined || !isUsable(uri, allowHttp)) {
      // Kept all the same, so that the next try does not register yet another client that nobody can delete.
      await keep(owner, grant);
      throw unmanageable(clientId);
    }
    const managing = { ...grant, management: { uri, token } };
    await keep(owner, managing).catch((error: unknown) => this.#undo(managing, error));
    return { id: clientId, clientId, ...(issued && { secret: issued }) };
  }

  /** The client as the server has it; undefined if it proves that there is none. `isDeleted` if it said so the moment before. */
  async read(application: ApplicationRef, operation: IdentityOperation, isDeleted = false): Promise<KnownClient | undefined> {
    const grant = await this.#managing(application);
    if (!grant) return undefined;
    const read = (response: ProviderResponse): RegisteredClient | undefined =>
      isUnknown(response, grant, isDeleted) ? undefined : readClient(response);
    const request = { operation, attempt: "failed to read the client's registration", method: "GET", permit: application.permit } as const;
    const client = await this.#manage(grant, request, read);
    return client && { client, grant: await this.#renew(application, grant, client) };
  }

  /** Asks for another secret by an update that changes nothing else. Undefined if the response has none; not `fresh` if it has the old one. */
  async update(application: ApplicationRef, { client, grant }: KnownClient): Promise<UpdatedSecret | undefined> {
    const request = {
      operation: "issue-secret",
      attempt: "failed to update the client's registration",
      method: "PUT",
      body: updateBody(client),
      permit: application.permit,
    } as const;
    const asking = { ...grant, asked: "update" } as const;
    const updated = await this.#ending(application, asking, () => this.#manage(asking, request, readClient));
    await this.#renew(application, asking, updated);
    const { client_secret: secret } = updated;
    return secret === undefined ? undefined : { secret, hint: hintOf(secret), fresh: hintOf(secret) !== grant.hint };
  }

  /** Deletes the client, unless the server proves that there is none. Whatever it answers, it is asked for the client once more. */
  async delete(application: ApplicationRef): Promise<void> {
    const known = await this.read(application, "delete");
    if (!known) return;
    const asking = { ...known.grant, asked: "delete" } as const;
    const unheard = await this.#ending(application, asking, () => this.#delete(asking, { once: true, permit: application.permit })).then(
      () => undefined,
      (error: unknown) => {
        if (!(error instanceof IdentityError) || isRefusal(error)) throw error;
        return error;
      },
    );
    if (!(await this.read(application, "delete", unheard === undefined))) return;
    const message = `${deleting}: the answer was that it is done, but client ${application.id} is still there`;
    throw unheard ?? new IdentityError(message, { code: "Transient", operation: "delete" });
  }

  /** Sends a request that ends the token, which is written down before, and crossed out if it was refused. */
  async #ending<T>(application: ApplicationRef, asking: ManagingGrant, send: () => Promise<T>): Promise<T> {
    await keep(application, asking);
    try {
      return await send();
    } catch (error) {
      const { asked: _refused, ...grant } = asking;
      if (isRefusal(error)) await keep(application, grant);
      throw error;
    }
  }

  async #undo(grant: ManagingGrant, reason: unknown): Promise<never> {
    // Nobody else can know of it, whoever leads by now.
    await this.#delete(grant, {}).catch((cause: unknown) => {
      const message = `${registering}: the grant to client ${grant.clientId} could not be kept, nor the client be deleted again; delete it at ${grant.issuer}`;
      throw new IdentityError(message, { code: "Transient", operation: "keep-grant", cause });
    });
    throw reason;
  }

  /** Keeps what has changed about the grant, and returns it as it is now. */
  async #renew(owner: ApplicationOwner, grant: ManagingGrant, client: RegisteredClient): Promise<ManagingGrant> {
    const { registration_client_uri: named, registration_access_token: token = grant.management.token } = client;
    const uri = named !== undefined && isUsable(named, this.#options.allowHttp) ? named : grant.management.uri;
    const hint = client.client_secret === undefined ? grant.hint : hintOf(client.client_secret);
    const { asked: _answered, ...answered } = grant;
    const renewed = { ...answered, management: { uri, token }, ...(hint !== undefined && { hint }) };
    if (grantText(renewed) !== grantText(grant)) await keep(owner, renewed);
    return renewed;
  }

  /** Whether a grant is this server's. That it is another's is certain only when there is one at the address that is set: it may be mistyped. */
  async #isHere({ issuer }: RegistrationGrant): Promise<boolean> {
    if (isSameAddress(issuer, this.#options.issuer)) return true;
    await this.#options.discover();
    return false;
  }

  /** The right to manage a client; undefined if the client is another server's. That it is lost is no proof that the client is. */
  async #managing(application: ApplicationRef): Promise<ManagingGrant | undefined> {
    const grant = await keptGrant(application);
    if (grant && !(await this.#isHere(grant))) return undefined;
    if (grant?.management && grant.clientId === application.id) return { ...grant, management: grant.management };
    const problem = `the registration access token of client ${application.id} is lost`;
    throw new IdentityError(`failed to read the client's registration: ${problem}; ${advice}`, { code: "Terminal", operation: "read" });
  }

  #delete(grant: ManagingGrant, how: Pick<ManagementRequest, "once" | "permit">): Promise<void> {
    return this.#manage(grant, { operation: "delete", attempt: deleting, method: "DELETE", ...how }, expectDone);
  }

  #manage<T>({ management: { uri, token } }: ManagingGrant, request: ManagementRequest, read: (response: ProviderResponse) => T): Promise<T> {
    const headers = { authorization: `Bearer ${token}`, ...(request.body !== undefined && { "content-type": "application/json" }) };
    return this.#options.http.ask({ ...request, url: uri, headers, secrets: [token], permit: toTheEnd(request.permit) }, read);
  }
}

// Requests to manage a client, and what is concluded from the responses.

interface ManagementRequest {
  readonly operation: IdentityOperation;
  readonly attempt: string;
  readonly method: "GET" | "PUT" | "DELETE";
  readonly body?: string;
  readonly once?: boolean;
  readonly permit?: SendPermit | undefined;
}

const never = new AbortController().signal;

/** The same right to send, without an end for what has been sent: the response may bring a grant. */
function toTheEnd(permit: SendPermit | undefined): SendPermit | undefined {
  return permit && { signal: never, check: () => permit.check() };
}

const advice =
  "look for the client there; to give it up, delete the EventingAuth with the annotation keyturn.io/abandon: application, and the client by hand";

/**
 * RFC 7592, 2.1 to 2.3: for a client that does not exist the server answers 401, and so it does for a token that it does not accept any more; some
 * say 404, and so does whatever is in between and knows no such address. Either proves something only after a request of ours which ends the token:
 * one that was answered with success, or, in words that are the server's own, one whose response was lost.
 */
function isUnknown(response: ProviderResponse, { clientId, asked }: ManagingGrant, isDeleted: boolean): boolean {
  if (response.status !== 401 && response.status !== 404) return false;
  if (isDeleted || (asked !== undefined && isTokenInvalid(response))) return true;
  const { message, code, operation, status } = refusalOf(response);
  const problem =
    response.status === 404
      ? `that does not prove that client ${clientId} is gone`
      : `the client is gone, or the registration access token of client ${clientId} is not accepted any more`;
  throw new IdentityError(response.clean(`${message}; ${problem}; ${advice}`), { code, operation, ...(status !== undefined && { status }) });
}

/** RFC 6750, 3.1: how a server itself refuses a token, in the header or, as most do, in the body too. */
function isTokenInvalid(response: ProviderResponse): boolean {
  const error = oauthErrorIn(response) ?? /\berror="?(\w+)/.exec(response.headers["www-authenticate"] ?? "")?.[1];
  return error === "invalid_token" || error === "invalid_client";
}

/** Whether a request was turned away for certain: it had no effect. */
function isRefusal(error: unknown): boolean {
  const { status = 0 } = error instanceof IdentityError ? error : {};
  return status >= 300 && status < 500 && status !== 408 && status !== 425 && status !== 429;
}

/** There may be a client now that nobody knows, and the server has no list. */
function unheard(error: unknown, name: string): unknown {
  if (!(error instanceof IdentityError) || error.code !== "Transient" || isRefusal(error) || error.status === 429) return error;
  const { message, code, operation, status, retryAfterMs } = error;
  const options = { code, operation, cause: error, ...(status !== undefined && { status }), ...(retryAfterMs !== undefined && { retryAfterMs }) };
  return new IdentityError(
    `${message}; if it was made all the same, a client with the name ${name} is left there, and nobody has its credentials`,
    options,
  );
}

/** There is a client now that nobody knows. Trying again at once would make another. */
function readRegistered(response: ProviderResponse): RegisteredClient {
  expectStatus(response, 201, 200);
  try {
    return decode(response, clientSchema);
  } catch (cause) {
    const problem = cause instanceof IdentityError ? cause.message : registering;
    throw new IdentityError(`${problem}; look for clients without an owner there`, {
      code: "Terminal",
      operation: "create",
      status: response.status,
      cause,
    });
  }
}

function readClient(response: ProviderResponse): RegisteredClient {
  expectStatus(response, 200);
  return decode(response, clientSchema);
}

function unmanageable(clientId: string): IdentityError {
  const problem = `the server registered client ${clientId} without a registration access token and an https:// URL to manage it by (RFC 7592)`;
  const remedy = "it could never be deleted: delete it there, put the server right, and delete the Secret in which this is kept";
  return new IdentityError(`${registering}: ${problem}; ${remedy}`, { code: "Terminal", operation: "create" });
}

// The grant: the right to manage one registered client, as it is kept between requests.

/** What is kept. Whoever has it can read, change and delete the client. */
interface RegistrationGrant {
  /** The server that gave it: with another one it is worth nothing. */
  readonly issuer: string;
  readonly clientId: string;
  /** Where the client is managed and the token for that. Absent if the server registered the client and gave no right to manage it. */
  readonly management?: { readonly uri: string; readonly token: string };
  /** The hint of the secret that was issued last. */
  readonly hint?: string;
  /**
   * A request that ends the token was about to be sent, when the server had just accepted that token, and was not refused. If the server says from
   * then on that the token is invalid, the request had its effect and its response was lost. Otherwise a refused token says nothing about the client.
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

/** Names a secret without showing anything of it: the server gives no hints, and its secrets are long and random. */
export function hintOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex").slice(0, 12);
}

async function keptGrant({ grants }: ApplicationOwner): Promise<RegistrationGrant | undefined> {
  const text = await grants.read().catch((cause: unknown) => {
    throw grantError("cannot read the registration access token that was kept", cause);
  });
  return readGrant(text);
}

async function keep({ grants }: ApplicationOwner, grant: RegistrationGrant): Promise<void> {
  await grants.keep(grantText(grant)).catch((cause: unknown) => {
    throw grantError(`cannot keep the registration access token of client ${grant.clientId}`, cause);
  });
}

function grantError(problem: string, cause: unknown): IdentityError {
  return new IdentityError(`${problem}: ${cause instanceof Error ? cause.message : String(cause)}`, {
    code: "Transient",
    operation: "keep-grant",
    cause,
  });
}

// The wire form of OpenID dynamic client registration (RFC 7591) and its management (RFC 7592).

/** How registered clients log in: the one way that every server has (RFC 6749, 2.3.1). */
export const tokenAuthMethod = "client_secret_basic";

/** The client that is registered: one that fetches tokens for itself and nothing else. */
function newClientMetadata(name: string): Readonly<Record<string, unknown>> {
  return {
    client_name: name,
    grant_types: ["client_credentials"],
    response_types: [],
    redirect_uris: [],
    token_endpoint_auth_method: tokenAuthMethod,
  };
}

/** A client, as the server sends it after registration, on reading and after an update. */
const clientSchema = z.looseObject({
  client_id: z.string().min(1),
  client_secret: z.string().min(1).optional(),
  /** Seconds since the epoch; 0 for never. */
  client_secret_expires_at: z.number().optional(),
  registration_access_token: z.string().min(1).optional(),
  registration_client_uri: z.string().min(1).optional(),
});
type RegisteredClient = z.infer<typeof clientSchema>;

/**
 * The body of an update that changes nothing. RFC 7592, 2.2: everything that was read, without the four members that are the server's own.
 * The secret is left out too, which lets the server issue another.
 */
export function updateBody(client: RegisteredClient): string {
  const {
    registration_access_token: _token,
    registration_client_uri: _uri,
    client_secret_expires_at: _expiry,
    client_id_issued_at: _issued,
    client_secret: _secret,
    ...metadata
  } = client;
  return JSON.stringify(metadata);
}

/** When the client's secret runs out. */
export function secretEndMs({ client_secret_expires_at: seconds }: RegisteredClient): number | undefined {
  return seconds ? seconds * 1000 : undefined;
}
