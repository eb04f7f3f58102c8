// What becomes of every request to IAS when something goes wrong with it. The stand-in fails as asked; time between tries is skipped.
import { seededRandom } from "@keyturn/runtime";
import { VirtualClock } from "@keyturn/runtime/testing";
import { describe, expect, it } from "vitest";
import type { IdentityErrorCode } from "../../packages/keyturn/src/controllers/eventing-auth/identity/provider-http.ts";
import type { ApplicationRef, IdentityProvider } from "../../packages/keyturn/src/controllers/eventing-auth/identity/provider.ts";
import type { IasFailure, IasStep } from "../../packages/keyturn/src/dev/stand-ins/ias-failures.ts";
import { type IasStandIn, startIasStandIn } from "../../packages/keyturn/src/dev/stand-ins/ias.ts";
import { identityErrorOf, openProviders, secretData, skipPause, someOwner, withoutPauses } from "./identity/tenant.ts";

/** A tenant with one application, and its provider in virtual time. */
interface World extends AsyncDisposable {
  readonly ias: IasStandIn;
  readonly clock: VirtualClock;
  readonly provider: IdentityProvider;
  readonly application: ApplicationRef;
  readonly credentials: { readonly clientId: string; readonly clientSecret: string };
}

async function openWorld(): Promise<World> {
  const ias = await startIasStandIn();
  const clock = new VirtualClock();
  const providers = openProviders({ clock, random: seededRandom(1) });
  const provider = providers.forSecret(secretData({ url: ias.url, username: ias.username, password: ias.password }));
  const owner = someOwner();
  const { id, clientId } = ias.directory.create(owner.name);
  const clientSecret = ias.directory.addSecret(id, { authorizationScopes: ["oAuth"] })?.secret ?? "";
  return {
    ias,
    clock,
    provider,
    application: { ...owner, id },
    credentials: { clientId, clientSecret },
    async [Symbol.asyncDispose]() {
      providers.close();
      await ias.close();
    },
  };
}

interface Call {
  readonly step: IasStep;
  /** The words that start its errors: the original's, where it has that step. */
  readonly words: string;
  /** Whether it is tried again when nobody knows what became of it. */
  readonly repeatable: boolean;
  readonly make: (world: World) => Promise<unknown>;
}

const calls: readonly Call[] = [
  { step: "find", words: "failed to fetch existing applications", repeatable: true, make: ({ provider, application }) => provider.find(application) },
  { step: "create", words: "failed to create application", repeatable: false, make: ({ provider }) => provider.create(someOwner()) },
  { step: "read", words: "failed to retrieve client ID", repeatable: true, make: ({ provider, application }) => provider.read(application) },
  { step: "delete", words: "failed to delete application", repeatable: true, make: ({ provider, application }) => provider.delete(application) },
  {
    step: "create-secret",
    words: "failed to create api secret",
    repeatable: false,
    make: ({ provider, application }) => provider.issueSecret(application, { rotate: false }),
  },
  {
    step: "list-secrets",
    words: "failed to list api secrets",
    repeatable: true,
    make: ({ provider, application }) => provider.listSecrets(application),
  },
  {
    step: "delete-secret",
    words: "failed to delete api secret",
    repeatable: true,
    make: ({ provider, application, credentials }) => provider.deleteSecret(application, credentials.clientSecret.slice(0, 4)),
  },
  { step: "discover", words: "failed to fetch token url", repeatable: true, make: ({ provider }) => provider.endpoints() },
  {
    step: "token",
    words: "failed to fetch a token with the client's credentials",
    repeatable: false,
    make: ({ provider, credentials }) => provider.accepts(credentials),
  },
];

const hasBody = (step: IasStep): boolean => step !== "create" && step !== "delete" && step !== "delete-secret";
/** What is made must not be made twice, whatever the tenant says of it. */
const creates = (step: IasStep): boolean => step === "create" || step === "create-secret";

interface Failing {
  readonly name: string;
  readonly failure: IasFailure;
  readonly code: IdentityErrorCode;
  readonly says: RegExp;
  /** Steps that it can happen to; default all. */
  readonly when?: (step: IasStep) => boolean;
  /** Whether a request that makes nothing is repeated here, even if it is not otherwise. */
  readonly alwaysRepeated?: boolean;
}

