// RFC 7591 and 7592 against servers that nobody here wrote: oidc-provider, and Keycloak with `make test-keycloak`, which sets KEYCLOAK_HOME.
import { Buffer } from "node:buffer";
import { Secret } from "@keyturn/runtime";
import { soon, useSharedApiServer, useSharedCluster } from "@keyturn/runtime/testing/vitest";
import { beforeAll, describe, expect, test } from "vitest";
import type { ApplicationRef, IdentityProvider } from "../../packages/keyturn/src/controllers/eventing-auth/identity/provider.ts";
import { type KeycloakServer, startKeycloak } from "./identity/keycloak-server.ts";
import { openid } from "./identity/openid-place.ts";
import { startOpenidServer } from "./identity/openid-server.ts";
import { identityErrorOf, MemoryKeeper, openProviders, secretData, someOwner } from "./identity/tenant.ts";
import { verifiedToken } from "./identity/verified-token.ts";
import { type IssuingPlace, issuingPlace } from "./issuing-place.ts";

// Keycloak takes its time to start.

const controlPlane = useSharedCluster();
const target = useSharedApiServer();

interface Server extends KeycloakServer {
  /** Whether an update issues a new secret. */
  readonly rotates: boolean;
}

const home = process.env["KEYCLOAK_HOME"];

