import { describe, expect, it } from "vitest";
import { defineKind } from "../client/kind.ts";
import type { KubeObject } from "../client/object.ts";
import { marked, NameConflictError, ownerOf, ownershipOf } from "./ownership.ts";

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

it("a name conflict says whose the object is and what to do", () => {
  const foreign = new NameConflictError(widgets, owner.name, { ownership: "foreign", holder: undefined });
  expect(foreign.message).toBe(
    "Widget shop/one exists and it was not made by this operator; it was left as it is: remove it, or choose another name",
  );
  expect(foreign).toMatchObject({ code: "Terminal", reason: "Conflict" });
});
