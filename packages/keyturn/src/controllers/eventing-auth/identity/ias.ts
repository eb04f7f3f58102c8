// SAP Cloud Identity Services (IAS) as an identity provider, through its Application Directory API.
import * as z from "zod";
import { discoverOnce, withoutSlash } from "./discovery.ts";
import {
  acceptsCredentials,
  decode,
  expectDone,
  expectStatus,
  IdentityError,
  isGone,
  type ProviderHttp,
  type ProviderRequest,
  type ProviderResponse,
  unusableResponse,
} from "./provider-http.ts";
import type { IdentityProvider, IssuedSecret, Trace } from "./provider.ts";
import { limits } from "../../../limits.ts";

/** A tenant and its administrator. */
interface IasSettings {
  /** `https://<tenant>.accounts.ondemand.com`. */
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** The global account that new applications belong to; empty for none. */
  readonly globalAccount: string;
}

/** What the provider needs besides its settings. */
interface IasDependencies {
  readonly http: ProviderHttp;
  readonly allowHttp: boolean;
}

/** A request to the directory; `path` is what follows `/Applications/v1/`. */
type DirectoryRequest = Omit<ProviderRequest, "url" | "headers"> & { readonly path: string };

const listing = "failed to fetch existing applications";
/** Hints are four characters of about 70: meeting one that is in use even twice in a row is as good as impossible. */
const maxSecretTries = 3;

/** Opens a tenant. Nothing is asked before it is needed. The errors start with the predecessor's words. */
export function iasProvider(settings: IasSettings, { http, allowHttp }: IasDependencies): IdentityProvider {
  const url = withoutSlash(settings.url);
  const authorization = `Basic ${Buffer.from(`${settings.username}:${settings.password}`).toString("base64")}`;
  const discovered = discoverOnce(http, { url, allowHttp, check: "same-host" });
  const ask = <T>({ path, ...request }: DirectoryRequest, read: (response: ProviderResponse) => T, signal?: AbortSignal): Promise<T> => {
    const headers = { authorization, ...(request.body !== undefined && { "content-type": "application/json" }) };
    return http.ask({ ...request, url: `${url}/Applications/v1/${path}`, headers }, read, signal);
  };

  /** All applications that a filter finds, and maybe others; all that there are without a filter. */
  const list = async (filter: string | undefined, signal?: AbortSignal): Promise<readonly ListedApplication[]> => {
    const request = { operation: "find", attempt: listing, method: "GET" } as const;
    const query = new URLSearchParams(filter === undefined ? { limit: "100" } : { filter });
    const found: ListedApplication[] = [];
    for (let pages = 0; pages < limits.providerPages; pages++) {
      const page = await ask({ ...request, path: `?${query.toString()}` }, filter !== undefined && pages === 0 ? readFirstPage : readPage, signal);
      // IAS answers 404 to a filter that finds nothing, and so does a proxy that knows no such address.
      if (page === "nobody's words") return list(undefined, signal);
      if (page === "none") {
        await ask({ ...request, path: "?limit=1" }, readWholePage, signal);
        return [];
      }
      found.push(...(page.applications ?? []).flatMap(({ id, ...shown }) => (id ? [{ id, ...shown }] : [])));
      if (!page.nextCursor) return found;
      if (page.nextCursor === query.get("cursor")) break;
      query.set("cursor", page.nextCursor);
    }
    throw new IdentityError(`${listing}: the list has no end, or more than ${limits.providerPages} pages`, { code: "Transient", operation: "find" });
  };
  /** An application that was not found by its id is gone only if the list does not have it either. */
  const assertUnlisted = async (
    id: string,
    { operation, attempt }: Pick<ProviderRequest, "operation" | "attempt">,
    signal?: AbortSignal,
  ): Promise<void> => {
    const listed = (await list(`id eq ${id}`, signal)).some((each) => each.id.toLowerCase() === id.toLowerCase());
    if (listed)
      throw new IdentityError(`${attempt}: application ${id} is not found by its id, but is listed`, { code: "Transient", operation, status: 404 });
  };

  const read: IdentityProvider["read"] = async ({ id, name, uid, permit }, signal) => {
    if (!isApplicationId(id)) return undefined;
    const attempt = "failed to retrieve client ID";
    const found = await ask(
      { operation: "read", attempt, method: "GET", path: id, permit },
      (response) => (isGone(response) ? "gone" : readApplication(response, id)),
      signal,
    );
    if (found !== "gone") return { id, clientId: found[authenticationSchema]?.clientID ?? undefined, trace: traceIn(found, { name, uid }) };
    await assertUnlisted(id, { operation: "read", attempt }, signal);
    return undefined;
  };

  return {
    type: "ias",
    url,
    secretsOverlap: true,
    read,

    async find({ name, uid }, signal) {
      const filter = filterByName(name);
      // None is ever made that could not be found again.
      if (filter === undefined) return [];
      const found = await list(filter, signal);
      // Looked at again here: what a server returns that heeds no filter must not be taken for ours.
      return found.filter((each) => each.name === name).map((each) => ({ id: each.id, trace: traceIn(each, { name, uid }) }));
    },

    has: async (application, signal) => (await read(application, signal)) !== undefined,

    async listMade(signal) {
      const all = await list(undefined, signal);
      return all.flatMap(({ id, name, description }) => {
        const uid = uidIn(description);
        return uid === undefined ? [] : [{ id, name: name ?? "", uid }];
      });
    },

    async create(owner, signal) {
      const body = newApplicationBody(owner, settings.globalAccount);
      const request = { operation: "create", attempt: "failed to create application", method: "POST", path: "", body } as const;
      if (filterByName(owner.name) === undefined)
        throw new IdentityError(`${request.attempt}: the name is too long for a filter of IAS`, { code: "Terminal", operation: "create" });
      return ask({ ...request, permit: owner.permit }, readCreated, signal);
    },

    async delete(application, signal) {
      const { id, permit } = application;
      if (!isApplicationId(id)) return;
      const attempt = "failed to delete application";
      const outcome = await ask({ operation: "delete", attempt, method: "DELETE", path: id, permit }, readDeleted, signal);
      if (outcome === "gone") await assertUnlisted(id, { operation: "delete", attempt }, signal);
      else if (await read(application, signal))
        throw new IdentityError(`${attempt}: the answer was that it is done, but application ${id} is still there`, {
          code: "Transient",
          operation: "delete",
        });
    },

    async issueSecret({ id, permit }, { validToMs, known = [] }, signal) {
      const request = { operation: "issue-secret", attempt: "failed to create api secret", method: "POST", permit } as const;
      if (!isApplicationId(id))
        throw new IdentityError(`${request.attempt}: ${id} is no id of an application`, { code: "Terminal", operation: request.operation });
      const body = newSecretBody(validToMs);
      for (let tries = 0; tries < maxSecretTries; tries++) {
        const issued = await ask({ ...request, path: `${id}/apiSecrets`, body }, readIssued, signal);
        // Two with one hint cannot be distinguished when one is to be deleted. The one at hand is dropped; nobody will ever know it.
        if (!known.includes(issued.hint)) return issued;
      }
      throw new IdentityError(`${request.attempt}: ${maxSecretTries} new ones had hints that are in use`, {
        code: "Transient",
        operation: request.operation,
      });
    },

    async listSecrets({ id }, signal) {
      if (!isApplicationId(id)) return [];
      const { secrets } = await ask(
        { operation: "list-secrets", attempt: "failed to list api secrets", method: "GET", path: `${id}/apiSecrets` },
        readSecrets,
        signal,
      );
      return (secrets ?? []).flatMap(({ hint, validTo }) => (hint ? [{ hint, validToMs: timeOf(validTo) }] : []));
    },

    async deleteSecret({ id, permit }, hint, signal) {
      if (!isApplicationId(id)) return;
      const path = `${id}/apiSecrets?${new URLSearchParams({ hint }).toString()}`;
      await ask({ operation: "delete-secret", attempt: "failed to delete api secret", method: "DELETE", path, permit }, readDeleted, signal);
    },

    async endpoints(signal) {
      const { issuer, tokenUrl, jwksUrl } = await discovered(signal);
      return { issuer, tokenUrl, jwksUrl };
    },

    async accepts(credentials, signal) {
      const { tokenUrl } = await discovered(signal);
      // IAS's secrets are full of characters that some servers decode in a header and others do not.
      return acceptsCredentials(http, { tokenUrl, method: "client_secret_post", ...credentials }, signal);
    },

    close: () => http.close(),
  };
}

