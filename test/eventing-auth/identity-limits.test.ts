// How much an identity provider is asked at once, and how it is left alone when it says so.
import { seededRandom } from "@keyturn/runtime";
import { createAuthority, issueCertificate, VirtualClock } from "@keyturn/runtime/testing";
import { describe, expect, it } from "vitest";
import type { RequestRecord } from "../../packages/keyturn/src/controllers/eventing-auth/identity/provider-http.ts";
import { type IasStandIn, type IasStandInOptions, startIasStandIn } from "../../packages/keyturn/src/dev/stand-ins/ias.ts";
import { identityErrorOf, openProviders, secretData, someOwner, withoutPauses } from "./identity/tenant.ts";

const patiently = { timeout: 300_000, interval: 5 } as const;

function dataOf({ url, username, password }: IasStandIn): Readonly<Record<string, string>> {
  return secretData({ url, username, password });
}

describe("requests at once", () => {
  it("are 50 at most, over all tenants of the process, and all are answered", async () => {
    await using first = await startIasStandIn({ latencyMs: 5 });
    await using second = await startIasStandIn({ latencyMs: 5 });
    using providers = openProviders();
    let most = 0;
    for (const ias of [first, second]) ias.onStep(() => void (most = Math.max(most, providers.inFlight)));
    const tenants = [first, second].map((ias) => providers.forSecret(dataOf(ias)));
    const finds = tenants.flatMap((provider) => Array.from({ length: 200 }, () => provider.find(someOwner())));
    expect((await Promise.all(finds)).flat()).toEqual([]);
    expect(most).toBe(50);
    expect(Math.max(first.counters.peakInFlight, second.counters.peakInFlight)).toBeLessThanOrEqual(50);
    expect(providers.inFlight).toBe(0);
  });

  it("to a tenant that hangs hold up a delete no longer than their deadline", async () => {
    await using hanging = await startIasStandIn();
    await using healthy = await startIasStandIn();
    const clock = new VirtualClock();
    using providers = openProviders({ clock, random: seededRandom(1), maxRequests: 5 });
    hanging.fail("create", { type: "hang" });
    const stuck = Array.from({ length: 12 }, () => identityErrorOf(providers.forSecret(dataOf(hanging)).create(someOwner())));
    await expect.poll(() => hanging.counters.inFlight, patiently).toBe(5);
    const { id, name } = healthy.directory.create("leaving");
    const deleted = providers.forSecret(dataOf(healthy)).delete({ ...someOwner(), name, id });
    // First come, first served: three rounds of five, and it is in the last of them.
    for (let round = 1; round <= 3; round++) {
      await expect.poll(() => hanging.counters.requests.create, patiently).toBe(Math.min(round * 5, 12));
      if (round < 3) await clock.advance(30_000);
    }
    await deleted;
    expect(healthy.applications()).toEqual([]);
    await clock.advance(30_000);
    expect((await Promise.all(stuck)).every(({ message }) => message.includes("no answer within 30000 ms"))).toBe(true);
  });

  it("that wait for a place and are no longer wanted take none", async () => {
    await using ias = await startIasStandIn();
    using providers = openProviders({ maxRequests: 1 });
    const provider = providers.forSecret(dataOf(ias));
    ias.fail("create", { type: "hang" }, 1);
    const stop = new AbortController();
    const holder = provider.create(someOwner(), stop.signal);
    await expect.poll(() => ias.counters.inFlight, patiently).toBe(1);
    const leave = new AbortController();
    const waiting = provider.find(someOwner(), leave.signal);
    leave.abort(new Error("not wanted any more"));
    await expect(waiting).rejects.toThrow("not wanted any more");
    stop.abort(new Error("enough"));
    await expect(holder).rejects.toThrow("enough");
    expect(await provider.find(someOwner())).toEqual([]);
    expect(ias.counters.requests.find).toBe(1);
  });
});

describe("a tenant that answers 429", () => {
  it("is left alone by everybody for as long as it asks", async () => {
    await using ias = await startIasStandIn();
    const clock = new VirtualClock();
    using providers = openProviders({ clock, random: seededRandom(1) });
    const provider = providers.forSecret(dataOf(ias));
    ias.fail("list-secrets", { type: "status", status: 429, retryAfter: "3" }, 1);
    const application = { ...someOwner(), id: ias.directory.create("some").id };
    const listed = provider.listSecrets(application);
    await expect.poll(() => ias.counters.requests["list-secrets"], patiently).toBe(1);
    // The answer has been read once the pause before the next try is being waited for.
    await expect.poll(() => clock.nextTimerInMs ?? Infinity, patiently).toBeLessThanOrEqual(3000);
    const found = provider.find(someOwner());
    await clock.advance(2999);
    expect(ias.counters.requests).toEqual({ "list-secrets": 1 });
    await Promise.all([withoutPauses(clock, listed), withoutPauses(clock, found)]);
    expect(ias.counters.requests).toEqual({ "list-secrets": 2, find: 1 });
  });

  it("to a creation is not asked for another by itself: the first may have been made", async () => {
    await using ias = await startIasStandIn();
    const clock = new VirtualClock();
    using providers = openProviders({ clock, random: seededRandom(1) });
    const provider = providers.forSecret(dataOf(ias));
    ias.fail("create", { type: "status", status: 429, retryAfter: "3" }, 1);
    expect(await identityErrorOf(withoutPauses(clock, provider.create(someOwner())))).toMatchObject({ status: 429, retryAfterMs: 3000 });
    expect(ias.counters.requests).toEqual({ create: 1 });
  });

  it("and asks for a long time is left to the caller, who is told how long, and is not asked meanwhile", async () => {
    await using ias = await startIasStandIn();
    const clock = new VirtualClock();
    using providers = openProviders({ clock, random: seededRandom(1) });
    const provider = providers.forSecret(dataOf(ias));
    const until = new Date(clock.now() + 120_000).toUTCString();
    ias.fail("find", { type: "status", status: 429, retryAfter: until }, 1);
    expect(await identityErrorOf(provider.find(someOwner()))).toMatchObject({ code: "Transient", status: 429, retryAfterMs: 120_000 });
    await clock.advance(60_000);
    const error = await identityErrorOf(provider.create(someOwner()));
    expect(error).toMatchObject({ code: "Transient", status: 429, retryAfterMs: 60_000 });
    expect(error.message).toBe("failed to create application: the identity provider asked to wait for another 60 s");
    expect(ias.counters.requests).toEqual({ find: 1 });
    await clock.advance(60_000);
    expect(await provider.find(someOwner())).toEqual([]);
  });
});

