// Dynamic client registration.
import { createHash } from "node:crypto";
import { abortRace } from "@keyturn/runtime";
import * as z from "zod";
import { discoverOnce, isSameAddress, isUsable, withoutSlash } from "./discovery.ts";
import {
  acceptsCredentials,
  decode,
  expectDone,
  expectStatus,
  IdentityError,
  type IdentityStep,
  oauthErrorIn,
  type ProviderAnswer,
  type ProviderHttp,
  refusalOf,
} from "./provider-http.ts";
import type { ApplicationOwner, ApplicationRef, CreatedApplication, IdentityProvider, IssuedSecret, IssueOptions } from "./provider.ts";

// The right to manage one registered client (RFC 7592), as it is kept between requests.

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
   * then on that the token is invalid, the request had its effect and its answer was lost. Otherwise a refused token says nothing about the client.
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

// The wire form of OpenID dynamic client registration (RFC 7591) and its management (RFC 7592).

/** How registered clients log in: the one way that every server has (RFC 6749, 2.3.1). */
const tokenAuthMethod = "client_secret_basic";

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

/** A client, as the server tells it after registration, on reading and after an update. */
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
function secretEndMs({ client_secret_expires_at: seconds }: RegisteredClient): number | undefined {
  return seconds ? seconds * 1000 : undefined;
}

// Registered clients at one OpenID server, each managed with the grant that is kept for it.

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
class Registrations {
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
    const client = await http.ask({ step: "create", attempt: registering, method: "POST", url: registrationUrl, headers, body }, readRegistered);
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
  async read(application: ApplicationRef, step: IdentityStep, isDeleted = false): Promise<KnownClient | undefined> {
    const grant = await this.#managing(application);
    if (!grant) return undefined;
    const read = (answer: ProviderAnswer): RegisteredClient | undefined => (isUnknown(answer, grant, isDeleted) ? undefined : readClient(answer));
    const client = await this.#manage(grant, { step, attempt: "failed to read the client's registration", method: "GET" }, read);
    return client && { client, grant: await this.#renew(application, grant, client) };
  }

  /** Asks for another secret by an update that changes nothing else. Undefined if the answer tells none; not `fresh` if it tells the old one. */
  async update(application: ApplicationRef, { client, grant }: KnownClient): Promise<UpdatedSecret | undefined> {
    const request = { step: "issue-secret", attempt: "failed to update the client's registration", method: "PUT", body: updateBody(client) } as const;
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
    const unheard = await this.#ending(application, asking, () => this.#remove(asking, true)).then(
      () => undefined,
      (error: unknown) => {
        if (!(error instanceof IdentityError) || isRefusal(error)) throw error;
        return error;
      },
    );
    if (!(await this.read(application, "delete", unheard === undefined))) return;
    const message = `${deleting}: the answer was that it is done, but client ${application.id} is still there`;
    throw unheard ?? new IdentityError(message, { code: "Transient", step: "delete" });
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
    await this.#remove(grant).catch((cause: unknown) => {
      const message = `${registering}: the grant to client ${grant.clientId} could not be kept, nor the client be deleted again; delete it at ${grant.issuer}`;
      throw new IdentityError(message, { code: "Transient", step: "keep-grant", cause });
    });
    throw reason;
  }

  /** Keeps what has changed about the grant, and returns it as it is now. */
  async #renew(owner: ApplicationOwner, grant: ManagingGrant, client: RegisteredClient): Promise<ManagingGrant> {
    const { registration_client_uri: told, registration_access_token: token = grant.management.token } = client;
    const uri = told !== undefined && isUsable(told, this.#options.allowHttp) ? told : grant.management.uri;
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
    throw new IdentityError(`failed to read the client's registration: ${problem}; ${advice}`, { code: "Terminal", step: "read" });
  }

  #remove(grant: ManagingGrant, once = false): Promise<void> {
    return this.#manage(grant, { step: "delete", attempt: deleting, method: "DELETE", once }, expectDone);
  }

  #manage<T>({ management: { uri, token } }: ManagingGrant, request: ManagementRequest, read: (answer: ProviderAnswer) => T): Promise<T> {
    const headers = { authorization: `Bearer ${token}`, ...(request.body !== undefined && { "content-type": "application/json" }) };
    return this.#options.http.ask({ ...request, url: uri, headers, secrets: [token] }, read);
  }
}

