// What the stand-in does as IAS does it, beyond what the identity provider's own tests need.
import { VirtualClock } from "@keyturn/runtime/testing";
import { describe, expect, it } from "vitest";
import { type IasStandIn, startIasStandIn } from "./ias.ts";

const api = "/Applications/v1/";

function ask({ url, username, password }: IasStandIn, path: string, init: RequestInit = {}): Promise<Response> {
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  return fetch(`${url}${path}`, { ...init, headers: { authorization } });
}

describe("the list of applications", () => {
  it.each(["filter=name+like+x", "filter=name+eq+a+b", "limit=0", "limit=101", "limit=x", "cursor=unknown"])(
    "refuses %s with an error body",
    async (query) => {
      await using ias = await startIasStandIn();
      const response = await ask(ias, `${api}?${query}`);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: 400, message: "Invalid input." });
    },
  );

  it("finds by name, quoted or not, by id and by client id", async () => {
    await using ias = await startIasStandIn();
    const { id, clientId } = ias.directory.create('odd "name"');
    const { id: plain } = ias.directory.create("plain");
    const found = async (filter: string): Promise<unknown> => (await ask(ias, `${api}?${new URLSearchParams({ filter }).toString()}`)).json();
    expect(await found('name eq "odd \\"name\\""')).toMatchObject({ totalResults: 1, applications: [{ id }] });
    expect(await found("name eq plain")).toMatchObject({ totalResults: 1, applications: [{ id: plain }] });
    expect(await found(`id eq ${id}`)).toMatchObject({ applications: [{ id }] });
    expect(await found(`clientID eq ${clientId}`)).toMatchObject({ applications: [{ id }] });
  });

  it("comes in pages of the size that was asked for", async () => {
    await using ias = await startIasStandIn();
    const ids = ["a", "b", "c"].map((name) => ias.directory.create(name).id);
    expect(await (await ask(ias, `${api}?limit=2`)).json()).toMatchObject({
      totalResults: 3,
      nextCursor: ids[2],
      applications: [{ id: ids[0] }, { id: ids[1] }],
    });
    const last: unknown = await (await ask(ias, `${api}?limit=2&cursor=${ids[2]}`)).json();
    expect(last).toMatchObject({ applications: [{ id: ids[2] }] });
    expect(last).not.toHaveProperty("nextCursor");
  });
});

describe("an application", () => {
  const clientIdOf = async (ias: IasStandIn, id: string): Promise<unknown> => {
    const shown = (await (await ask(ias, `${api}${id}`)).json()) as Readonly<Record<string, { readonly clientID?: string }>>;
    return shown["urn:sap:identity:application:schemas:extension:sci:1.0:Authentication"]?.clientID;
  };

  it("has a client ID from its first secret on, also when that secret is gone", async () => {
    await using ias = await startIasStandIn();
    const { id, clientId } = ias.directory.create("a");
    expect(await clientIdOf(ias, id)).toBeUndefined();
    const hint = ias.directory.addSecret(id, { authorizationScopes: [] })?.hint ?? "";
    expect(await clientIdOf(ias, id)).toBe(clientId);
    ias.directory.deleteSecret(id, hint);
    expect(await clientIdOf(ias, id)).toBe(clientId);
  });

  it("has a client ID from the beginning where that is asked for", async () => {
    await using ias = await startIasStandIn({ clientIdFrom: "creation" });
    const { id, clientId } = ias.directory.create("a");
    expect(await clientIdOf(ias, id)).toBe(clientId);
  });

  it("can be kept from being seen for a while after its creation", async () => {
    const clock = new VirtualClock();
    await using ias = await startIasStandIn({ clock, shownAfterMs: 3000 });
    const made = await ask(ias, api, { method: "POST", body: JSON.stringify({ name: "a" }) });
    const path = made.headers.get("location") ?? "";
    expect((await ask(ias, path)).status).toBe(404);
    expect(await (await ask(ias, `${api}?filter=name+eq+a`)).json()).toMatchObject({ applications: [] });
    expect((await ask(ias, `${path}/apiSecrets`, { method: "POST", body: "{}" })).status).toBe(404);
    await clock.advance(3000);
    expect((await ask(ias, path)).status).toBe(200);
    expect(await (await ask(ias, `${api}?filter=name+eq+a`)).json()).toMatchObject({ totalResults: 1 });
  });
});

describe("secrets", () => {
  it("of one hint are deleted in the order in which they run out", async () => {
    await using ias = await startIasStandIn();
    const { id } = ias.directory.create("a");
    const scopes = { authorizationScopes: ["oAuth"] };
    ias.directory.addSecret(id, { ...scopes, secret: "SAME-without-end" });
    ias.directory.addSecret(id, { ...scopes, secret: "SAME-later", validTo: "2040-01-01T00:00:00Z" });
    ias.directory.addSecret(id, { ...scopes, secret: "SAME-sooner", validTo: "2039-01-01T00:00:00Z" });
    const left: string[] = [];
    for (let count = 0; count < 3; count++) {
      expect((await ask(ias, `${api}${id}/apiSecrets?hint=SAME`, { method: "DELETE" })).status).toBe(200);
      left.push(
        ias
          .applications("a")
          .flatMap(({ secrets }) => secrets.map(({ secret }) => secret))
          .join(" "),
      );
    }
    expect(left).toEqual(["SAME-without-end SAME-later", "SAME-without-end", ""]);
  });

  it("that ran out, or would have before they began, are refused", async () => {
    await using ias = await startIasStandIn();
    const { id, clientId } = ias.directory.create("a");
    const body = JSON.stringify({ validTo: "2001-01-01T00:00:00Z" });
    expect((await ask(ias, `${api}${id}/apiSecrets`, { method: "POST", body })).status).toBe(400);
    ias.directory.addSecret(id, { authorizationScopes: [], secret: "ran-out", validTo: "2001-01-01T00:00:00Z" });
    const form = new URLSearchParams({ grant_type: "client_credentials", client_id: clientId, client_secret: "ran-out" });
    expect((await fetch(`${ias.url}/oauth2/token`, { method: "POST", body: form })).status).toBe(401);
  });
});

it("knows nobody but its administrator, and nothing but its API", async () => {
  await using ias = await startIasStandIn();
  expect((await fetch(`${ias.url}${api}`)).status).toBe(401);
  expect((await ask(ias, "/elsewhere")).status).toBe(404);
  expect((await ask(ias, api, { method: "POST", body: "no JSON" })).status).toBe(400);
  expect(ias.counters).toMatchObject({ created: 0, requests: { find: 1, create: 1 } });
});
