// The typed side of a custom kind: what the compiler infers, and what decode accepts.
import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import type { Kind } from "../client/kind.ts";
import { collectionPath } from "../client/kind.ts";
import { defineCustomKind } from "./custom-kind.ts";
import type { ObjectOf } from "./custom-kind.ts";

const Widget = defineCustomKind({
  group: "example.com",
  kind: "Widget",
  scope: "Namespaced",
  shortNames: ["wd"],
  versions: [
    { name: "v1alpha1", spec: z.object({ colour: z.string() }) },
    { name: "v1", storage: true, spec: z.object({ size: z.int().default(3) }), status: z.object({ ready: z.boolean() }) },
  ],
});
type Widget = ObjectOf<typeof Widget>;

describe("defineCustomKind", () => {
  test("is the Kind of the stored version, with the types of its schemas", () => {
    expectTypeOf<Widget["spec"]>().toEqualTypeOf<{ readonly size: number }>();
    expectTypeOf<Widget["status"]>().toEqualTypeOf<{ readonly ready: boolean } | undefined>();
    expectTypeOf(Widget).toExtend<Kind<Widget>>();
    expect(collectionPath(Widget, "shop")).toBe("/apis/example.com/v1/namespaces/shop/widgets");
  });

  test("gives the Kind of any other version", () => {
    const old = Widget.at("v1alpha1");
    expectTypeOf<ObjectOf<typeof old>["spec"]>().toEqualTypeOf<{ readonly colour: string }>();
    expect(old.version).toBe("v1alpha1");
  });

  test("infers the single version without storage: true", () => {
    const Single = defineCustomKind({
      group: "example.com",
      kind: "Policy",
      scope: "Cluster",
      versions: [{ name: "v1", spec: z.object({ on: z.boolean() }) }],
    });
    expectTypeOf<ObjectOf<typeof Single>["spec"]>().toEqualTypeOf<{ readonly on: boolean }>();
    expect(Single).toMatchObject({ plural: "policies", namespaced: false, version: "v1" });
  });

  test("guesses plurals as Kubernetes' tools do", () => {
    const plural = (kind: string): string =>
      defineCustomKind({ group: "g", kind, scope: "Cluster", versions: [{ name: "v1", spec: z.object({}) }] }).plural;
    expect(["JWKS", "Ingress", "Gateway", "Policy", "Box", "EventingAuth"].map(plural)).toEqual([
      "jwkses",
      "ingresses",
      "gateways",
      "policies",
      "boxes",
      "eventingauths",
    ]);
  });

  test("refuses versions that contradict each other", () => {
    const spec = z.object({});
    const define = (versions: readonly { name: string; storage?: boolean; spec: typeof spec }[]) => () =>
      defineCustomKind({ group: "g", kind: "Thing", scope: "Cluster", versions });
    expect(define([])).toThrow("exactly one version must have storage: true");
    expect(
      define([
        { name: "v1", spec },
        { name: "v2", spec },
      ]),
    ).toThrow("exactly one version");
    expect(
      define([
        { name: "v1", spec, storage: true },
        { name: "v2", spec, storage: true },
      ]),
    ).toThrow("exactly one version");
    expect(
      define([
        { name: "v1", spec, storage: true },
        { name: "v1", spec },
      ]),
    ).toThrow("named twice");
  });

  test("decodes an object of unknown shape, or says what is wrong with it", () => {
    expect(Widget.decode(Object.assign({ metadata: { namespace: "shop", name: "a" } }, { spec: {} }))).toEqual({
      ok: true,
      object: { metadata: { namespace: "shop", name: "a" }, spec: { size: 3 } },
    });
    expect(Widget.decode(Object.assign({ metadata: { namespace: "shop", name: "a" } }, { spec: { size: "big" }, status: {} }))).toEqual({
      ok: false,
      problems: [
        "shop/a: spec.size: Invalid input: expected number, received string",
        "shop/a: status.ready: Invalid input: expected boolean, received undefined",
      ],
    });
  });
});
