import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { KubeObject } from "../client/object.ts";
import { canonicalJson, covers, isSame, withAppliedDigest } from "./unchanged.ts";

const operator = { name: "demo", domain: "demo.example" };

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
