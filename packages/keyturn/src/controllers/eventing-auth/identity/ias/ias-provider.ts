// SAP Cloud Identity Services as an identity provider, through its Application Directory API.
import type * as z from "zod";
import { discoverOnce, withoutSlash } from "../discovery.ts";
import { IdentityError } from "../identity-error.ts";
import type { IdentityProvider, IssuedSecret } from "../identity-provider.ts";
import { decode, expectStatus, isGone, oddAnswer, type ProviderAnswer } from "../provider-answer.ts";
import type { ProviderHttp, ProviderRequest } from "../provider-http.ts";
import { acceptsCredentials } from "../token-request.ts";
import {
  applicationSchema,
  authenticationSchema,
  createdSecretSchema,
  descriptionFor,
  filterByName,
  idInLocation,
  isApplicationId,
  type ListedApplication,
  newApplicationBody,
  newSecretBody,
  pageSchema,
  secretsSchema,
  timeOf,
  wholePageSchema,
} from "./directory-protocol.ts";

/** A tenant and its administrator. */
export interface IasSettings {
  /** `https://<tenant>.accounts.ondemand.com`. */
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** The global account that new applications belong to; empty for none. */
  readonly globalAccount: string;
}

/** What the provider needs besides its settings. */
export interface IasDependencies {
  readonly http: ProviderHttp;
  readonly allowHttp: boolean;
}

/** A request to the directory; `path` is what follows `/Applications/v1/`. */
type DirectoryRequest = Omit<ProviderRequest, "url" | "headers"> & { readonly path: string };

const listing = "failed to fetch existing applications";
/** Ten thousand applications of one name: whatever answers like that does not heed the filter. */
const mostPages = 100;
/** Hints are four characters of about 70: meeting one that is in use even twice in a row is as good as impossible. */
const mostSecretTries = 3;

