// For tests: a place whose credentials come from a real OpenID server.
import { soon } from "@keyturn/runtime/testing/vitest";
import { expect } from "vitest";
import type { ClusterAccess } from "@keyturn/runtime/testing";
import { type Credentials, type Flags, type IssuingPlace, issuingPlace } from "../issuing-place.ts";
import { type OpenidServer, type OpenidServerOptions, startOpenidServer } from "./openid-server.ts";
import { verifiedToken } from "./verified-token.ts";

export const openid: Flags = { "eventing-auth.provider": "openid" };

/** The place and its server. */
export interface OpenidPlace extends AsyncDisposable {
  readonly place: IssuingPlace;
  readonly server: OpenidServer;
}

/** Makes the place. The operator does not run yet. */
export async function openidPlace(controlPlane: ClusterAccess, target: ClusterAccess, options: OpenidServerOptions = {}): Promise<OpenidPlace> {
  const server = await startOpenidServer(options);
  const place = await issuingPlace(controlPlane, target);
  await place.putCredentials({
    url: server.issuer,
    ...(server.initialAccessToken !== undefined && { initial_access_token: server.initialAccessToken }),
  });
  return {
    place,
    server,
    async [Symbol.asyncDispose]() {
      await place[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/**
 * A token that is fetched with what is in the runtime's cluster verifies, its client is the one in the status, and the server has that one and
 * `others` more. Resolves to what is in the cluster.
 */
export function isWhole({ place, server }: OpenidPlace, others = 0): Promise<Credentials> {
  return soon(async () => {
    const credentials = await place.credentials();
    if (!credentials) throw new Error("there is no Secret yet");
    const { client_id: clientId = "", client_secret: clientSecret = "", token_url: tokenUrl = "", certs_url: jwksUrl = "" } = credentials;
    expect(server.clients()).toContain(clientId);
    expect(server.clients()).toHaveLength(1 + others);
    expect((await place.auth())?.status).toMatchObject({ state: "Ready", iasApplication: { name: place.runtime, uuid: clientId } });
    const claims = await verifiedToken({ clientId, clientSecret, tokenUrl, jwksUrl, method: "client_secret_basic" });
    expect(claims).toMatchObject({ iss: server.issuer, client_id: clientId });
    return credentials;
  });
}