const failings: readonly Failing[] = [
  { name: "500", failure: { type: "status", status: 500 }, code: "Transient", says: /answered 500: This failure was asked for\. \(code 500\)$/ },
  { name: "503 without a body", failure: { type: "status", status: 503, body: null }, code: "Transient", says: /answered 503$/ },
  {
    name: "400 with details",
    failure: { type: "status", status: 400, body: { code: 400, message: "Invalid input.", details: [{ target: "name", message: "is taken" }] } },
    code: "Terminal",
    says: /answered 400: Invalid input\. \(code 400\); name is taken$/,
    when: (step) => step !== "token",
  },
  { name: "403", failure: { type: "status", status: 403 }, code: "Terminal", says: /answered 403: This failure was asked for/ },
  { name: "409", failure: { type: "status", status: 409 }, code: "Transient", says: /answered 409/ },
  { name: "429", failure: { type: "status", status: 429, retryAfter: "2" }, code: "Transient", says: /answered 429/, alwaysRepeated: true },
  { name: "a cut connection", failure: { type: "cut" }, code: "Transient", says: /socket hang up|closed|ECONNRESET/ },
  {
    name: "a lost answer",
    failure: { type: "lost-answer" },
    code: "Transient",
    says: /socket hang up|closed|ECONNRESET/,
    when: (step) => !["delete", "delete-secret"].includes(step),
  },
  { name: "half an answer", failure: { type: "truncated" }, code: "Transient", says: /broke off/, when: hasBody },
  {
    name: "a proxy's page",
    failure: { type: "html" },
    code: "Transient",
    says: /text\/html|answered 200|Location/,
    when: (step) => step !== "create",
  },
  {
    name: "JSON of another shape",
    failure: { type: "body", text: '{"applications":7,"secrets":7}' },
    code: "Transient",
    says: /not what the protocol promises|answered 200/,
    when: hasBody,
  },
  {
    name: "JSON without its type",
    failure: { type: "body", text: "{}", contentType: "text/plain" },
    code: "Transient",
    says: /text\/plain|answered 200/,
    when: hasBody,
  },
  {
    name: "a redirect",
    failure: { type: "redirect", location: "https://login.example/?session=abcd" },
    code: "Terminal",
    says: /redirects are not followed.*login\.example; correct the URL$/,
  },
  {
    name: "a proxy's page that nothing is there",
    failure: { type: "body", text: "<html>no such page</html>", contentType: "text/html", status: 404 },
    code: "Transient",
    says: /answered 404$/,
  },
];

describe.each(calls)("$step", ({ step, words, repeatable, make }) => {
  it.each(failings.filter(({ when }) => when?.(step) ?? true))(
    "after $name says so, and works as soon as that is over",
    async ({ failure, code, says, alwaysRepeated }) => {
      await using world = await openWorld();
      const { ias, clock } = world;
      const active = ias.fail(step, failure);
      const error = await identityErrorOf(withoutPauses(clock, make(world)));
      expect(error).toMatchObject({ code });
      expect(error.message.startsWith(`${words}: `)).toBe(true);
      expect(error.message).toMatch(says);
      expect(error.message.length).toBeLessThanOrEqual(600);
      expect(error.message).not.toContain(ias.password);
      expect(error.message).not.toContain("session=");
      expect(active.hits).toBe(code === "Transient" && (repeatable || (alwaysRepeated && !creates(step))) ? 3 : 1);

      active.stop();
      await expect(withoutPauses(clock, make(world))).resolves.not.toThrow();
    },
  );

  it("that hangs is over at its deadline", async () => {
    await using world = await openWorld();
    const { ias, clock } = world;
    const active = ias.fail(step, { type: "hang" });
    const failed = identityErrorOf(make(world));
    // The pause before the next try is over at once, whenever it begins.
    const hits = async (): Promise<number> => {
      await skipPause(clock);
      return active.hits;
    };
    for (let tries = 1; tries <= (repeatable ? 3 : 1); tries++) {
      await expect.poll(hits, { timeout: 300_000, interval: 5 }).toBe(tries);
      await clock.advance(30_000);
    }
    const error = await withoutPauses(clock, failed);
    expect(error).toMatchObject({ code: "Transient" });
    expect(error.message).toBe(`${words}: no answer within 30000 ms (--eventing-auth.provider-timeout)`);
  });

  it("ends with the caller's signal", async () => {
    await using world = await openWorld();
    const active = world.ias.fail(step, { type: "hang" });
    const stop = new AbortController();
    const { provider, application, credentials } = world;
    const ended = withSignal({ provider, application, credentials }, step, stop.signal);
    await expect.poll(() => active.hits, { timeout: 300_000, interval: 5 }).toBe(1);
    stop.abort(new Error("the run is over"));
    await expect(ended).rejects.toThrow("the run is over");
    await expect(withSignal(world, step, stop.signal)).rejects.toThrow("the run is over");
  });
});