/** Nobody has documented the body of the response that nothing was found. Only IAS's own words say so; an empty one may be anybody's. */
function readFirstPage(response: ProviderResponse): z.infer<typeof pageSchema> | "none" | "nobody's words" {
  if (isGone(response)) return "none";
  return response.status === 404 && response.text.trim() === "" ? "nobody's words" : readPage(response);
}

function readPage(response: ProviderResponse): z.infer<typeof pageSchema> {
  expectStatus(response, 200);
  return decode(response, pageSchema);
}

function readWholePage(response: ProviderResponse): void {
  expectStatus(response, 200);
  decode(response, wholePageSchema);
}

function readApplication(response: ProviderResponse, id: string): z.infer<typeof applicationSchema> {
  expectStatus(response, 200);
  const application = decode(response, applicationSchema);
  if (application.id && application.id.toLowerCase() !== id.toLowerCase()) throw unusableResponse(response, "the answer is another application");
  return application;
}

function readCreated(response: ProviderResponse): { readonly id: string } {
  expectStatus(response, 201);
  const id = idInLocation(response.headers["location"]);
  if (id === undefined) throw unusableResponse(response, "failed to retrieve application ID from header: Location names no application");
  return { id };
}

function readIssued(response: ProviderResponse): IssuedSecret {
  expectStatus(response, 201);
  const { secret, hint } = decode(response, createdSecretSchema);
  // The API's example shows that a hint is how the secret starts.
  return { secret, hint: hint ?? secret.slice(0, 4) };
}