describe("a header that asks to wait for ever", () => {
  it("is heeded for five minutes", async () => {
    await using ias = await startIasStandIn();
    const clock = new VirtualClock();
    using providers = openProviders({ clock, random: seededRandom(1) });
    ias.fail("find", { type: "status", status: 429, retryAfter: "99999999999" }, 1);
    const provider = providers.forSecret(dataOf(ias));
    expect(await identityErrorOf(provider.find(someOwner()))).toMatchObject({ retryAfterMs: 300_000 });
    await clock.advance(300_000);
    expect(await provider.find(someOwner())).toEqual([]);
  });
});

describe("what is recorded of requests", () => {
  it("is the operation, the status and the time that each try took", async () => {
    await using ias = await startIasStandIn();
    const clock = new VirtualClock();
    const records: RequestRecord[] = [];
    using providers = openProviders({ clock, random: seededRandom(1), observe: (record) => void records.push(record) });
    ias.fail("find", { type: "cut" }, 1);
    ias.fail("find", { type: "status", status: 500 }, 1);
    await withoutPauses(clock, providers.forSecret(dataOf(ias)).find(someOwner()));
    expect(records.map(({ operation, status }) => ({ operation, status }))).toEqual([
      { operation: "find", status: undefined },
      { operation: "find", status: 500 },
      { operation: "find", status: 200 },
    ]);
  });
});

describe("the way to a tenant", () => {
  it("over http:// is refused unless allowed, before anything is sent", async () => {
    await using ias = await startIasStandIn();
    using providers = openProviders({ allowHttp: false });
    const error = await identityErrorOf(providers.forSecret(dataOf(ias)).find(someOwner()));
    expect(error).toMatchObject({ code: "Terminal" });
    expect(error.message).toContain("http:// needs --eventing-auth.allow-http");
    expect(ias.counters.requests).toEqual({});
  });

  it("over https:// needs a certificate that is trusted: by the machine, or by ca.crt in the Secret", async () => {
    const authority = createAuthority("tenant authority");
    const { certificate, privateKey } = issueCertificate(authority, { usage: "server", commonName: "tenant", hosts: ["127.0.0.1"] });
    const tls: IasStandInOptions["tls"] = { cert: certificate, key: privateKey };
    await using ias = await startIasStandIn({ tls });
    using providers = openProviders({ allowHttp: false });
    expect((await identityErrorOf(providers.forSecret(dataOf(ias)).create(someOwner()))).message).toMatch(/certificate/);
    const trusting = providers.forSecret({ ...dataOf(ias), ...secretData({ "ca.crt": authority.certificate }) });
    expect(await trusting.find(someOwner())).toEqual([]);
    expect((await trusting.endpoints()).tokenUrl).toBe(`${ias.url}/oauth2/token`);
  });

  it("through a proxy that cannot be used is refused", async () => {
    using providers = openProviders({ env: { HTTPS_PROXY: "socks5://proxy.example" } });
    const provider = providers.forSecret(secretData({ url: "https://tenant.example", username: "u", password: "p" }));
    expect(await identityErrorOf(provider.find(someOwner()))).toMatchObject({ code: "Terminal", operation: "find" });
  });

  it("is closed for good when it is closed", async () => {
    await using ias = await startIasStandIn();
    const providers = openProviders();
    const provider = providers.forSecret(dataOf(ias));
    await provider.find(someOwner());
    providers.close();
    expect((await identityErrorOf(provider.create(someOwner()))).message).toMatch(/closed/);
  });
});

it("a name that is too long to be found by has no application, and gets none", async () => {
  await using ias = await startIasStandIn();
  using providers = openProviders();
  const provider = providers.forSecret(dataOf(ias));
  const owner = { ...someOwner(), name: "n".repeat(248) };
  expect(await provider.find(owner)).toEqual([]);
  expect(await identityErrorOf(provider.create(owner))).toMatchObject({ code: "Terminal", message: expect.stringContaining("too long") });
  expect(ias.counters.created).toBe(0);
});

it.each([
  [401, "invalid_client", false],
  [400, "invalid_client", false],
  [401, "unauthorized_client", false],
  [400, "unauthorized_client", "Terminal"],
  [400, "unsupported_grant_type", "Terminal"],
])("a token endpoint that answers %i %s says of the credentials: %s", async (status, error, says) => {
  await using ias = await startIasStandIn();
  using providers = openProviders();
  ias.fail("token", { type: "status", status, body: { error } });
  const accepted = providers.forSecret(dataOf(ias)).accepts({ clientId: "a", clientSecret: "a secret" });
  expect(says === false ? await accepted : (await identityErrorOf(accepted)).code).toBe(says);
});