/** Opens a tenant. Nothing is asked before it is needed. The errors start with the original's words. */
export function iasProvider(settings: IasSettings, { http, allowHttp }: IasDependencies): IdentityProvider {
  const url = withoutSlash(settings.url);
  const authorization = `Basic ${Buffer.from(`${settings.username}:${settings.password}`).toString("base64")}`;
  const discovered = discoverOnce(http, { url, allowHttp, check: "same-host" });
  const ask = <T>({ path, ...request }: DirectoryRequest, read: (answer: ProviderAnswer) => T, signal?: AbortSignal): Promise<T> => {
    const headers = { authorization, ...(request.body !== undefined && { "content-type": "application/json" }) };
    return http.ask({ ...request, url: `${url}/Applications/v1/${path}`, headers }, read, signal);
  };

  /** All applications that a filter finds. */
  const list = async (filter: string, signal?: AbortSignal): Promise<readonly ListedApplication[]> => {
    const request = { step: "find", attempt: listing, method: "GET" } as const;
    const query = new URLSearchParams({ filter });
    const found: ListedApplication[] = [];
    for (let pages = 0; pages < mostPages; pages++) {
      const page = await ask({ ...request, path: `?${query.toString()}` }, readPage, signal);
      if (!page) {
        // IAS answers 404 to a filter that finds nothing, and so does a proxy that knows no such address.
        await ask({ ...request, path: "?limit=1" }, readWholePage, signal);
        return [];
      }
      found.push(...(page.applications ?? []));
      if (!page.nextCursor) return found;
      query.set("cursor", page.nextCursor);
    }
    throw new IdentityError(`${listing}: the list has more than ${mostPages} pages`, { code: "Transient", step: "find" });
  };
  /** An application that was not found by its id is gone only if the list does not have it either. */
  const assertUnlisted = async (id: string, { step, attempt }: Pick<ProviderRequest, "step" | "attempt">, signal?: AbortSignal): Promise<void> => {
    const listed = (await list(`id eq ${id}`, signal)).some((each) => each.id.toLowerCase() === id.toLowerCase());
    if (listed)
      throw new IdentityError(`${attempt}: application ${id} is not found by its id, but is listed`, { code: "Transient", step, status: 404 });
  };

  return {
    type: "ias",
    secretsOverlap: true,

    async find({ name, uid }, signal) {
      const filter = filterByName(name);
      if (filter === undefined) {
        throw new IdentityError(`${listing}: the name is too long for a filter of IAS`, { code: "Terminal", step: "find" });
      }
      const found = await list(filter, signal);
      // Looked at again here: what a server returns that heeds no filter must not be taken for ours.
      return found.filter((each) => each.name === name).map(({ id, description }) => ({ id, isOurs: description === descriptionFor(uid) }));
    },

    async read({ id }, signal) {
      if (!isApplicationId(id)) return undefined;
      const attempt = "failed to retrieve client ID";
      const found = await ask(
        { step: "read", attempt, method: "GET", path: id },
        (answer) => (isGone(answer) ? "gone" : readApplication(answer)),
        signal,
      );
      if (found !== "gone") return { id, clientId: found.clientId };
      await assertUnlisted(id, { step: "read", attempt }, signal);
      return undefined;
    },

    create(owner, signal) {
      const body = newApplicationBody(owner, settings.globalAccount);
      return ask({ step: "create", attempt: "failed to create application", method: "POST", path: "", body }, readCreated, signal);
    },

    async delete({ id }, signal) {
      if (!isApplicationId(id)) return;
      const attempt = "failed to delete application";
      const outcome = await ask({ step: "delete", attempt, method: "DELETE", path: id }, readDeleted, signal);
      if (outcome === "gone") await assertUnlisted(id, { step: "delete", attempt }, signal);
    },

    async issueSecret({ id }, { validToMs, known = [] }, signal) {
      const request = { step: "issue-secret", attempt: "failed to create api secret", method: "POST" } as const;
      if (!isApplicationId(id))
        throw new IdentityError(`${request.attempt}: ${id} is no id of an application`, { code: "Terminal", step: request.step });
      const body = newSecretBody(validToMs);
      for (let tries = 0; tries < mostSecretTries; tries++) {
        const issued = await ask({ ...request, path: `${id}/apiSecrets`, body }, readIssued, signal);
        // Two with one hint cannot be told apart when one is to be deleted. The one at hand is dropped; nobody will ever know it.
        if (!known.includes(issued.hint)) return issued;
      }
      throw new IdentityError(`${request.attempt}: ${mostSecretTries} new ones had hints that are in use`, { code: "Transient", step: request.step });
    },

    async listSecrets({ id }, signal) {
      if (!isApplicationId(id)) return [];
      const { secrets } = await ask(
        { step: "list-secrets", attempt: "failed to list api secrets", method: "GET", path: `${id}/apiSecrets` },
        readSecrets,
        signal,
      );
      return (secrets ?? []).map(({ hint, validTo }) => ({ hint, validToMs: timeOf(validTo) }));
    },

    async deleteSecret({ id }, hint, signal) {
      if (!isApplicationId(id)) return;
      const path = `${id}/apiSecrets?${new URLSearchParams({ hint }).toString()}`;
      await ask({ step: "delete-secret", attempt: "failed to delete api secret", method: "DELETE", path }, readDeleted, signal);
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

/** Undefined if it was answered that nothing was found. Nobody has documented the body of that answer. */
function readPage(answer: ProviderAnswer): z.infer<typeof pageSchema> | undefined {
  if (isGone(answer) || (answer.status === 404 && answer.text.trim() === "")) return undefined;
  expectStatus(answer, 200);
  return decode(answer, pageSchema);
}

function readWholePage(answer: ProviderAnswer): void {
  expectStatus(answer, 200);
  decode(answer, wholePageSchema);
}

function readApplication(answer: ProviderAnswer): { readonly clientId: string | undefined } {
  expectStatus(answer, 200);
  return { clientId: decode(answer, applicationSchema)[authenticationSchema].clientID ?? undefined };
}

function readCreated(answer: ProviderAnswer): { readonly id: string } {
  expectStatus(answer, 201);
  const id = idInLocation(answer.headers["location"]);
  if (id === undefined) throw oddAnswer(answer, "failed to retrieve application ID from header: Location names no application");
  return { id };
}

function readIssued(answer: ProviderAnswer): IssuedSecret {
  expectStatus(answer, 201);
  const { secret, hint } = decode(answer, createdSecretSchema);
  // The API's example shows that a hint is how the secret starts.
  return { secret, hint: hint ?? secret.slice(0, 4) };
}

function readSecrets(answer: ProviderAnswer): z.infer<typeof secretsSchema> {
  if (isGone(answer)) return {};
  expectStatus(answer, 200);
  return decode(answer, secretsSchema);
}

function readDeleted(answer: ProviderAnswer): "gone" | "deleted" {
  if (isGone(answer)) return "gone";
  expectStatus(answer, 200, 204);
  return "deleted";
}