function withSignal(
  { provider, application, credentials }: Pick<World, "provider" | "application" | "credentials">,
  step: IasStep,
  signal: AbortSignal,
): Promise<unknown> {
  const made: Readonly<Record<IasStep, () => Promise<unknown>>> = {
    find: () => provider.find(application, signal),
    create: () => provider.create(application, signal),
    read: () => provider.read(application, signal),
    delete: () => provider.delete(application, signal),
    "create-secret": () => provider.issueSecret(application, { rotate: false }, signal),
    "list-secrets": () => provider.listSecrets(application, signal),
    "delete-secret": () => provider.deleteSecret(application, "abcd", signal),
    discover: () => provider.endpoints(signal),
    token: () => provider.accepts(credentials, signal),
    jwks: () => provider.endpoints(signal),
  };
  return made[step]();
}

describe("an answer that is lost after its effect", () => {
  it("to a delete is made good by asking again", async () => {
    await using world = await openWorld();
    const { ias, clock, provider, application } = world;
    ias.fail("delete", { type: "lost-answer" }, 1);
    await withoutPauses(clock, provider.delete(application));
    expect(ias.counters).toMatchObject({ deleted: 1, requests: { delete: 2 } });
  });

  it("to a delete of a secret is made good by asking again", async () => {
    await using world = await openWorld();
    const { ias, clock, provider, application, credentials } = world;
    ias.fail("delete-secret", { type: "lost-answer" }, 1);
    await withoutPauses(clock, provider.deleteSecret(application, credentials.clientSecret.slice(0, 4)));
    expect(ias.counters).toMatchObject({ secretsDeleted: 1 });
    expect(await provider.listSecrets(application)).toEqual([]);
  });

  it("to a create is never followed by a second create, and the application can be found", async () => {
    await using world = await openWorld();
    const { ias, clock, provider } = world;
    const owner = someOwner();
    ias.fail("create", { type: "lost-answer" }, 1);
    expect(await identityErrorOf(withoutPauses(clock, provider.create(owner)))).toMatchObject({ code: "Transient", operation: "create" });
    expect(ias.applications(owner.name)).toHaveLength(1);
    expect(await provider.find(owner)).toEqual(ias.applications(owner.name).map(({ id }) => ({ id, trace: "ours" })));
  });
});

describe("an application counts as gone", () => {
  const odd: readonly (readonly [string, IasFailure])[] = [
    ["an empty body", { type: "body", text: "", status: 404 }],
    ["JSON that is no error of IAS", { type: "body", text: '{"message":"no Route matched with those values"}', status: 404 }],
    ["a page", { type: "body", text: "<html>no such page</html>", contentType: "text/html", status: 404 }],
  ];
  const asking: readonly (readonly ["read" | "delete", (world: World) => Promise<unknown>])[] = [
    ["read", ({ provider, application }) => provider.read(application)],
    ["delete", ({ provider, application }) => provider.delete(application)],
  ];

  describe.each(asking)("for a %s", (step, call) => {
    it.each(odd)("not by a 404 with %s", async (_what, failure) => {
      await using world = await openWorld();
      const { ias, clock, application } = world;
      ias.directory.delete(application.id);
      ias.fail(step, failure);
      expect(await identityErrorOf(withoutPauses(clock, call(world)))).toMatchObject({ code: "Transient", operation: step, status: 404 });
    });

    it("not while the list has it, whatever is said of its id", async () => {
      await using world = await openWorld();
      world.ias.fail(step, { type: "status", status: 404 });
      const error = await identityErrorOf(withoutPauses(world.clock, call(world)));
      expect(error).toMatchObject({ code: "Transient", operation: step });
      expect(error.message).toContain("is not found by its id, but is listed");
    });

    it("not if the list is answered with a 404 for everything", async () => {
      await using world = await openWorld();
      for (const asked of [step, "find"] as const) world.ias.fail(asked, { type: "status", status: 404 });
      expect(await identityErrorOf(withoutPauses(world.clock, call(world)))).toMatchObject({ operation: "find", status: 404 });
    });

    it("if IAS says so and the list does not have it, also where an empty list is a 404", async () => {
      await using world = await openWorld();
      const { ias, clock, application } = world;
      ias.directory.delete(application.id);
      await withoutPauses(clock, call(world));
      ias.fail("find", { type: "body", text: "", status: 404 }, 1);
      await withoutPauses(clock, call(world));
      expect(ias.counters.requests.find).toBe(3);
    });
  });
});

