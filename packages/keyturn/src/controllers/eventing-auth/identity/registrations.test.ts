// Grants as they are kept, and what is sent to registered clients.
import { describe, expect, it } from "vitest";
import { grantText, hintOf, readGrant, updateBody } from "./registrations.ts";

const issuer = "https://id.example.com";
const grant = { issuer, clientId: "c1", management: { uri: `${issuer}/reg/c1`, token: "t0ken" }, hint: "abc" };

describe("a grant", () => {
  it("comes back as it was kept", () => {
    expect(readGrant(grantText(grant))).toEqual(grant);
    expect(readGrant(grantText({ ...grant, asked: "delete" }))).toEqual({ ...grant, asked: "delete" });
    expect(readGrant(grantText({ issuer, clientId: "c1" }))).toEqual({ issuer, clientId: "c1" });
  });

  it("is none where there is none", () => {
    expect([undefined, "", "{}", "[]", '{"issuer":7}'].map(readGrant)).toEqual(Array.from({ length: 5 }, () => undefined));
  });
});

it("names a secret without showing anything of it", () => {
  const hint = hintOf("a-long-and-random-secret");
  expect(hint).toMatch(/^[0-9a-f]{12}$/);
  expect(hint).not.toBe(hintOf("another-long-and-random-secret"));
});

it("updates a client with everything that was read and nothing that is the server's own", () => {
  const client = {
    client_id: "c1",
    client_secret: "s",
    client_secret_expires_at: 0,
    client_id_issued_at: 1,
    registration_access_token: "t",
    registration_client_uri: "u",
    client_name: "n",
    extension: { kept: true },
  };
  expect(JSON.parse(updateBody(client))).toEqual({ client_id: "c1", client_name: "n", extension: { kept: true } });
});
