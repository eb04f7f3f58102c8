// The applications of the stand-in for IAS: what each request does to them, and what IAS answers.
import { randomInt, randomUUID } from "node:crypto";
import * as z from "zod";
import type { IasStep } from "./ias-failures.ts";
import { empty, type IasAnswer, type IasRequest, type IasTenant, issueToken, json, refusal } from "./ias-protocol.ts";

/** A secret of an application. */
interface StoredSecret {
  readonly secret: string;
  /** The first four characters of the secret, as with IAS. */
  readonly hint: string;
  readonly description?: string;
  readonly authorizationScopes: readonly string[];
  /** RFC 3339; absent for a secret without end. */
  readonly validTo?: string;
}

/** An application. */
export interface StoredApplication {
  readonly id: string;
  readonly name: string;
  readonly clientId: string;
  /** Whether it ever had a secret: IAS generates the client ID with the first one. */
  readonly hasClientId: boolean;
  /** Before that time nobody is shown it. */
  readonly visibleAtMs: number;
  /** The body with which it was created. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly secrets: readonly StoredSecret[];
}

/** How much was made and removed since the start. */
export interface DirectoryCounters {
  readonly created: number;
  readonly deleted: number;
  readonly secretsCreated: number;
  readonly secretsDeleted: number;
}

/** What a secret is made with. */
type SecretRequest = Omit<StoredSecret, "secret" | "hint"> & { readonly secret?: string };

/** Keeps applications in the order in which they were made. Names need not be unique, as in IAS. */
export class ApplicationDirectory {
  readonly #applications = new Map<string, StoredApplication>();
  #counters: DirectoryCounters = { created: 0, deleted: 0, secretsCreated: 0, secretsDeleted: 0 };

  get counters(): DirectoryCounters {
    return this.#counters;
  }

  list(): readonly StoredApplication[] {
    return [...this.#applications.values()];
  }

  get(id: string): StoredApplication | undefined {
    return this.#applications.get(id);
  }

  byClientId(clientId: string): StoredApplication | undefined {
    return this.list().find((application) => application.clientId === clientId);
  }

  create(name: string, body: StoredApplication["body"] = {}, visibleAtMs = 0): StoredApplication {
    const application = { id: randomUUID(), name, clientId: randomUUID(), hasClientId: false, visibleAtMs, body, secrets: [] };
    this.#applications.set(application.id, application);
    this.#count("created");
    return application;
  }

  /** False if there is no such application. */
  delete(id: string): boolean {
    const deleted = this.#applications.delete(id);
    if (deleted) this.#count("deleted");
    return deleted;
  }

  /** Undefined if there is no such application. */
  addSecret(id: string, { secret = newSecret(), ...rest }: SecretRequest): StoredSecret | undefined {
    const application = this.#applications.get(id);
    if (!application) return undefined;
    const stored = { ...rest, secret, hint: secret.slice(0, 4) };
    this.#applications.set(id, { ...application, hasClientId: true, secrets: [...application.secrets, stored] });
    this.#count("secretsCreated");
    return stored;
  }

  /** Of several secrets with the hint, the one that runs out first goes. False if there is none. */
  deleteSecret(id: string, hint: string): boolean {
    const application = this.#applications.get(id);
    const [first] = (application?.secrets ?? []).filter((secret) => secret.hint === hint).sort((a, b) => endOf(a) - endOf(b));
    if (!application || !first) return false;
    this.#applications.set(id, { ...application, secrets: application.secrets.filter((secret) => secret !== first) });
    this.#count("secretsDeleted");
    return true;
  }

  /** Whether a client may log in with this secret at that time. */
  accepts(clientId: string, secret: string, nowMs: number): boolean {
    return this.byClientId(clientId)?.secrets.some((known) => known.secret === secret && endOf(known) > nowMs) ?? false;
  }

  #count(what: keyof DirectoryCounters): void {
    this.#counters = { ...this.#counters, [what]: this.#counters[what] + 1 };
  }
}

/** What the API allows in secrets and hints. */
const secretCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789[]_:=?@-./~";

function newSecret(): string {
  return Array.from({ length: 35 }, () => secretCharacters.charAt(randomInt(secretCharacters.length))).join("");
}

function endOf({ validTo }: StoredSecret): number {
  return validTo === undefined ? Infinity : Date.parse(validTo);
}

// What each request does to the directory.

type Handler = (request: IasRequest, tenant: IasTenant) => IasAnswer | Promise<IasAnswer>;

const authenticationSchema = "urn:sap:identity:application:schemas:extension:sci:1.0:Authentication";

const newApplication = z.looseObject({ name: z.string().min(1).max(255) });
const newSecretHandlers = z.object({
  authorizationScopes: z.array(z.enum(["manageApp", "manageUsers", "oAuth"])).default([]),
  description: z.string().max(255).optional(),
  validTo: z.string().optional(),
});

/** Carries a request out. */
export const handlers: Readonly<Record<IasStep, Handler>> = {
  discover: (_, { url }) => json(200, { issuer: url, token_endpoint: `${url}/oauth2/token`, jwks_uri: `${url}/oauth2/certs` }),
  jwks: async (_, { signer }) => json(200, await signer.keySet()),
  token: issueToken,
  find: forAdministrator(({ query }, tenant) => {
    const visible = tenant.directory.list().filter(({ visibleAtMs }) => visibleAtMs <= tenant.nowMs);
    return listPage(visible, query, (application) => shown(application, tenant));
  }),
  create: forAdministrator(({ body }, { directory, nowMs, shownAfterMs }) => {
    const wanted = newApplication.safeParse(parsed(body));
    if (!wanted.success) return invalid(wanted.error);
    const { id } = directory.create(wanted.data.name, wanted.data, nowMs + shownAfterMs);
    return empty(201, { location: `/Applications/v1/${id}` });
  }),
  read: forApplication((application, _, tenant) => json(200, shown(application, tenant))),
  delete: forApplication(({ id }, _, { directory }) => empty(directory.delete(id) ? 200 : 404)),
  "create-secret": forApplication(({ id }, { body }, { directory, nowMs }) => {
    const wanted = newSecretHandlers.safeParse(parsed(body));
    if (!wanted.success) return invalid(wanted.error);
    const { authorizationScopes, description, validTo } = wanted.data;
    if (validTo !== undefined && !(Date.parse(validTo) > nowMs))
      return refusal(400, "Invalid input.", [{ target: "validTo", message: "must be in the future" }]);
    const optional = { ...(description !== undefined && { description }), ...(validTo !== undefined && { validTo }) };
    return json(201, directory.addSecret(id, { authorizationScopes, ...optional }));
  }),
  "list-secrets": forApplication(({ secrets }) => json(200, { secrets: secrets.map((stored) => ({ ...stored, secret: undefined })) })),
  "delete-secret": forApplication(({ id }, { query }, { directory }) => {
    const hint = query.get("hint") ?? "";
    if (hint.length !== 4) return refusal(400, "Invalid input.", [{ target: "hint", message: "must have 4 characters" }]);
    return directory.deleteSecret(id, hint) ? empty(200) : refusal(404, "The secret does not exist.");
  }),
};

function forAdministrator(handler: Handler): Handler {
  return (request, tenant) => {
    const expected = `Basic ${Buffer.from(`${tenant.username}:${tenant.password}`).toString("base64")}`;
    return request.authorization === expected ? handler(request, tenant) : refusal(401, "Authentication failed.");
  };
}

function forApplication(handler: (application: StoredApplication, request: IasRequest, tenant: IasTenant) => IasAnswer): Handler {
  return forAdministrator((request, tenant) => {
    const application = tenant.directory.get(request.applicationId ?? "");
    if (application && application.visibleAtMs <= tenant.nowMs) return handler(application, request, tenant);
    return refusal(404, `Application ${request.applicationId} does not exist.`);
  });
}

function shown({ id, name, clientId, hasClientId, body }: StoredApplication, { clientIdFrom }: IasTenant): unknown {
  const given = z.looseObject({}).safeParse(body[authenticationSchema]);
  const showsClientId = hasClientId || clientIdFrom === "creation";
  return { ...body, id, name, [authenticationSchema]: { ...given.data, ...(showsClientId && { clientID: clientId }) } };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    // Then it is no body that any schema allows.
    return undefined;
  }
}