describe("an application does not count as gone", () => {
  it.each([
    ["JSON", { type: "body", text: '{"status":"UP"}' }],
    ["nothing", { type: "body", text: "", status: 204 }],
  ] as const)("because the request to delete it is answered with %s", async (_what, failure) => {
    await using world = await openWorld();
    const { ias, clock, provider, application } = world;
    ias.fail("delete", failure, 1);
    const error = await identityErrorOf(withoutPauses(clock, provider.delete(application)));
    expect(error).toMatchObject({ code: "Transient", operation: "delete" });
    expect(error.message).toContain("is still there");
    await withoutPauses(clock, provider.delete(application));
    expect(ias.applications()).toEqual([]);
  });

  it("because of one empty 404 to the filter: the whole list has it", async () => {
    await using world = await openWorld();
    const { ias, clock, provider, application } = world;
    const nothing: IasFailure = { type: "body", text: "", status: 404 };
    for (let others = 0; others < 150; others++) ias.directory.create(`other-${others}`);
    ias.fail("find", nothing, 1);
    expect(await provider.find(application)).toEqual([{ id: application.id, trace: "none" }]);
    ias.fail("read", { type: "status", status: 404 });
    ias.fail("find", nothing, 1);
    expect((await identityErrorOf(withoutPauses(clock, provider.read(application)))).message).toContain("but is listed");
  });

  it("because an answer has no list in it", async () => {
    await using world = await openWorld();
    const { ias, clock, provider, application } = world;
    for (const text of ['{"status":"UP"}', '{"applications":null}']) {
      const failure = ias.fail("find", { type: "body", text });
      const error = await identityErrorOf(withoutPauses(clock, provider.find(application)));
      expect(error).toMatchObject({ code: "Transient", operation: "find" });
      expect(error.message).toMatch(/promises: applications$/);
      failure.stop();
    }
  });

  it("because a page after the first is answered with a 404", async () => {
    await using world = await openWorld();
    const { ias, clock, provider } = world;
    const owner = someOwner();
    for (let count = 0; count < 150; count++) ias.directory.create(owner.name);
    const stop = ias.onStep((step, moment) => {
      if (step === "find" && moment === "after") ias.fail("find", { type: "status", status: 404 }, 1);
    });
    expect(await identityErrorOf(withoutPauses(clock, provider.find(owner)))).toMatchObject({ operation: "find", status: 404 });
    stop();
  });
});

it("a list is empty if IAS answers 404 to its filter and shows others without one, and an error if a proxy answers so to everything", async () => {
  await using world = await openWorld();
  const { ias, clock, provider } = world;
  const nothing: IasFailure = { type: "body", text: "", status: 404 };
  ias.fail("find", nothing, 1);
  expect(await provider.find(someOwner())).toEqual([]);
  ias.fail("find", nothing);
  expect(await identityErrorOf(withoutPauses(clock, provider.find(someOwner())))).toMatchObject({ code: "Transient", status: 404 });
});

