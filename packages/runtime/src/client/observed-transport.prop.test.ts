// What a path says is what it was made from.
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { collectionPath, defineKind, objectPath, resourceOf } from "./kind.ts";
import { requestInfoOf } from "./observed-transport.ts";

const word = fc.stringMatching(/^[a-z][a-z0-9-]{0,10}$/);
const kinds = fc
  .record({ group: fc.constantFrom("", "apps", "example.org"), plural: word, namespaced: fc.boolean() })
  .filter(({ plural }) => plural !== "namespaces")
  .map(({ group, plural, namespaced }) => defineKind({ group, version: "v1", kind: "Any", plural, namespaced }));
// RBAC names may hold colons and the like.
const names = fc.string({ minLength: 1 }).filter((name) => !/[/%]/.test(name) && name !== "." && name !== ".." && name.isWellFormed());

describe("requestInfoOf", () => {
  it("reads back the paths of objects", () => {
    fc.assert(
      fc.property(kinds, word, names, fc.constantFrom(undefined, "status", "scale"), (kind, namespace, name, subresource) => {
        const path = objectPath(kind, { namespace, name }, subresource);
        expect(requestInfoOf("PATCH", `${path}?fieldManager=x`)).toEqual({
          verb: "patch",
          resource: resourceOf(kind),
          name,
          ...(kind.namespaced && { namespace }),
          ...(subresource && { subresource }),
        });
      }),
    );
  });

  it("reads back the paths of collections, and distinguishes a watch from a list", () => {
    fc.assert(
      fc.property(kinds, fc.option(word, { nil: undefined }), (kind, namespace) => {
        const path = collectionPath(kind, namespace);
        const about = { resource: resourceOf(kind), ...(kind.namespaced && namespace && { namespace }) };
        expect(requestInfoOf("GET", path)).toEqual({ verb: "list", ...about });
        expect(requestInfoOf("GET", `${path}?limit=500&watch=true`)).toEqual({ verb: "watch", ...about });
        expect(requestInfoOf("POST", path)).toEqual({ verb: "create", ...about });
        expect(requestInfoOf("DELETE", path)).toEqual({ verb: "deletecollection", ...about });
      }),
    );
  });

  it("never throws", () => {
    fc.assert(fc.property(fc.string(), fc.string(), (method, path) => void requestInfoOf(method, path)));
    expect(requestInfoOf("GET", "/api/v1/pods/%zz")).toEqual({ verb: "get", resource: "pods", name: "%zz" });
  });

  it("knows namespaces as objects, and paths that are no resource", () => {
    expect(requestInfoOf("GET", "/api/v1/namespaces")).toEqual({ verb: "list", resource: "namespaces" });
    expect(requestInfoOf("PUT", "/api/v1/namespaces/a")).toEqual({ verb: "update", resource: "namespaces", name: "a" });
    expect(requestInfoOf("PUT", "/api/v1/namespaces/a/finalize")).toEqual({
      verb: "update",
      resource: "namespaces",
      name: "a",
      subresource: "finalize",
    });
    expect(requestInfoOf("GET", "/readyz?verbose")).toEqual({ verb: "get", resource: "" });
    expect(requestInfoOf("GET", "/apis/apps/v1")).toEqual({ verb: "get", resource: "" });
  });
});
