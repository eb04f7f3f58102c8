// The OIDC auth provider, against a small real token endpoint.
import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import { createAuthority, issueCertificate } from "../../x509.ts";
import { startLocalServer, type LocalServer, type LocalServerTls } from "../local-server.fixture.ts";
import type { Login } from "./credentials.ts";
import { oidcLogin } from "./oidc.ts";

const startMs = Date.UTC(2026, 0, 1);
const jwt = (claims: object): string => ["e30", Buffer.from(JSON.stringify(claims)).toString("base64url"), "sig"].join(".");
const tokenUntil = (expiresMs: number, id = ""): string => jwt({ exp: expiresMs / 1000, jti: id });

async function bodyOf(request: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return new URLSearchParams(Buffer.concat(chunks).toString());
}

interface Issuer extends LocalServer {
  readonly grants: readonly { readonly form: Record<string, string>; readonly authorization: string | undefined }[];
}

/** An issuer that gives tokens of an hour and a new refresh token each time; a refresh token works once. */
async function startIssuer(methods?: readonly string[], tls?: LocalServerTls): Promise<Issuer> {
  const grants: { form: Record<string, string>; authorization: string | undefined }[] = [];
  let valid = "refresh-0";
  const server = await startLocalServer((request, response) => {
    response.setHeader("content-type", "application/json");
    if (request.url === "/realm/.well-known/openid-configuration") {
      const document = { issuer: `${server.url}/realm`, token_endpoint: `${server.url}/token`, token_endpoint_auth_methods_supported: methods };
      response.end(JSON.stringify(document));
      return;
    }
    void bodyOf(request).then((form) => {
      grants.push({ form: Object.fromEntries(form), authorization: request.headers.authorization });
      response.statusCode = form.get("refresh_token") === valid ? 200 : 400;
      valid = `refresh-${grants.length}`;
      response.end(JSON.stringify({ id_token: tokenUntil(startMs + grants.length * 3_600_000, valid), refresh_token: valid }));
    });
  }, tls);
  return Object.defineProperties({} as Issuer, { ...Object.getOwnPropertyDescriptors(server), grants: { value: grants } });
}

function loginAt(issuer: Pick<LocalServer, "url">, config: Readonly<Record<string, string>>, clock = new VirtualClock(startMs)): Login {
  const all = { "idp-issuer-url": `${issuer.url}/realm`, "client-id": "kube", ...config };
  return oidcLogin(all, { where: "test", dir: "/", clock, env: {} });
}

describe("an ID token", () => {
  it("is used while it is good, and then renewed once for all who wait", async () => {
    await using issuer = await startIssuer();
    const clock = new VirtualClock(startMs);
    const given = tokenUntil(startMs + 600_000);
    const login = loginAt(issuer, { "id-token": given, "refresh-token": "refresh-0", "client-secret": "s e" }, clock);
    expect((await login.current()).headers).toEqual({ authorization: `Bearer ${given}` });
    expect(issuer.seen).toHaveLength(0);
    await clock.advance(600_000);
    const renewed = await Promise.all(Array.from({ length: 10 }, () => login.current()));
    expect(new Set(renewed.map(({ headers }) => headers["authorization"]))).toEqual(
      new Set([`Bearer ${tokenUntil(startMs + 3_600_000, "refresh-1")}`]),
    );
    await clock.advance(3_000_000);
    expect((await login.current()).headers).toEqual({ authorization: `Bearer ${tokenUntil(startMs + 7_200_000, "refresh-2")}` });
    const authorization = `Basic ${Buffer.from("kube:s%20e").toString("base64")}`;
    expect(issuer.grants).toEqual([
      { form: { grant_type: "refresh_token", refresh_token: "refresh-0" }, authorization },
      { form: { grant_type: "refresh_token", refresh_token: "refresh-1" }, authorization },
    ]);
  });

  it("is renewed when the server refuses it", async () => {
    await using issuer = await startIssuer(["client_secret_post"]);
    const login = loginAt(issuer, { "id-token": "no.jwt", "refresh-token": "refresh-0", "client-secret": "s" });
    expect((await login.current()).headers).toEqual({ authorization: "Bearer no.jwt" });
    expect(await login.refresh()).toBe(true);
    expect((await login.current()).headers).toEqual({ authorization: `Bearer ${tokenUntil(startMs + 3_600_000, "refresh-1")}` });
    expect(issuer.grants).toEqual([
      { form: { grant_type: "refresh_token", refresh_token: "refresh-0", client_id: "kube", client_secret: "s" }, authorization: undefined },
    ]);
  });

  it("comes from an issuer whose certificate the kubeconfig vouches for", async () => {
    const authority = createAuthority("issuer");
    await using issuer = await startIssuer([], issueCertificate(authority, { usage: "server", commonName: "idp", hosts: ["127.0.0.1"] }));
    const data = Buffer.from(authority.certificate).toString("base64");
    const login = loginAt(issuer, { "refresh-token": "refresh-0", "idp-certificate-authority-data": data });
    expect((await login.current()).headers["authorization"]).toMatch(/^Bearer /);
    await expect(loginAt(issuer, { "refresh-token": "refresh-0" }).current()).rejects.toMatchObject({ code: "Connection" });
  });
});

describe("what goes wrong is reported without tokens", () => {
  it("when there is no refresh token, or a used one", async () => {
    await using issuer = await startIssuer();
    await expect(loginAt(issuer, {}).current()).rejects.toThrow(/has run out and there is no refresh token: log in again$/);
    await expect(loginAt(issuer, { "refresh-token": "stolen-token" }).current()).rejects.toThrow(
      `OIDC issuer answered 400 at ${issuer.url}/token: log in again if this goes on`,
    );
  });

  it("when the issuer is no issuer", async () => {
    await using html = await startLocalServer((_, response) => response.end("<html>"));
    await expect(loginAt(html, { "refresh-token": "r" }).current()).rejects.toThrow(/answered with no JSON at/);
    await using empty = await startLocalServer((_, response) => response.end("{}"));
    await expect(loginAt(empty, { "refresh-token": "r" }).current()).rejects.toThrow(/has no usable discovery document$/);
    const other = JSON.stringify({ issuer: "https://evil.test", token_endpoint: "https://evil.test/token" });
    await using evil = await startLocalServer((_, response) => response.end(other));
    await expect(loginAt(evil, { "refresh-token": "r" }).current()).rejects.toThrow(/calls itself https:\/\/evil\.test: correct idp-issuer-url$/);
    expect(() => loginAt({ url: "no url" }, {})).toThrow(expect.objectContaining({ code: "Malformed" }));
  });
});