describe("an answer with something missing", () => {
  it("is an error where an application comes without its address, or is shown without what every application has", async () => {
    await using world = await openWorld();
    const { ias, clock, provider, application } = world;
    ias.fail("create", { type: "body", text: "", status: 201 }, 1);
    expect((await identityErrorOf(provider.create(someOwner()))).message).toContain("failed to retrieve application ID from header");
    ias.fail("read", { type: "body", text: '{"name":"x"}' }, 3);
    expect((await identityErrorOf(withoutPauses(clock, provider.read(application)))).message).toMatch(/promises: urn:sap:\S+:Authentication$/);
  });

  it("is an error where a new secret comes without the secret, and its value is not in the message", async () => {
    await using world = await openWorld();
    world.ias.fail("create-secret", { type: "body", text: '{"sekret":"hidden-value"}', status: 201 }, 1);
    const error = await identityErrorOf(world.provider.issueSecret(world.application, { rotate: false }));
    expect(error.message).toMatch(/promises: secret$/);
    expect(error.message).not.toContain("hidden-value");
  });

  it("is none where a new secret comes without its hint: that is how it starts", async () => {
    await using world = await openWorld();
    world.ias.fail("create-secret", { type: "body", text: '{"secret":"SSHl0p=EkHJl55J"}', status: 201 }, 1);
    expect(await world.provider.issueSecret(world.application, { rotate: false })).toEqual({ secret: "SSHl0p=EkHJl55J", hint: "SSHl" });
  });
});

describe("what SAP's API may leave out", () => {
  it("is not demanded: client IDs, names, descriptions, hints, and the list of a search that finds nothing", async () => {
    await using world = await openWorld();
    const { ias, provider, application } = world;
    const { id } = application;
    ias.fail("read", { type: "body", text: JSON.stringify({ id }) }, 1);
    expect(await provider.read(application)).toEqual({ id, clientId: undefined, trace: "none" });
    ias.fail("find", { type: "body", text: '{"totalResults":0}' }, 1);
    expect(await provider.find(application)).toEqual([]);
    ias.fail(
      "find",
      { type: "body", text: JSON.stringify({ applications: [{ id }, { name: application.name }, { id, name: application.name }] }) },
      1,
    );
    expect(await provider.find(application)).toEqual([{ id, trace: "none" }]);
    ias.fail("list-secrets", { type: "body", text: '{"secrets":[{},{"hint":"abcd"}]}' }, 1);
    expect(await provider.listSecrets(application)).toEqual([{ hint: "abcd", validToMs: undefined }]);
  });

  it("is no licence: another application's answer, and a list that is none, are errors", async () => {
    await using world = await openWorld();
    const { ias, clock, provider, application } = world;
    ias.fail("read", { type: "body", text: JSON.stringify({ id: "05b6557e-af27-40c4-b112-d341b2b57f43" }) }, 3);
    expect((await identityErrorOf(withoutPauses(clock, provider.read(application)))).message).toContain("is another application");
    ias.fail("find", { type: "body", text: '{"status":"UP"}' }, 3);
    expect((await identityErrorOf(withoutPauses(clock, provider.find(application)))).message).toMatch(/promises: applications$/);
  });
});

describe("a list", () => {
  it("is read to its last page, and only applications of that very name count", async () => {
    await using world = await openWorld();
    const { ias, provider } = world;
    const owner = someOwner();
    const many = Array.from({ length: 250 }, () => ({ id: ias.directory.create(owner.name).id, trace: "none" }));
    expect(await provider.find(owner)).toEqual(many);
    expect(ias.counters.requests.find).toBe(3);
  });

  it("of a server that heeds no filter names nobody else's application", async () => {
    await using world = await openWorld();
    const { ias, provider, application } = world;
    const others = [application.id, world.credentials.clientId].map((id) => ({ id, name: "somebody-else" }));
    ias.fail("find", { type: "body", text: JSON.stringify({ applications: [...others, { id: application.id, name: application.name }] }) }, 1);
    expect(await provider.find(application)).toEqual([{ id: application.id, trace: "none" }]);
  });

  it("without end is an error", async () => {
    await using world = await openWorld();
    world.ias.fail("find", { type: "body", text: JSON.stringify({ applications: [], nextCursor: "again" }) });
    expect((await identityErrorOf(world.provider.find(world.application))).message).toMatch(/the list has no end/);
  });

  it("that is longer than any list is not read to its end", async () => {
    await using world = await openWorld();
    world.ias.fail("find", { type: "body", text: `{"applications":[],"more":"${"x".repeat(5 * 1024 * 1024)}"}` });
    expect((await identityErrorOf(withoutPauses(world.clock, world.provider.find(world.application)))).message).toMatch(/longer than 4194304 bytes/);
  });
});

