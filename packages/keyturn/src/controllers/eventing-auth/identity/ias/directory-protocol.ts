// The wire form of SAP's Application Directory API: paths, bodies, and what its answers must look like.
import * as z from "zod";

/** The part of an application that has to do with logging in. */
export const authenticationSchema = "urn:sap:identity:application:schemas:extension:sci:1.0:Authentication";

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether IAS can have given this id. */
export function isApplicationId(id: string): boolean {
  return uuidPattern.test(id);
}

/** The API's limit. */
const longestFilter = 255;

/**
 * The filter that finds applications by name; undefined if the name is too long for one. The API documents bare words; a name that is no such
 * word is quoted as SCIM does (RFC 7644, 3.4.2.2), so that no name can become another filter.
 */
export function filterByName(name: string): string | undefined {
  const filter = `name eq ${/^[\w.-]+$/.test(name) ? name : JSON.stringify(name)}`;
  return filter.length <= longestFilter ? filter : undefined;
}

/** What is left at an application to know it by: the API gives it out again with every list. */
export function descriptionFor(uid: string): string {
  return `made by Keyturn for the EventingAuth with the uid ${uid}`;
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

/** The body that creates a secret. The description is the original's, so that secrets of both are known for what they are. */
export function newSecretBody(validToMs: number | undefined): string {
  return JSON.stringify({
    authorizationScopes: ["oAuth"],
    description: "eventing-auth-manager",
    // Whole seconds, as in the API's own examples.
    ...(validToMs !== undefined && { validTo: `${new Date(validToMs).toISOString().slice(0, 19)}Z` }),
  });
}

/** A page of applications. The name is needed: an application that is not known to have the right one is not ours. */
export const pageSchema = z.object({
  applications: z.array(z.object({ id: z.string().regex(uuidPattern), name: z.string(), description: z.string().nullish() })).nullish(),
  nextCursor: z.string().nullish(),
});

export type ListedApplication = NonNullable<z.infer<typeof pageSchema>["applications"]>[number];

/** What shows that the directory answers at all: the list without a filter, which is never empty. */
export const wholePageSchema = z.object({ applications: z.array(z.unknown()) });

/** One application. */
export const applicationSchema = z.object({
  [authenticationSchema]: z.object({ clientID: z.string().min(1).nullish() }),
});

/** A new secret. */
export const createdSecretSchema = z.object({ secret: z.string().min(5), hint: z.string().length(4).optional() });

/** The secrets of an application, without what is secret about them. */
export const secretsSchema = z.object({
  secrets: z.array(z.object({ hint: z.string(), validTo: z.string().nullish() })).nullish(),
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
