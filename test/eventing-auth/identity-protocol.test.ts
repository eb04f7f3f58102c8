// The IAS protocol, step by step, against the stand-in or, with TEST_EVENTING_AUTH_IAS_URL, _USER and _PASSWORD, against a real tenant.
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { clientIdsFrom, identityErrorOf, openProviders, openTenant, secretData, someOwner } from "./identity/tenant.ts";
import { verifiedToken } from "./identity/verified-token.ts";

describe.each(clientIdsFrom)("an application of IAS that has its client ID from %s on", (clientIdFrom) => {
  it("goes from nothing to a verified token, through a rotation, and back to nothing", async () => {
    await using tenant = await openTenant(clientIdFrom);
    using providers = openProviders();
    const provider = providers.forSecret(tenant.data);
    const owner = someOwner();
    expect(await provider.find(owner)).toEqual([]);

    const { id } = await provider.create(owner);
    const application = { ...owner, id };
    try {
      expect(await provider.find(owner)).toEqual([{ id, trace: "ours" }]);
      expect(await provider.find({ ...owner, uid: randomUUID() })).toEqual([{ id, trace: "other" }]);
      expect(await provider.read(application)).toMatchObject({ id });
      const first = await provider.issueSecret(application, { rotate: false });
      const clientId = (await provider.read(application))?.clientId ?? "";
      const endpoints = await provider.endpoints();
      const claims = await verifiedToken({ clientId, clientSecret: first.secret, ...endpoints, method: "client_secret_post" });
      expect(claims).toMatchObject({ iss: endpoints.issuer, sub: clientId });
      expect(await provider.accepts({ clientId, clientSecret: first.secret })).toBe(true);

      const second = await provider.issueSecret(application, { rotate: true, known: [first.hint] });
      expect(second.hint).not.toBe(first.hint);
      expect((await provider.listSecrets(application)).map(({ hint }) => hint).sort()).toEqual([first.hint, second.hint].sort());
      expect(await provider.accepts({ clientId, clientSecret: first.secret })).toBe(true);
      expect(await provider.accepts({ clientId, clientSecret: second.secret })).toBe(true);

      await provider.deleteSecret(application, first.hint);
      await provider.deleteSecret(application, first.hint);
      expect((await provider.listSecrets(application)).map(({ hint }) => hint)).toEqual([second.hint]);
      // A real tenant may take a moment to know everywhere that a secret is gone.
      await expect.poll(() => provider.accepts({ clientId, clientSecret: first.secret }), { timeout: 300_000 }).toBe(false);
      expect(await provider.accepts({ clientId, clientSecret: second.secret })).toBe(true);
      expect(await provider.read(application)).toEqual({ id, clientId, trace: "ours" });
    } finally {
      await provider.delete(application);
    }
    expect(await provider.read(application)).toBeUndefined();
    expect(await provider.find(owner)).toEqual([]);
    expect(await provider.listSecrets(application)).toEqual([]);
    await provider.delete(application);
  });

  it("may have a secret that runs out by itself", async () => {
    await using tenant = await openTenant(clientIdFrom);
    using providers = openProviders();
    const provider = providers.forSecret(tenant.data);
    const owner = someOwner();
    const application = { ...owner, ...(await provider.create(owner)) };
    try {
      const validToMs = Math.floor(Date.now() / 1000) * 1000 + 86_400_000;
      const { hint } = await provider.issueSecret(application, { rotate: false, validToMs });
      expect(await provider.listSecrets(application)).toEqual([{ hint, validToMs }]);
    } finally {
      await provider.delete(application);
    }
  });

  it("that does not exist is nothing to read, nothing to list and nothing to delete, but cannot have a secret", async () => {
    await using tenant = await openTenant(clientIdFrom);
    using providers = openProviders();
    const provider = providers.forSecret(tenant.data);
    for (const [id, code] of [
      [randomUUID(), "Transient"],
      ["no-uuid", "Terminal"],
      ["../../etc", "Terminal"],
    ] as const) {
      const application = { ...someOwner(), id };
      expect(await provider.read(application)).toBeUndefined();
      expect(await provider.listSecrets(application)).toEqual([]);
      await provider.delete(application);
      await provider.deleteSecret(application, "abcd");
      expect((await identityErrorOf(provider.issueSecret(application, { rotate: false }))).code).toBe(code);
    }
  });

  it("is refused to an administrator with a wrong password, in the provider's words and without the password", async () => {
    await using tenant = await openTenant(clientIdFrom);
    using providers = openProviders();
    const password = "wrong-Passw0rd!";
    const wrong = { ...tenant.data, ...secretData({ password }) };
    const error = await identityErrorOf(providers.forSecret(wrong).find(someOwner()));
    expect(error).toMatchObject({ code: "Terminal", operation: "find", status: 401 });
    expect(error.message).toMatch(/^failed to fetch existing applications: the identity provider answered 401/);
    expect(error.message).not.toContain(password);
  });
});