function invalid(error: z.ZodError): IasAnswer {
  const details = error.issues.map(({ path, message }) => ({ target: path.join("."), message }));
  return refusal(400, "Invalid input.", details);
}

// The list of applications as IAS gives it out: filtered, and in pages.

const maxPage = 100;

/** One page. `show` makes an application what the API shows of it. */
function listPage(all: readonly StoredApplication[], query: URLSearchParams, show: (application: StoredApplication) => unknown): IasAnswer {
  const filter = filterOf(query.get("filter"));
  if (!filter) return refusal(400, "Invalid input.", [{ target: "filter", message: "is not supported" }]);
  const limit = Number(query.get("limit") ?? maxPage);
  if (!Number.isInteger(limit) || limit < 1 || limit > maxPage) {
    return refusal(400, "Invalid input.", [{ target: "limit", message: `must be 1 to ${maxPage}` }]);
  }
  const found = all.filter(filter);
  const cursor = query.get("cursor");
  const start = cursor === null ? Number(query.get("skip") ?? 0) : found.findIndex(({ id }) => id === cursor);
  if (start < 0) return refusal(400, "Invalid input.", [{ target: "cursor", message: "is not known" }]);
  const next = found[start + limit];
  const applications = found.slice(start, start + limit).map(show);
  return json(200, { totalResults: found.length, itemsPerPage: limit, ...(next && { nextCursor: next.id }), applications });
}

/** Which applications are wanted; undefined for a filter that the API does not have. */
function filterOf(text: string | null): ((application: StoredApplication) => boolean) | undefined {
  if (text === null) return () => true;
  const parts = /^(id|name|clientID) eq (?:("(?:[^"\\]|\\.)*")|([^\s"]+))$/.exec(text);
  if (!parts) return undefined;
  const [, attribute, quoted, plain] = parts;
  const wanted: unknown = quoted === undefined ? plain : JSON.parse(quoted);
  return ({ id, name, clientId }) => (attribute === "id" ? id : attribute === "name" ? name : clientId) === wanted;
}
