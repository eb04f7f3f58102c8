// The requests that IAS answers, by name: what failures are switched on for and what is counted.

/** One kind of request. */
export type IasStep = "find" | "create" | "read" | "delete" | "create-secret" | "list-secrets" | "delete-secret" | "discover" | "token" | "jwks";

/** A request's step, and the application that its path names. */
export interface IasRoute {
  readonly step: IasStep;
  readonly applicationId?: string;
}

const collection = "/Applications/v1";

/** What a request asks for; undefined for anything that IAS does not have. */
export function routeOf(method: string, path: string): IasRoute | undefined {
  if (method === "GET" && path === "/.well-known/openid-configuration") return { step: "discover" };
  if (method === "GET" && path === "/oauth2/certs") return { step: "jwks" };
  if (method === "POST" && path === "/oauth2/token") return { step: "token" };
  if (path === collection || path === `${collection}/`) return stepOf(method, { GET: "find", POST: "create" });
  const [id, part, ...more] = path.startsWith(`${collection}/`) ? path.slice(collection.length + 1).split("/") : [];
  if (!id || more.length > 0) return undefined;
  if (part === undefined) return stepOf(method, { GET: "read", DELETE: "delete" }, id);
  if (part === "apiSecrets") return stepOf(method, { GET: "list-secrets", POST: "create-secret", DELETE: "delete-secret" }, id);
  return undefined;
}

function stepOf(method: string, steps: Readonly<Record<string, IasStep>>, applicationId?: string): IasRoute | undefined {
  const step = steps[method];
  return step && { step, ...(applicationId !== undefined && { applicationId }) };
}
