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
  filterByName,
  idInLocation,
  isApplicationId,
  newApplicationBody,
  newSecretBody,
  pageSchema,
  secretsSchema,
  timeOf,
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

  return {
    type: "ias",
    secretsOverlap: true,

    async find({ name }, signal) {
      const attempt = "failed to fetch existing applications";
      const filter = filterByName(name);
      if (filter === undefined) throw new IdentityError(`${attempt}: the name is too long for a filter of IAS`, { code: "Terminal", step: "find" });
      const query = new URLSearchParams({ filter });
      const found: { readonly id: string }[] = [];
      for (let pages = 0; pages < mostPages; pages++) {
        const page = await ask({ step: "find", attempt, method: "GET", path: `?${query.toString()}` }, readPage, signal);
        // Looked at again here: what a server returns that heeds no filter must not be taken for ours.
        found.push(...(page.applications ?? []).filter((application) => application.name === name).map(({ id }) => ({ id })));
        if (!page.nextCursor) return found;
        query.set("cursor", page.nextCursor);
      }
      throw new IdentityError(`${attempt}: the list has more than ${mostPages} pages`, { code: "Transient", step: "find" });
    },

    async read({ id }, signal) {
      if (!isApplicationId(id)) return undefined;
      const read = (answer: ProviderAnswer): string | undefined => (isGone(answer) ? undefined : readClientId(answer));
      const clientId = await ask({ step: "read", attempt: "failed to retrieve client ID", method: "GET", path: id }, read, signal);
      return clientId === undefined ? undefined : { id, clientId };
    },

    create({ name }, signal) {
      const body = newApplicationBody(name, settings.globalAccount);
      return ask({ step: "create", attempt: "failed to create application", method: "POST", path: "", body }, readCreated, signal);
    },

    async delete({ id }, signal) {
      if (!isApplicationId(id)) return;
      await ask({ step: "delete", attempt: "failed to delete application", method: "DELETE", path: id }, readDeleted, signal);
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

function readPage(answer: ProviderAnswer): z.infer<typeof pageSchema> {
  if (isGone(answer)) return {};
  expectStatus(answer, 200);
  return decode(answer, pageSchema);
}

function readClientId(answer: ProviderAnswer): string {
  expectStatus(answer, 200);
  return decode(answer, applicationSchema)[authenticationSchema].clientID;
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

function readDeleted(answer: ProviderAnswer): void {
  if (!isGone(answer)) expectStatus(answer, 200, 204);
}