interface ManagementRequest {
  readonly step: IdentityStep;
  readonly attempt: string;
  readonly method: "GET" | "PUT" | "DELETE";
  readonly body?: string;
  readonly once?: boolean;
}

const advice =
  "look for the client there; to give it up, delete the EventingAuth with the annotation keyturn.io/abandon: application, and the client by hand";

/**
 * RFC 7592, 2.1 to 2.3: for a client that does not exist the server answers 401, and so it does for a token that it does not accept any more; some
 * say 404, and so does whatever is in between and knows no such address. Either proves something only after a request of ours which ends the token:
 * one that was answered with success, or, in words that are the server's own, one whose answer was lost.
 */
function isUnknown(answer: ProviderAnswer, { clientId, asked }: ManagingGrant, isDeleted: boolean): boolean {
  if (answer.status !== 401 && answer.status !== 404) return false;
  if (isDeleted || (asked !== undefined && isTokenInvalid(answer))) return true;
  const { message, code, step, status } = refusalOf(answer);
  const problem =
    answer.status === 404
      ? `that does not prove that client ${clientId} is gone`
      : `the client is gone, or the registration access token of client ${clientId} is not accepted any more`;
  throw new IdentityError(answer.clean(`${message}; ${problem}; ${advice}`), { code, step, ...(status !== undefined && { status }) });
}

/** RFC 6750, 3.1: how a server itself refuses a token, in the header or, as most do, in the body too. */
function isTokenInvalid(answer: ProviderAnswer): boolean {
  const error = oauthErrorIn(answer) ?? /\berror="?(\w+)/.exec(answer.headers["www-authenticate"] ?? "")?.[1];
  return error === "invalid_token" || error === "invalid_client";
}

/** Whether a request was turned away for certain: it had no effect. */
function isRefusal(error: unknown): boolean {
  const { status = 0 } = error instanceof IdentityError ? error : {};
  return status >= 300 && status < 500 && status !== 408 && status !== 425 && status !== 429;
}

/** There is a client now that nobody knows. Trying again at once would make another. */
function readRegistered(answer: ProviderAnswer): RegisteredClient {
  expectStatus(answer, 201, 200);
  try {
    return decode(answer, clientSchema);
  } catch (cause) {
    const problem = cause instanceof IdentityError ? cause.message : registering;
    throw new IdentityError(`${problem}; look for clients without an owner there`, {
      code: "Terminal",
      step: "create",
      status: answer.status,
      cause,
    });
  }
}