function readSecrets(response: ProviderResponse): z.infer<typeof secretsSchema> {
  if (isGone(response)) return {};
  expectStatus(response, 200);
  return decode(response, secretsSchema);
}

function readDeleted(response: ProviderResponse): "gone" | "deleted" {
  if (isGone(response)) return "gone";
  expectDone(response);
  return "deleted";
}

// The wire form of SAP's Application Directory API: paths, bodies, and what its responses must look like.

/** The part of an application that has to do with logging in. */
const authenticationSchema = "urn:sap:identity:application:schemas:extension:sci:1.0:Authentication";

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether IAS can have given this id. */
export function isApplicationId(id: string): boolean {
  return uuidPattern.test(id);
}

/** The API's limit. */
const maxFilter = 255;

/**
 * The filter that finds applications by name; undefined if the name is too long for one. The API documents bare words; a name that is no such
 * word is quoted as SCIM does (RFC 7644, 3.4.2.2), so that no name can become another filter.
 */
export function filterByName(name: string): string | undefined {
  const filter = `name eq ${/^[\w.-]+$/.test(name) ? name : JSON.stringify(name)}`;
  return filter.length <= maxFilter ? filter : undefined;
}

const mark = "made by Keyturn for the EventingAuth with the uid ";

/** What is left at an application to know it by: the API gives it out again with every list, and nobody guesses a uid. */
function descriptionFor(uid: string): string {
  return `${mark}${uid}`;
}

/** The uid in the mark of an application; undefined if it has none. */
function uidIn(description: string | null | undefined): string | undefined {
  return description?.startsWith(mark) ? description.slice(mark.length) : undefined;
}

/** Whom an application was made for, as far as it shows. A provider need not give either out. */
function traceIn(found: Omit<ListedApplication, "id">, owner: { readonly name: string; readonly uid: string }): Trace {
  const uid = uidIn(found.description);
  if (uid !== undefined) return uid === owner.uid ? "ours" : "other";
  if (found.name && found.name !== owner.name) return "other";
  return found.description?.trim() ? "text" : "none";
}

/** The body that creates an application. */
export function newApplicationBody({ name, uid }: { readonly name: string; readonly uid: string }, globalAccount: string): string {
  return JSON.stringify({
    branding: { displayName: name },
    description: descriptionFor(uid),
    globalAccount,
    name,
    schemas: [authenticationSchema],
    [authenticationSchema]: { ssoType: "openIdConnect" },
  });
}

/** The body that creates a secret. The description is the predecessor's, so that secrets of both are known for what they are. */
export function newSecretBody(validToMs: number | undefined): string {
  return JSON.stringify({
    authorizationScopes: ["oAuth"],
    description: "eventing-auth-manager",
    // Whole seconds, as in the API's own examples.
    ...(validToMs !== undefined && { validTo: `${new Date(validToMs).toISOString().slice(0, 19)}Z` }),
  });
}

// SAP's schemas demand nothing but an error's code and message. What is not used is not asked for, and what is used may be missing.

/** A page of applications. One without a list is one only if it says that there is nothing to list: anything else may be somebody else's JSON. */
const pageSchema = z
  .object({
    totalResults: z.number().nullish(),
    applications: z.array(z.object({ id: z.string().nullish(), name: z.string().nullish(), description: z.string().nullish() })).nullish(),
    nextCursor: z.string().nullish(),
  })
  .refine(({ applications, totalResults }) => applications ?? totalResults === 0, { path: ["applications"] });

interface ListedApplication {
  readonly id: string;
  readonly name?: string | null | undefined;
  readonly description?: string | null | undefined;
}

/** What shows that the directory answers at all: the list without a filter, which is never empty. */
const wholePageSchema = z.object({ applications: z.array(z.unknown()) });

/** One application: something that has its id, or else what has to do with logging in. IAS generates the client ID with the first secret. */
const applicationSchema = z
  .object({
    id: z.string().nullish(),
    name: z.string().nullish(),
    description: z.string().nullish(),
    [authenticationSchema]: z.object({ clientID: z.string().min(1).nullish() }).nullish(),
  })
  .refine((application) => application.id ?? application[authenticationSchema], { path: [authenticationSchema] });

/** A new secret. */
const createdSecretSchema = z.object({ secret: z.string().min(1), hint: z.string().min(1).nullish() });

/** The secrets of an application, without what is secret about them. */
const secretsSchema = z.object({
  secrets: z.array(z.object({ hint: z.string().nullish(), validTo: z.string().nullish() })).nullish(),
});

/** When a secret runs out. IAS leaves the time zone out; it is UTC. */
export function timeOf(validTo: string | null | undefined): number | undefined {
  if (!validTo) return undefined;
  const timeMs = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/i.test(validTo) ? validTo : `${validTo}Z`);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

/** The id in a `Location` header: the last part of its path; undefined if that is no id. */
export function idInLocation(location: string | undefined): string | undefined {
  const id = location
    ?.split(/[?#]/, 1)[0]
    ?.split("/")
    .findLast((part) => part !== "");
  return id !== undefined && isApplicationId(id) ? id : undefined;
}
