// A tenant's well-known document: where tokens are fetched and verified, and where clients are registered.
import { abortRace } from "@keyturn/runtime";
import * as z from "zod";
import { decode, IdentityError, type ProviderHttp, type ProviderResponse, refusalOf, unusableResponse } from "./provider-http.ts";
import type { Endpoints } from "./provider.ts";

/** What is used of the well-known document. */
interface Discovered extends Endpoints {
  /** RFC 7591; absent where clients cannot be registered. */
  readonly registrationUrl?: string;
}

/** How the well-known document is asked for. */
interface DiscoveryOptions {
  /** The tenant's address; for OpenID servers, the issuer. */
  readonly url: string;
  readonly allowHttp: boolean;
  /**
   * `same-issuer`: the issuer must be the very URL that was asked (OpenID Connect Discovery, section 4.3).
   * `same-host`: the endpoints must be at the tenant's host or the issuer's. IAS tenants are reached by several names and call themselves by one.
   */
  readonly check: "same-issuer" | "same-host";
}

/** Asks once: callers that come together share one request, and what it finds is kept. A failure is not. */
export function discoverOnce(http: ProviderHttp, options: DiscoveryOptions): (signal?: AbortSignal) => Promise<Discovered> {
  let found: Promise<Discovered> | undefined;
  return (signal) => {
    // Nobody's signal ends the request that others wait for too; its deadline does.
    found ??= discover(http, options).catch((error: unknown) => {
      found = undefined;
      throw error;
    });
    return abortRace(found, signal);
  };
}

const documentSchema = z.object({
  issuer: z.string(),
  token_endpoint: z.string(),
  jwks_uri: z.string(),
  registration_endpoint: z.string().optional(),
});

const attempt = "failed to fetch token url";

/** The well-known document's address. An issuer with a path has it before the well-known part, as OpenID Connect (not RFC 8414) has it. */
function documentUrl(url: string): string {
  return `${withoutSlash(url)}/.well-known/openid-configuration`;
}

/** Fetches and checks the well-known document, without credentials. */
function discover(http: ProviderHttp, options: DiscoveryOptions, signal?: AbortSignal): Promise<Discovered> {
  return http.ask({ operation: "discover", attempt, method: "GET", url: documentUrl(options.url) }, (response) => read(response, options), signal);
}

function read(response: ProviderResponse, { url, allowHttp, check }: DiscoveryOptions): Discovered {
  if (response.status !== 200) throw refusalOf(response);
  const { issuer, token_endpoint: tokenUrl, jwks_uri: jwksUrl, registration_endpoint: registrationUrl } = decode(response, documentSchema);
  const wrong = [issuer, tokenUrl, jwksUrl, ...(registrationUrl === undefined ? [] : [registrationUrl])].find(
    (address) => !isUsable(address, allowHttp),
  );
  if (wrong !== undefined) throw unusableResponse(response, "the well-known document has an address that is no https:// URL");
  const { operation, status, clean } = response;
  if (check === "same-issuer" && !isSameAddress(issuer, url)) {
    const message = clean(`${attempt}: the issuer at ${url} calls itself ${issuer}; correct the URL`);
    throw new IdentityError(message, { code: "Terminal", operation, status });
  }
  const hosts = new Set([hostOf(url), hostOf(issuer)]);
  const stray = [tokenUrl, jwksUrl].find((address) => !hosts.has(hostOf(address)));
  if (check === "same-host" && stray !== undefined) {
    const message = clean(`${attempt}: the tenant ${url} names endpoints at another host (${hostOf(stray)}); client secrets would go there`);
    throw new IdentityError(message, { code: "Terminal", operation, status });
  }
  return { issuer, tokenUrl, jwksUrl, ...(registrationUrl !== undefined && { registrationUrl }) };
}

/** Whether an address that the provider names can be used: https://, or http:// if that is allowed, and without a password in it. */
export function isUsable(address: string, allowHttp: boolean): boolean {
  const url = URL.parse(address);
  if (!url || url.username !== "" || url.password !== "") return false;
  return url.protocol === "https:" || (allowHttp && url.protocol === "http:");
}

function hostOf(address: string): string | undefined {
  return URL.parse(address)?.host;
}

/** Whether two addresses are the same, however they are spelled. */
export function isSameAddress(one: string, other: string): boolean {
  const [first, second] = [one, other].map((address) => withoutSlash(URL.parse(address)?.href ?? address));
  return first === second;
}

/** The address less slashes at its end. Looks at a run of slashes once: without looking back, the expression would begin anew at each of them. */
export function withoutSlash(url: string): string {
  return url.replace(/(?<!\/)\/+$/, "");
}
