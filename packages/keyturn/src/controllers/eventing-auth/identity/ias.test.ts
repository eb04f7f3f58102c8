// The wire form of the Application Directory API.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { filterByName, idInLocation, isApplicationId, newApplicationBody, newSecretBody, timeOf } from "./ias.ts";

const id = "b92c95c0-42ea-45c0-9cbb-aa49c1020e42";

describe("the filter by name", () => {
  it("is a bare word for every name that Kubernetes allows, as the predecessor sends it", () => {
    const query = new URLSearchParams({ filter: filterByName("a1b2-c3.d4") ?? "" });
    expect(query.toString()).toBe("filter=name+eq+a1b2-c3.d4");
  });

  it("is one comparison with that very name, whatever the name", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 80 }), (name) => {
        const filter = filterByName(name);
        if (filter === undefined) return name.length > 30;
        const value = filter.slice("name eq ".length);
        return filter.startsWith("name eq ") && (value.startsWith('"') ? JSON.parse(value) === name : value === name && !/[\s"]/.test(value));
      }),
    );
  });

  it("is none for a name that would make it longer than the API allows", () => {
    expect(filterByName("n".repeat(247))).toHaveLength(255);
    expect(filterByName("n".repeat(248))).toBeUndefined();
  });
});

describe("the bodies", () => {
  it("are the predecessor's, to the letter, and a description by which an application is known again", () => {
    expect(newApplicationBody({ name: "a1b2", uid: "c3d4" }, "")).toBe(
      '{"branding":{"displayName":"a1b2"},"description":"made by Keyturn for the EventingAuth with the uid c3d4","globalAccount":"","name":"a1b2","schemas":["urn:sap:identity:application:schemas:extension:sci:1.0:Authentication"],"urn:sap:identity:application:schemas:extension:sci:1.0:Authentication":{"ssoType":"openIdConnect"}}',
    );
    expect(newSecretBody(undefined)).toBe('{"authorizationScopes":["oAuth"],"description":"eventing-auth-manager"}');
  });

  it("say when a secret runs out only if it does", () => {
    expect(JSON.parse(newSecretBody(Date.UTC(2029, 9, 12, 10, 0, 0, 250)))).toMatchObject({ validTo: "2029-10-12T10:00:00Z" });
  });
});

describe("the id in a Location", () => {
  it.each([`/Applications/v1/${id}`, `https://tenant.accounts.ondemand.com/Applications/v1/${id}/?x=1`, id])("is found in %s", (location) => {
    expect(idInLocation(location)).toBe(id);
  });

  it.each([undefined, "", "/Applications/v1/", "/Applications/v1/42", `/${id}/apiSecrets`])("is not found in %s", (location) => {
    expect(idInLocation(location)).toBeUndefined();
  });

  it("is a UUID and nothing else", () => {
    expect([id, id.toUpperCase(), `${id}/..`, "../admin", ""].map(isApplicationId)).toEqual([true, true, false, false, false]);
  });
});

it("reads times with and without their zone as UTC, and no time where there is none", () => {
  const timeMs = Date.UTC(2024, 0, 24, 10, 58, 50);
  expect(["2024-01-24T10:58:50", "2024-01-24T10:58:50Z", "2024-01-24T12:58:50+02:00"].map(timeOf)).toEqual([timeMs, timeMs, timeMs]);
  expect(["", "soon", null, undefined].map(timeOf)).toEqual([undefined, undefined, undefined, undefined]);
});
