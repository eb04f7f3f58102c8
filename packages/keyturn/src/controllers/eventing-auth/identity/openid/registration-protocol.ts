// The wire form of OpenID dynamic client registration (RFC 7591) and its management (RFC 7592).
import * as z from "zod";

/** How registered clients log in: the one way that every server has (RFC 6749, 2.3.1). */
export const tokenAuthMethod = "client_secret_basic";

/** The client that is registered: one that fetches tokens for itself and nothing else. */
export function newClientMetadata(name: string): Readonly<Record<string, unknown>> {
  return {
    client_name: name,
    grant_types: ["client_credentials"],
    response_types: [],
    redirect_uris: [],
    token_endpoint_auth_method: tokenAuthMethod,
  };
}

/** A client, as the server tells it after registration, on reading and after an update. */
export const clientSchema = z.looseObject({
  client_id: z.string().min(1),
  client_secret: z.string().min(1).optional(),
  /** Seconds since the epoch; 0 for never. */
  client_secret_expires_at: z.number().optional(),
  registration_access_token: z.string().min(1).optional(),
  registration_client_uri: z.string().min(1).optional(),
});
export type RegisteredClient = z.infer<typeof clientSchema>;

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
export function secretEndMs({ client_secret_expires_at: seconds }: RegisteredClient): number | undefined {
  return seconds ? seconds * 1000 : undefined;
}
