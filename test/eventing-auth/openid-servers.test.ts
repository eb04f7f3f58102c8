// RFC 7591 and 7592 against servers that nobody here wrote: oidc-provider, and Keycloak where KEYCLOAK_HOME names an unpacked distribution of it.
import { describe, expect, test, vi } from "vitest";
import type { ApplicationRef, IdentityProvider } from "../../packages/keyturn/src/controllers/eventing-auth/identity/provider.ts";
import { type KeycloakServer, startKeycloak } from "./identity/keycloak-server.ts";
import { startOpenidServer } from "./identity/openid-server.ts";
import { identityErrorOf, MemoryKeeper, openProviders, secretData, someOwner } from "./identity/tenant.ts";
import { verifiedToken } from "./identity/verified-token.ts";

// Keycloak takes its time to start.
vi.setConfig({ testTimeout: 600_000 });

interface Server extends Pick<KeycloakServer, "issuer" | "clients" | "deleteClient" | "restart" | keyof AsyncDisposable> {
  readonly initialAccessToken: string;
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
      // It keeps everything in memory: what a restart does to connections is all that can be had.
      restart: () => Promise.resolve(),
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
  test("is registered, read, rotated, restarted over, lost and deleted, and none is left", async () => {
    await using server = await start();
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
    await using server = await start();
    using providers = openProviders({ type: "openid" });
    const provider = providers.forSecret(secretData({ url: server.issuer, initial_access_token: server.initialAccessToken }));
    const owner = someOwner(new MemoryKeeper());
    const { id } = await provider.create(owner);
    await server.deleteClient(id);
    expect((await identityErrorOf(provider.read({ ...owner, id }))).message).toMatch(/the client is gone, or|does not prove that/);
  });
});
