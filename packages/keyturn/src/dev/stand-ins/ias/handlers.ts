// What each request does to the directory and what IAS answers.
import * as z from "zod";
import { empty, type IasAnswer, json, refusal } from "./answer.ts";
import type { StoredApplication } from "./application-directory.ts";
import { listPage } from "./application-list.ts";
import type { IasRequest, IasTenant } from "./request.ts";
import type { IasStep } from "./step.ts";
import { issueToken } from "./token-endpoint.ts";

type Handler = (request: IasRequest, tenant: IasTenant) => IasAnswer | Promise<IasAnswer>;

const authenticationSchema = "urn:sap:identity:application:schemas:extension:sci:1.0:Authentication";

const newApplication = z.looseObject({ name: z.string().min(1).max(255) });
const newSecret = z.object({
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
    const wanted = newSecret.safeParse(parsed(body));
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