function readClient(answer: ProviderAnswer): RegisteredClient {
  expectStatus(answer, 200);
  return decode(answer, clientSchema);
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

function unmanageable(clientId: string): IdentityError {
  const problem = `the server registered client ${clientId} without a registration access token and an https:// URL to manage it by (RFC 7592)`;
  const remedy = "it could never be deleted: delete it there, put the server right, and delete the Secret in which this is kept";
  return new IdentityError(`${registering}: ${problem}; ${remedy}`, { code: "Terminal", step: "create" });
}

function grantError(problem: string, cause: unknown): IdentityError {
  return new IdentityError(`${problem}: ${cause instanceof Error ? cause.message : String(cause)}`, { code: "Transient", step: "keep-grant", cause });
}

// Any OpenID server with dynamic client registration (RFC 7591) and its management (RFC 7592) as an identity provider.

/** A server, and what it wants to see before it registers a client. */
interface OpenidSettings {
  /** The issuer. */
  readonly url: string;
  /** RFC 7591, section 1.2; absent where registration is open. */
  readonly initialAccessToken?: string;
}

/** What the provider needs besides its settings. */
interface OpenidDependencies {
  readonly http: ProviderHttp;
  readonly allowHttp: boolean;
}

/**
 * Opens a server. Nothing is asked before it is needed.
 *
 * A server cannot be asked for a client by name, so a client is found by the grant that is kept for it. What is lost in a crash:
 * - between the server's registering a client and the grant's being kept, that client: it stays at the server under the runtime's name, nobody
 *   has its secret, and another is registered in its place;
 * - between the server's replacing the registration access token on an update and the new one's being kept, the right to manage the client: it
 *   stays at the server too, and another takes its place. Where a server replaces the token even on reading, the client is reported instead.
 *
 * A caller whose signal ends goes free at once, while what is under way is still brought to its end, and the grant kept.
 */
export function openidProvider({ url, initialAccessToken }: OpenidSettings, { http, allowHttp }: OpenidDependencies): IdentityProvider {
  const issuer = withoutSlash(url);
  const discovered = discoverOnce(http, { url: issuer, allowHttp, check: "same-issuer" });
  const registrations = new Registrations({
    http,
    allowHttp,
    issuer,
    ...(initialAccessToken !== undefined && { initialAccessToken }),
    discover: () => discovered(),
  });

  const issueSecret = async (application: ApplicationRef, { rotate }: IssueOptions): Promise<IssuedSecret> => {
    const known = await registrations.read(application, "issue-secret");
    if (!known) {
      const message = `failed to read the client's registration: there is no client ${application.id}, or no right to manage it`;
      throw new IdentityError(message, { code: "SecretLost", step: "issue-secret" });
    }
    const { client_secret: secret } = known.client;
    if (!rotate && secret !== undefined) return { secret, hint: hintOf(secret) };
    const updated = await registrations.update(application, known);
    if (updated && (updated.fresh || !rotate)) return { secret: updated.secret, hint: updated.hint };
    const message = `failed to update the client's registration: ${issuer} issues no new secret on an update (RFC 7592, 2.2)`;
    throw new IdentityError(message, { code: rotate ? "Terminal" : "SecretLost", step: "issue-secret" });
  };

  return {
    type: "openid",
    secretsOverlap: false,

    async find(owner, signal) {
      const grant = await abortRace(registrations.grantOf(owner), signal);
      if (!grant?.management) return [];
      const known = await abortRace(registrations.read({ ...owner, id: grant.clientId }, "find"), signal);
      // The grant is kept in a Secret of the owner's own: nobody else's client can be there.
      return known ? [{ id: grant.clientId, isOurs: true }] : [];
    },

    async read(application, signal) {
      const known = await abortRace(registrations.read(application, "read"), signal);
      return known && { id: application.id, clientId: application.id };
    },

    async create(owner, signal) {
      const { registrationUrl } = await discovered(signal);
      if (registrationUrl !== undefined) return abortRace(registrations.register(owner, registrationUrl), signal);
      const message = `failed to register a client: ${issuer} has no registration_endpoint; switch dynamic client registration on there`;
      throw new IdentityError(message, { code: "Terminal", step: "create" });
    },

    delete: (application, signal) => abortRace(registrations.delete(application), signal),

    issueSecret: (application, options, signal) => abortRace(issueSecret(application, options), signal),

    async listSecrets(application, signal) {
      const known = await abortRace(registrations.read(application, "list-secrets"), signal);
      return known?.grant.hint === undefined ? [] : [{ hint: known.grant.hint, validToMs: secretEndMs(known.client) }];
    },

    async deleteSecret(application, hint, signal) {
      const known = await abortRace(registrations.read(application, "delete-secret"), signal);
      if (known?.grant.hint !== hint) return;
      throw new IdentityError(`failed to delete a secret: it is the only one of client ${application.id}`, {
        code: "Terminal",
        step: "delete-secret",
      });
    },

    async endpoints(signal) {
      const { tokenUrl, jwksUrl } = await discovered(signal);
      return { issuer, tokenUrl, jwksUrl };
    },

    async accepts(credentials, signal) {
      const { tokenUrl } = await discovered(signal);
      return acceptsCredentials(http, { tokenUrl, method: tokenAuthMethod, ...credentials }, signal);
    },

    close: () => http.close(),
  };
}