describe("a well-known document", () => {
  it("is asked for once, whoever asks and however many at once", async () => {
    await using world = await openWorld();
    await Promise.all(Array.from({ length: 20 }, () => world.provider.endpoints()));
    await world.provider.accepts(world.credentials);
    expect(world.ias.counters.requests.discover).toBe(1);
  });

  it("is asked for again when the credentials or the URL change, and only then", async () => {
    await using first = await startIasStandIn();
    await using second = await startIasStandIn({ username: first.username, password: first.password });
    using providers = openProviders();
    const data = secretData({ url: first.url, username: first.username, password: first.password });
    expect((await providers.forSecret(data).endpoints()).tokenUrl).toBe(`${first.url}/oauth2/token`);
    expect(providers.forSecret({ ...data })).toBe(providers.forSecret(data));
    expect((await providers.forSecret({ ...data, ...secretData({ url: second.url }) }).endpoints()).tokenUrl).toBe(`${second.url}/oauth2/token`);
    await providers.forSecret({ ...data, ...secretData({ password: "another" }) }).endpoints();
    expect([first.counters.requests.discover, second.counters.requests.discover]).toEqual([2, 1]);
  });

  it.each([
    ["an endpoint at another host", { token_endpoint: "https://elsewhere.example/token" }, "Terminal", /another host \(elsewhere\.example\)/],
    ["a password in an address", { jwks_uri: "https://me:hidden@elsewhere.example/keys" }, "Transient", /no https:\/\/ URL/],
    ["no jwks_uri", { jwks_uri: undefined }, "Transient", /promises: jwks_uri/],
  ])("with %s is refused", async (_, change, code, says) => {
    await using world = await openWorld();
    const { ias, clock, provider } = world;
    const document = { issuer: ias.url, token_endpoint: `${ias.url}/oauth2/token`, jwks_uri: `${ias.url}/oauth2/certs`, ...change };
    ias.fail("discover", { type: "body", text: JSON.stringify(document) });
    const error = await identityErrorOf(withoutPauses(clock, provider.endpoints()));
    expect(error).toMatchObject({ code });
    expect(error.message).toMatch(says);
    expect(error.message).not.toContain("hidden");
  });
});

describe("secrets", () => {
  it("that a provider repeats in its errors are taken out", async () => {
    await using world = await openWorld();
    const { ias, provider } = world;
    const basic = Buffer.from(`${ias.username}:${ias.password}`).toString("base64");
    const message = `no access for ${ias.password} (Basic ${basic}), token eyJhbGciOiJSUzI1NiJ9.e30.c2ln, client_secret=topsecret1 ${"x".repeat(5000)}`;
    ias.fail("create", { type: "status", status: 403, body: { code: 403, message } });
    const error = await identityErrorOf(provider.create(someOwner()));
    for (const secret of [ias.password, basic, "eyJ", "topsecret1"]) expect(error.message).not.toContain(secret);
    expect(error.message.length).toBeLessThanOrEqual(600);
  });

  it("of clients that a token endpoint repeats are taken out too", async () => {
    await using world = await openWorld();
    const { ias, provider, credentials } = world;
    ias.fail("token", { type: "status", status: 400, body: { error: "invalid_scope", error_description: `not with ${credentials.clientSecret}` } });
    const error = await identityErrorOf(provider.accepts(credentials));
    expect(error.message).toMatch(/answered 400: invalid_scope: not with \[redacted\]$/);
  });

  it("never get a hint that is in use", async () => {
    await using world = await openWorld();
    const { ias, provider, application } = world;
    for (const secret of ["SAME-first", "SAME-again", "OTHER-one"]) {
      ias.fail("create-secret", { type: "body", text: JSON.stringify({ secret, hint: secret.slice(0, 4) }), status: 201 }, 1);
    }
    expect(await provider.issueSecret(application, { rotate: true, known: ["SAME"] })).toEqual({ secret: "OTHER-one", hint: "OTHE" });
  });
});
