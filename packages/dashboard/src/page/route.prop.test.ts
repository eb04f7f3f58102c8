import * as fc from "fast-check";
import { expect, it } from "vitest";
import { formatRoute, home, objectRoute, parseRoute, type Route } from "./route.ts";

const time = fc.option(fc.integer({ min: 0, max: 4e12 }), { nil: undefined });
const listRoute: fc.Arbitrary<Route> = fc.record({
  view: fc.constantFrom("overview", "rotate", "roll-out"),
  object: fc.constant(undefined),
  search: fc.string({ unit: "grapheme" }),
  health: fc.constantFrom("all", "attention"),
  namespace: fc.string({ unit: "grapheme" }),
  sort: fc.string({ unit: "grapheme" }),
  selected: fc.option(fc.string({ unit: "grapheme" }), { nil: undefined }),
  table: fc.boolean(),
  spanMs: time,
  fromMs: time,
});
const part = fc.string({ minLength: 1, unit: "grapheme" }).filter((text) => text !== "-");
const anyRoute = fc.oneof(listRoute, fc.record({ resource: part, namespace: fc.oneof(part, fc.constant("")), name: part }).map(objectRoute));

it("a link brings back exactly what was shown", () => {
  fc.assert(
    fc.property(anyRoute, (route) => {
      expect(parseRoute(formatRoute(route))).toEqual(route);
    }),
  );
});

it("any fragment leads somewhere", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (fragment) => {
      expect(["object", home.view]).toContain(parseRoute(`#/object/${fragment}`).view);
    }),
  );
  expect(parseRoute("")).toEqual(home);
  expect(parseRoute("#/nowhere?x=%%%")).toEqual({ ...home, view: "nowhere" });
  expect(parseRoute("#/rotate?span=-5&from=soon")).toEqual({ ...home, view: "rotate" });
});
