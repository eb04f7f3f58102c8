import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defineKind, type KubeObject } from "../client/kind.ts";
import { canonicalJson, marked, NameConflictError, ownerOf, ownersOf, ownershipOf, withAppliedDigest } from "./owned-objects.ts";
import { covers, isSame } from "./stored-form.ts";

const operator = { name: "demo", domain: "demo.example" };
const widgets = defineKind({ group: "demo.example", version: "v1", kind: "Widget", plural: "widgets", namespaced: true });
const gadgets = defineKind({ group: "demo.example", version: "v1", kind: "Gadget", plural: "gadgets", namespaced: true });
const owner = { kind: widgets, name: { namespace: "shop", name: "one" } };
const object = { metadata: { name: "thing", namespace: "shop" } };

describe("ownershipOf", () => {
  it("knows what was marked for this owner", () => {
    expect(ownershipOf(marked(object, operator, owner), operator, owner)).toBe("ours");
  });

  it("does not take another owner's object for its own, though the operator made it", () => {
    const other = { kind: widgets, name: { namespace: "shop", name: "two" } };
    expect(ownershipOf(marked(object, operator, other), operator, owner)).toBe("another");
  });

  it.each([
    ["no mark", object],
    ["another operator's mark", marked(object, { name: "other", domain: "demo.example" }, owner)],
    ["the annotation alone", { metadata: { ...marked(object, operator, owner).metadata, labels: {} } }],
  ])("leaves an object with %s alone", (_what, candidate) => {
    expect(ownershipOf(candidate, operator, owner)).toBe("foreign");
  });
});

it("ownerOf finds the way back to owners of one kind only", () => {
  const ours = marked(object, operator, owner);
  expect(ownerOf(ours, operator, widgets)).toBe("shop/one");
  expect(ownerOf(ours, operator, gadgets)).toBeUndefined();
});

it("ownerOf believes nothing about another namespace, nor about an owner that should have one and has none", () => {
  const claim = (namespace: string | undefined): KubeObject => {
    const metadata = { name: "thing", ...(namespace !== undefined && { namespace }) };
    return marked({ metadata }, operator, owner);
  };
  expect(ownerOf(claim("bank"), operator, widgets)).toBeUndefined();
  expect(ownerOf(claim(undefined), operator, widgets)).toBeUndefined();
  const bare = marked({ metadata: { name: "thing" } }, operator, { kind: widgets, name: { name: "one" } });
  expect(ownerOf({ metadata: { ...bare.metadata, namespace: "shop" } }, operator, widgets)).toBeUndefined();
});

it("ownersOf knows owners by the mark and by the owner reference that controls, each once", () => {
  const reference = { apiVersion: "demo.example/v1", kind: "Widget", name: "one", uid: "u", controller: true };
  const of = (fields: object): readonly string[] => ownersOf({ metadata: { ...object.metadata, ...fields } }, operator, widgets);
  expect(of({ ownerReferences: [reference] })).toEqual(["shop/one"]);
  expect(ownersOf(marked({ metadata: { ...object.metadata, ownerReferences: [reference] } }, operator, owner), operator, widgets)).toEqual([
    "shop/one",
  ]);
  expect(
    ownersOf(marked({ metadata: { ...object.metadata, ownerReferences: [{ ...reference, name: "two" }] } }, operator, owner), operator, widgets),
  ).toEqual(["shop/one", "shop/two"]);
  expect(of({ ownerReferences: [{ ...reference, controller: false }] })).toEqual([]);
  expect(of({ ownerReferences: [{ ...reference, kind: "Gadget" }] })).toEqual([]);
  expect(of({ ownerReferences: [{ ...reference, apiVersion: "v1" }] })).toEqual([]);
});

it("a name conflict says whose the object is and what to do", () => {
  const foreign = new NameConflictError(widgets, owner.name, { ownership: "foreign", holder: undefined });
  expect(foreign.message).toBe(
    "Widget shop/one exists and it was not made by this operator; it was left as it is: remove it, or choose another name",
  );
  expect(foreign).toMatchObject({ code: "Terminal", reason: "Conflict" });
});

describe("covers", () => {
  it("ignores what the server added", () => {
    const desired = { spec: { containers: [{ name: "web", image: "nginx" }] } };
    const live = {
      spec: { containers: [{ name: "web", image: "nginx", terminationMessagePath: "/dev/termination-log" }], dnsPolicy: "ClusterFirst" },
    };
    expect(covers(live, desired)).toBe(true);
  });

  it.each([
    ["a changed value", { data: { a: "2" } }, { data: { a: "1" } }],
    ["a missing value", { data: {} }, { data: { a: "1" } }],
    ["a list that grew", { ports: [80, 81] }, { ports: [80] }],
    ["a list that shrank", { ports: [] }, { ports: [80] }],
    ["another order", { ports: [81, 80] }, { ports: [80, 81] }],
    ["another type", { port: "80" }, { port: 80 }],
    ["null for an object", { spec: null }, { spec: {} }],
  ])("sees %s", (_what, live, desired) => {
    expect(covers(live, desired)).toBe(false);
  });

  it("holds for every value and itself, and a field more on the live side changes nothing", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), (desired, extra) => {
        expect(covers(desired, desired)).toBe(true);
        expect(covers({ ...desired, "added by the server": extra }, desired)).toBe(true);
      }),
    );
  });
});

it("isSame is the equality of canonical JSON", () => {
  const record = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(fc.property(record, record, (a, b) => isSame(a, b) === (canonicalJson(a) === canonicalJson(b))));
  fc.assert(fc.property(record, (value) => isSame(value, structuredClone(value))));
  expect(isSame({ a: 1, b: undefined }, { a: 1 })).toBe(true);
  expect(isSame({ a: 1, b: 2 }, { a: 1 })).toBe(false);
  expect(isSame(undefined, {})).toBe(false);
});

describe("withAppliedDigest", () => {
  const digestOf = (data: Record<string, string>): string | undefined =>
    withAppliedDigest<KubeObject & { readonly data: object }>({ metadata: { name: "a" }, data }, operator).metadata.annotations?.[
      "demo.example/applied"
    ];

  it("is the same for the same content in another order, and another when a field is dropped", () => {
    expect(digestOf({ a: "1", b: "2" })).toBe(digestOf({ b: "2", a: "1" }));
    expect(digestOf({ a: "1", b: "2" })).not.toBe(digestOf({ a: "1" }));
  });

  it("keeps the annotations that are there", () => {
    const object = withAppliedDigest({ metadata: { name: "a", annotations: { note: "x" } } }, operator);
    expect(object.metadata.annotations).toMatchObject({ note: "x" });
  });
});

it("canonicalJson does not depend on the order of keys, at any depth", () => {
  expect(canonicalJson({ b: [{ d: 1, c: 2 }], a: null })).toBe('{"a":null,"b":[{"c":2,"d":1}]}');
});