const servers: Readonly<Record<string, () => Promise<Server>>> = {
  async "oidc-provider"() {
    const server = await startOpenidServer();
    return {
      issuer: server.issuer,
      initialAccessToken: server.initialAccessToken ?? "",
      rotates: true,
      clients: () => Promise.resolve(server.clients()),
      deleteClient: (id) => Promise.resolve(server.deleteClient(id)),
      restart: () => server.restart(),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
  ...(home && { Keycloak: async (): Promise<Server> => Object.assign(await startKeycloak(home), { rotates: false }) }),
};

/** Whether a token that is fetched with a secret verifies against the server's own keys, and names the client. */
async function verifies(provider: IdentityProvider, clientId: string, clientSecret: string): Promise<boolean> {
  const claims = await verifiedToken({ clientId, clientSecret, ...(await provider.endpoints()), method: "client_secret_basic" });
  return [claims["client_id"], claims["azp"]].includes(clientId);
}

describe.each(Object.entries(servers))("a client at %s", (_name, start) => {
  let server: Server;
  beforeAll(async () => {
    server = await start();
    return () => server[Symbol.asyncDispose]();
  });

  test("is registered, read, rotated, restarted over, lost and deleted, and none is left", async () => {
    using providers = openProviders({ type: "openid" });
    const provider = providers.forSecret(secretData({ url: server.issuer, initial_access_token: server.initialAccessToken }));
    const keeper = new MemoryKeeper();
    const owner = someOwner(keeper);
    expect(await provider.find(owner)).toEqual([]);
    const { id, secret } = await provider.create(owner);
    const client: ApplicationRef = { ...owner, id };
    expect(await server.clients()).toEqual([id]);
    expect(await provider.find(owner)).toEqual([{ id, trace: "ours" }]);
    expect(await provider.read(client)).toMatchObject({ id, clientId: id });
    const first = secret ?? (await provider.issueSecret(client, { rotate: false }));
    expect(await verifies(provider, id, first.secret)).toBe(true);
    expect(await provider.accepts({ clientId: id, clientSecret: "wrong" })).toBe(false);

    // A rotation, where the server has one; where it has none, that is said, and nothing else happens.
    const rotating = provider.issueSecret(client, { rotate: true });
    if (server.rotates) {
      const second = await rotating;
      expect(await verifies(provider, id, second.secret)).toBe(true);
      expect(await provider.accepts({ clientId: id, clientSecret: first.secret })).toBe(false);
    } else {
      expect((await identityErrorOf(rotating)).message).toContain("issues no new secret on an update");
      expect(await provider.accepts({ clientId: id, clientSecret: first.secret })).toBe(true);
    }

    await server.restart();
    expect(await provider.read(client)).toMatchObject({ id });
    const again = await provider.issueSecret(client, { rotate: false });
    expect(await verifies(provider, id, again.secret)).toBe(true);

    // A grant that is lost is no proof that the client is; nor is one that the server no longer takes.
    const { grant } = keeper;
    keeper.grant = undefined;
    expect((await identityErrorOf(provider.read(client))).message).toContain("is lost");
    expect((await identityErrorOf(provider.delete(client))).message).toContain("is lost");
    keeper.grant = grant?.replace(/"token":"[^"]{8}/, '"token":"tampered');
    expect(await identityErrorOf(provider.delete(client))).toMatchObject({ code: "Terminal" });
    expect(await server.clients()).toEqual([id]);
    keeper.grant = grant;

    await provider.delete(client);
    expect(await server.clients()).toEqual([]);
    expect(await provider.read(client)).toBeUndefined();
    await provider.delete(client);
  });

  test("that somebody deletes there is reported, and nothing is concluded from it", async () => {
    using providers = openProviders({ type: "openid" });
    const provider = providers.forSecret(secretData({ url: server.issuer, initial_access_token: server.initialAccessToken }));
    const owner = someOwner(new MemoryKeeper());
    const { id } = await provider.create(owner);
    await server.deleteClient(id);
    expect((await identityErrorOf(provider.read({ ...owner, id }))).message).toMatch(/the client is gone, or|does not prove that/);
  });

  async function place(): Promise<IssuingPlace> {
    const opened = await issuingPlace(controlPlane(), target());
    await opened.putCredentials({ url: server.issuer, initial_access_token: server.initialAccessToken });
    return opened;
  }

  /** The client that is in the runtime's Secret, which is the only one of its name, and its secret. */
  function whole(opened: IssuingPlace): Promise<{ readonly id: string; readonly secret: string }> {
    return soon(async () => {
      const {
        client_id: id = "",
        client_secret: secret = "",
        token_url: tokenUrl = "",
        certs_url: jwksUrl = "",
      } = (await opened.credentials()) ?? {};
      expect((await opened.auth())?.status).toMatchObject({ state: "Ready", iasApplication: { name: opened.runtime, uuid: id } });
      expect(await server.clients()).toEqual([id]);
      await verifiedToken({ clientId: id, clientSecret: secret, tokenUrl, jwksUrl, method: "client_secret_basic" });
      return { id, secret };
    });
  }

  test("is a Kyma's own, whatever is deleted, edited, rotated or restarted, and goes with it", async () => {
    await using opened = await place();
    const flags = { ...openid, "eventing-auth.rotate-after": "24h", "eventing-auth.check-interval": "1s" };
    const operator = await opened.ready({ flags });
    const before = await whole(opened);
    await opened.conditionSays("CredentialsValid", "True TokenIssued");

    await opened.parts.target.delete(Secret, opened.targetName);
    expect((await whole(opened)).id).toBe(before.id);
    await opened.parts.target.mergePatch(Secret, opened.targetName, { data: { client_secret: Buffer.from("edited").toString("base64") } });
    await soon(async () => expect((await opened.credentials())?.client_secret).not.toBe("edited"));
    const repaired = await whole(opened);
    expect(repaired.id).toBe(before.id);

    await operator.stop();
    await server.restart();
    const longAgo = { metadata: { annotations: { "keyturn.io/issued-at": "2020-01-01T00:00:00Z" } } };
    await opened.parts.target.mergePatch(Secret, opened.targetName, longAgo);
    await opened.startOperator({ flags });
    if (server.rotates) await soon(async () => expect((await opened.credentials())?.client_secret).not.toBe(repaired.secret));
    else
      expect(await opened.conditionSays("IASApplicationReady", "False IASApplicationCreationFailed")).toContain("issues no new secret on an update");
    expect(await server.clients()).toEqual([before.id]);
    expect(await opened.tokenStatus()).toBe(200);

    await opened.deleteKyma();
    await opened.isGone();
    expect(await server.clients()).toEqual([]);
    expect(await opened.targetSecret()).toBeUndefined();
  });
});
