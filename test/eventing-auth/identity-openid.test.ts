// Dynamic client registration with a real OpenID server: from nothing to a verified token, through rotation, and what a crash costs.
import { describe, expect, it } from "vitest";
import type { ApplicationRef, IdentityProvider } from "../../packages/keyturn/src/controllers/eventing-auth/identity/provider.ts";
import { type OpenidServer, type OpenidServerOptions, startOpenidServer } from "./identity/openid-server.ts";
import { identityErrorOf, MemoryKeeper, openProviders, secretData, someOwner } from "./identity/tenant.ts";
import { verifiedToken } from "./identity/verified-token.ts";

interface World extends AsyncDisposable {
  readonly server: OpenidServer;
  readonly provider: IdentityProvider;
  readonly keeper: MemoryKeeper;
  readonly owner: ReturnType<typeof someOwner>;
}

async function openWorld(options: OpenidServerOptions = {}): Promise<World> {
  const server = await startOpenidServer(options);
  const providers = openProviders({ type: "openid" });
  const keeper = new MemoryKeeper();
  return {
    server,
    provider: providers.forSecret(dataOf(server)),
    keeper,
    owner: someOwner(keeper),
    async [Symbol.asyncDispose]() {
      providers.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

function dataOf({ issuer, initialAccessToken: token }: OpenidServer): Readonly<Record<string, string>> {
  return secretData({ url: issuer, ...(token !== undefined && { initial_access_token: token }) });
}

async function register({ provider, owner }: World): Promise<ApplicationRef & { readonly secret: string }> {
  const { id, secret } = await provider.create(owner);
  return { ...owner, id, secret: secret?.secret ?? "" };
}

async function clientOfToken(provider: IdentityProvider, clientId: string, clientSecret: string): Promise<unknown> {
  const claims = await verifiedToken({ clientId, clientSecret, ...(await provider.endpoints()), method: "client_secret_basic" });
  return claims["client_id"];
}

describe("a client of an OpenID server", () => {
  it("goes from nothing to a verified token, through a rotation, and back to nothing", async () => {
    await using world = await openWorld();
    const { server, provider, owner, keeper } = world;
    expect(await provider.find(owner)).toEqual([]);

    const client = await register(world);
    const { id } = client;
    expect(server.clients()).toEqual([id]);
    expect(await provider.find(owner)).toEqual([{ id, trace: "ours" }]);
    expect(await provider.read(client)).toEqual({ id, clientId: id, trace: "ours" });
    expect(await clientOfToken(provider, id, client.secret)).toBe(id);
    expect(await provider.accepts({ clientId: id, clientSecret: client.secret })).toBe(true);

    const grantBefore = keeper.grant;
    const rotated = await provider.issueSecret(client, { rotate: true });
    expect(rotated.secret).not.toBe(client.secret);
    expect(keeper.grant).not.toBe(grantBefore);
    expect(server.clients()).toEqual([id]);
    expect(await clientOfToken(provider, id, rotated.secret)).toBe(id);
    expect(await provider.accepts({ clientId: id, clientSecret: client.secret })).toBe(false);
    expect(await provider.listSecrets(client)).toEqual([{ hint: rotated.hint, validToMs: undefined }]);

    await provider.delete(client);
    expect(server.clients()).toEqual([]);
    expect(await provider.read(client)).toBeUndefined();
    expect(await provider.find(owner)).toEqual([]);
    expect(await provider.listSecrets(client)).toEqual([]);
    await provider.delete(client);
  });

  it("can be registered where everybody may", async () => {
    await using world = await openWorld({ registration: "open" });
    const client = await register(world);
    expect(await clientOfToken(world.provider, client.id, client.secret)).toBe(client.id);
  });

  it("keeps its id and its secret when the target's Secret was lost", async () => {
    await using world = await openWorld();
    const client = await register(world);
    expect((await world.provider.issueSecret(client, { rotate: false })).secret).toBe(client.secret);
  });

  it("gets a new secret when the old one was lost and the server does not tell it again", async () => {
    await using world = await openWorld({ tellsSecretOn: ["PUT"] });
    const client = await register(world);
    const { secret } = await world.provider.issueSecret(client, { rotate: false });
    expect(secret).not.toBe(client.secret);
    expect(await clientOfToken(world.provider, client.id, secret)).toBe(client.id);
  });

  it("keeps its secret where only an update tells it", async () => {
    await using world = await openWorld({ rotatesSecrets: false, tellsSecretOn: ["PUT"] });
    const client = await register(world);
    expect((await world.provider.issueSecret(client, { rotate: false })).secret).toBe(client.secret);
  });

  it("cannot be rotated where the server issues no new secret, and says so", async () => {
    await using world = await openWorld({ rotatesSecrets: false });
    const client = await register(world);
    const error = await identityErrorOf(world.provider.issueSecret(client, { rotate: true }));
    expect(error).toMatchObject({ code: "Terminal", operation: "issue-secret" });
    expect(error.message).toContain("issues no new secret on an update");
    expect(await world.provider.accepts({ clientId: client.id, clientSecret: client.secret })).toBe(true);
    expect(await world.provider.read(client)).toBeDefined();
  });

  it("needs to be replaced where the server neither tells the secret nor issues a new one", async () => {
    await using world = await openWorld({ rotatesSecrets: false, tellsSecretOn: [] });
    const client = await register(world);
    expect(await identityErrorOf(world.provider.issueSecret(client, { rotate: false }))).toMatchObject({ code: "SecretLost" });
  });

  it("keeps its only secret", async () => {
    await using world = await openWorld();
    const client = await register(world);
    const [listed] = await world.provider.listSecrets(client);
    await world.provider.deleteSecret(client, "not-there");
    expect(await identityErrorOf(world.provider.deleteSecret(client, listed?.hint ?? ""))).toMatchObject({ code: "Terminal" });
  });
});

describe("a registration", () => {
  it("without the right initial access token is refused, in the server's words and without the token", async () => {
    await using world = await openWorld();
    using providers = openProviders({ type: "openid" });
    const provider = providers.forSecret(secretData({ url: world.server.issuer, initial_access_token: "not-the-right-token" }));
    const error = await identityErrorOf(provider.create(world.owner));
    expect(error).toMatchObject({ code: "Terminal", status: 401 });
    expect(error.message).toContain("invalid_token");
    expect(error.message).not.toContain("not-the-right-token");
    expect(world.server.clients()).toEqual([]);
  });

  it("that nobody could ever undo is made once, and then refused", async () => {
    await using world = await openWorld({ givesManagement: false });
    const { server, provider, owner } = world;
    const error = await identityErrorOf(provider.create(owner));
    expect(error).toMatchObject({ code: "Terminal" });
    expect(error.message).toContain(`client ${server.clients()[0]}`);
    expect(await provider.find(owner)).toEqual([]);
    expect(await identityErrorOf(provider.create(owner))).toMatchObject({ code: "Terminal" });
    expect(server.clients()).toHaveLength(1);
  });

  it("that can only be managed in the clear is made once, and then refused", async () => {
    const spoilRegistration: OpenidServerOptions["spoilRegistration"] = (body) => ({
      ...body,
      registration_client_uri: "ftp://elsewhere.example/client",
    });
    await using world = await openWorld({ spoilRegistration });
    const { server, provider, owner } = world;
    for (let tries = 0; tries < 2; tries++) expect(await identityErrorOf(provider.create(owner))).toMatchObject({ code: "Terminal" });
    expect(server.clients()).toHaveLength(1);
  });

  it("whose answer makes no sense is not tried again at once", async () => {
    await using world = await openWorld({ spoilRegistration: () => ({ something: "else" }) });
    const error = await identityErrorOf(world.provider.create(world.owner));
    expect(error).toMatchObject({ code: "Terminal", operation: "create" });
    expect(error.message).toMatch(/promises: client_id; look for clients without an owner there$/);
    expect(world.server.clients()).toHaveLength(1);
  });

  it("whose grant cannot be kept is undone", async () => {
    await using world = await openWorld();
    const { server, provider, keeper } = world;
    const failing = { read: () => keeper.read(), keep: () => Promise.reject(new Error("the Secret is somebody else's")) };
    const error = await identityErrorOf(provider.create(someOwner(failing)));
    expect(error).toMatchObject({ code: "Transient", operation: "keep-grant" });
    expect(error.message).toContain("the Secret is somebody else's");
    expect(server.clients()).toEqual([]);
  });

  it("is kept even if nobody waits for it any more", async () => {
    await using world = await openWorld();
    const { server, provider, owner, keeper } = world;
    const stop = new AbortController();
    server.loseAnswers(({ method }) => {
      if (method === "POST") stop.abort(new Error("shutting down"));
      return false;
    });
    const created = provider.create(owner, stop.signal);
    await expect(created).rejects.toThrow("shutting down");
    await expect.poll(() => keeper.grant, { timeout: 300_000 }).toBeDefined();
    expect(await provider.find(owner)).toEqual(server.clients().map((id) => ({ id, trace: "ours" })));
  });

  it("at another server is none of this one's", async () => {
    await using world = await openWorld();
    await using other = await openWorld();
    const client = await register(world);
    expect(await other.provider.read(client)).toBeUndefined();
    expect(await other.provider.find(client)).toEqual([]);
    await other.provider.delete(client);
    expect(world.server.clients()).toEqual([client.id]);
  });
});

describe("a client counts as gone", () => {
  const calls = [
    ["read", (provider: IdentityProvider, client: ApplicationRef) => provider.read(client)],
    ["find", (provider: IdentityProvider, client: ApplicationRef) => provider.find(client)],
    ["delete", (provider: IdentityProvider, client: ApplicationRef) => provider.delete(client)],
  ] as const;

  it.each(calls)("never because its registration access token is refused: %s", async (_step, call) => {
    await using world = await openWorld();
    const client = await register(world);
    world.keeper.grant = world.keeper.grant?.replace(/("token":")[^"]*/, "$1no-longer-accepted");
    const error = await identityErrorOf(call(world.provider, client));
    expect(error).toMatchObject({ code: "Terminal", status: 401 });
    expect(error.message).toContain("is not accepted any more");
    expect(error.message).toContain("keyturn.io/abandon");
    expect(error.message).not.toContain("no-longer-accepted");
    expect(world.server.clients()).toEqual([client.id]);
  });

  it.each([calls[0], calls[2]])("never because the right to manage it is lost: %s", async (_step, call) => {
    await using world = await openWorld();
    const client = await register(world);
    for (const grant of [undefined, "edited"]) {
      world.keeper.grant = grant;
      const error = await identityErrorOf(call(world.provider, client));
      expect(error).toMatchObject({ code: "Terminal" });
      expect(error.message).toContain(`the registration access token of client ${client.id} is lost`);
    }
    expect(world.server.clients()).toEqual([client.id]);
  });
});

describe("a client does not count as gone", () => {
  const gateway = { status: 404, body: { timestamp: "2026-01-01T00:00:00Z", path: "/reg", status: 404, error: "Not Found" } };
  const refusal = { status: 401, body: { error: "invalid_token" } };

  it.each(["read", "find", "delete"] as const)("because something in between answers 404: %s", async (call) => {
    await using world = await openWorld();
    const { server, provider } = world;
    const client = await register(world);
    server.answerInstead(({ path }) => (path.startsWith("/reg/") ? gateway : undefined));
    const error = await identityErrorOf(provider[call](client));
    expect(error).toMatchObject({ code: "Transient", status: 404 });
    expect(error.message).toContain(`that does not prove that client ${client.id} is gone`);
    server.answerInstead(() => undefined);
    expect(await provider.read(client)).toEqual({ id: client.id, clientId: client.id, trace: "ours" });
  });

  it("because the request to delete it is refused, and not when its token is refused after that", async () => {
    await using world = await openWorld();
    const { server, provider } = world;
    const client = await register(world);
    server.answerInstead(({ method }) => (method === "DELETE" ? refusal : undefined));
    expect(await identityErrorOf(provider.delete(client))).toMatchObject({ status: 401 });
    server.answerInstead(({ path }) => (path.startsWith("/reg/") ? refusal : undefined));
    for (const call of ["read", "find", "delete"] as const) expect(await identityErrorOf(provider[call](client))).toMatchObject({ status: 401 });
    server.answerInstead(() => undefined);
    await provider.delete(client);
    expect(server.clients()).toEqual([]);
  });

  it("because its token is refused after an update that was refused", async () => {
    await using world = await openWorld();
    const { server, provider } = world;
    const client = await register(world);
    server.answerInstead(({ method }) => (method === "PUT" ? refusal : undefined));
    expect(await identityErrorOf(provider.issueSecret(client, { rotate: true }))).toMatchObject({ status: 401 });
    server.answerInstead(({ path }) => (path.startsWith("/reg/") ? refusal : undefined));
    expect(await identityErrorOf(provider.read(client))).toMatchObject({ code: "Terminal", status: 401 });
  });

  it("because something in between refuses everything after an answer was lost", async () => {
    await using world = await openWorld();
    const { server, provider } = world;
    const client = await register(world);
    server.loseAnswers(({ method }) => method === "PUT");
    await identityErrorOf(provider.issueSecret(client, { rotate: true }));
    server.answerInstead(({ path }) => (path.startsWith("/reg/") ? { status: 401, body: { error: "unauthorized" } } : undefined));
    expect(await identityErrorOf(provider.read(client))).toMatchObject({ code: "Terminal", status: 401 });
  });

  it.each([
    ["a page", { status: 200, body: "<html>Request rejected</html>" }],
    ["a success that was none", { status: 204 }],
  ])("because the request to delete it is answered with %s", async (_what, answer) => {
    await using world = await openWorld();
    const { server, provider } = world;
    const client = await register(world);
    server.answerInstead(({ method }) => (method === "DELETE" ? answer : undefined));
    expect(await identityErrorOf(provider.delete(client))).toMatchObject({ code: "Transient", operation: "delete" });
    server.answerInstead(() => undefined);
    await provider.delete(client);
    expect(server.clients()).toEqual([]);
  });

  it("because the URL is wrong, before another server has shown that it is one", async () => {
    await using world = await openWorld();
    const client = await register(world);
    using providers = openProviders({ type: "openid" });
    const nowhere = providers.forSecret(secretData({ url: "http://127.0.0.1:1" }));
    for (const call of ["read", "find", "delete"] as const) {
      expect(await identityErrorOf(nowhere[call](client))).toMatchObject({ code: "Transient", operation: "discover" });
    }
  });

  it("because the URL is spelled in another way", async () => {
    await using world = await openWorld();
    const client = await register(world);
    using providers = openProviders({ type: "openid" });
    const shouted = providers.forSecret(secretData({ url: `${world.server.issuer.replace("http://", "HTTP://")}/` }));
    expect(await shouted.read(client)).toEqual({ id: client.id, clientId: client.id, trace: "ours" });
    expect(await shouted.find(client)).toEqual([{ id: client.id, trace: "ours" }]);
    expect((await shouted.endpoints()).tokenUrl).toContain(world.server.issuer);
  });
});

describe("what a crash costs", () => {
  it("between registering a client and keeping its grant: that one client, which stays at the server", async () => {
    await using world = await openWorld();
    const { server, provider, owner, keeper } = world;
    let lost = 1;
    server.loseAnswers(({ method }) => method === "POST" && lost-- > 0);
    const lostAnswer = {
      code: "Transient",
      operation: "create",
      message: expect.stringContaining(`a client with the name ${owner.name} is left there`),
    };
    expect(await identityErrorOf(provider.create(owner))).toMatchObject(lostAnswer);
    expect(keeper.grant).toBeUndefined();
    expect(await provider.find(owner)).toEqual([]);
    const client = await register(world);
    expect(await provider.find(owner)).toEqual([{ id: client.id, trace: "ours" }]);
    expect(server.clients()).toHaveLength(2);
  });

  it("between a rotation and keeping its grant: the right to manage that client, whose id then counts as gone", async () => {
    await using world = await openWorld();
    const { server, provider } = world;
    const client = await register(world);
    server.loseAnswers(({ method }) => method === "PUT");
    expect(await identityErrorOf(provider.issueSecret(client, { rotate: true }))).toMatchObject({ code: "Transient", operation: "issue-secret" });
    server.loseAnswers(() => false);
    expect(await provider.read(client)).toBeUndefined();
    expect(await identityErrorOf(provider.issueSecret(client, { rotate: false }))).toMatchObject({ code: "SecretLost" });
    await provider.delete(client);
    expect(server.clients()).toEqual([client.id]);
  });

  it("between deleting a client and hearing of it: nothing", async () => {
    await using world = await openWorld();
    const { server, provider } = world;
    const client = await register(world);
    let lost = 1;
    server.loseAnswers(({ method }) => method === "DELETE" && lost-- > 0);
    await provider.delete(client);
    expect(server.clients()).toEqual([]);
  });
});
