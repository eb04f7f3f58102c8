// Registered clients at one OpenID server, each managed with the grant that is kept for it.
import { isUsable } from "../discovery.ts";
import { IdentityError, type IdentityStep } from "../identity-error.ts";
import type { ApplicationOwner, ApplicationRef, CreatedApplication, IssuedSecret } from "../identity-provider.ts";
import { decode, expectStatus, isGone, type ProviderAnswer, refusalOf } from "../provider-answer.ts";
import type { ProviderHttp } from "../provider-http.ts";
import { grantText, hintOf, readGrant, type RegistrationGrant } from "./registration-grant.ts";
import { clientSchema, newClientMetadata, type RegisteredClient, updateBody } from "./registration-protocol.ts";

/** A grant with which something can be done. */
type ManagingGrant = RegistrationGrant & Required<Pick<RegistrationGrant, "management">>;

/** A client that exists, and the grant to it as it is now. */
export interface KnownClient {
  readonly client: RegisteredClient;
  readonly grant: ManagingGrant;
}

/** A secret after an update. */
export interface UpdatedSecret extends IssuedSecret {
  readonly fresh: boolean;
}

/** What clients are registered with. */
export interface RegistrationsOptions {
  readonly http: ProviderHttp;
  readonly allowHttp: boolean;
  readonly issuer: string;
  readonly initialAccessToken?: string;
}

const registering = "failed to register a client";

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
    return grant?.issuer === this.#options.issuer ? grant : undefined;
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

  /** The client as the server has it; undefined if it proves that there is none. */
  async read(application: ApplicationRef, step: IdentityStep): Promise<KnownClient | undefined> {
    const grant = await this.#managing(application);
    if (!grant) return undefined;
    const read = (answer: ProviderAnswer): RegisteredClient | undefined => (isUnknown(answer, grant) ? undefined : readClient(answer));
    const client = await this.#manage(grant, { step, attempt: "failed to read the client's registration", method: "GET" }, read);
    return client && { client, grant: await this.#renew(application, grant, client) };
  }

  /** Asks for another secret by an update that changes nothing else. Undefined if the answer tells none; not `fresh` if it tells the old one. */
  async update(application: ApplicationRef, { client, grant }: KnownClient): Promise<UpdatedSecret | undefined> {
    const request = { step: "issue-secret", attempt: "failed to update the client's registration", method: "PUT", body: updateBody(client) } as const;
    const asking = { ...grant, asked: "update" } as const;
    await keep(application, asking);
    const updated = await this.#manage(asking, request, readClient);
    await this.#renew(application, asking, updated);
    const { client_secret: secret } = updated;
    return secret === undefined ? undefined : { secret, hint: hintOf(secret), fresh: hintOf(secret) !== grant.hint };
  }

  /** Deletes the client, unless the server proves that there is none. */
  async delete(application: ApplicationRef): Promise<void> {
    const known = await this.read(application, "delete");
    if (!known) return;
    const asking = { ...known.grant, asked: "delete" } as const;
    await keep(application, asking);
    await this.#remove(asking);
  }

  async #undo(grant: ManagingGrant, reason: unknown): Promise<never> {
    await this.#remove({ ...grant, asked: "delete" }).catch((cause: unknown) => {
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

  /** The right to manage a client; undefined if the client is another server's. That it is lost is no proof that the client is. */
  async #managing(application: ApplicationRef): Promise<ManagingGrant | undefined> {
    const grant = await keptGrant(application);
    if (grant && grant.issuer !== this.#options.issuer) return undefined;
    if (grant?.management && grant.clientId === application.id) return { ...grant, management: grant.management };
    const problem = `the registration access token of client ${application.id} is lost`;
    throw new IdentityError(`failed to read the client's registration: ${problem}; ${advice}`, { code: "Terminal", step: "read" });
  }

  #remove(grant: ManagingGrant): Promise<void> {
    const read = (answer: ProviderAnswer): void => {
      if (!isUnknown(answer, grant)) expectStatus(answer, 204, 200);
    };
    return this.#manage(grant, { step: "delete", attempt: "failed to delete the client's registration", method: "DELETE" }, read);
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
}

const advice =
  "look for the client there; to give it up, delete the EventingAuth with the annotation keyturn.io/abandon: application, and the client by hand";

/**
 * RFC 7592, 2.1 to 2.3: for a client that does not exist the server answers 401, and so it does for a token that it does not accept any more; some
 * say 404. A 401 proves nothing but that a request of ours which ends the token had its effect.
 */
function isUnknown(answer: ProviderAnswer, { clientId, asked }: ManagingGrant): boolean {
  if (answer.status !== 401) return isGone(answer);
  if (asked !== undefined) return true;
  const { message, code, step, status } = refusalOf(answer);
  const problem = `the client is gone, or the registration access token of client ${clientId} is not accepted any more`;
  throw new IdentityError(answer.clean(`${message}; ${problem}; ${advice}`), { code, step, ...(status !== undefined && { status }) });
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
