// Label selectors as the API server understands them.
import { describe, expect, it } from "vitest";
import { parseLabelSelector } from "./label-selector.ts";

const labels = { app: "web", tier: "front", empty: "", "example.com/part": "x" };

describe("parseLabelSelector", () => {
  it.each([
    "",
    "app=web",
    "app==web",
    "app = web , tier=front",
    "app!=db",
    "other!=db",
    "app in (db, web)",
    "app in (web),tier notin (back)",
    "other notin (a)",
    "app",
    "!other",
    "empty=",
    "empty in ()",
    "example.com/part=x",
    "!toString",
  ])("selects %j", (selector) => expect(parseLabelSelector(selector)(labels)).toBe(true));

  it.each(["app=db", "app!=web", "app=web,tier=back", "app in (db,cache)", "other in (a)", "app notin (web,db)", "!app", "other", "other="])(
    "does not select %j",
    (selector) => expect(parseLabelSelector(selector)(labels)).toBe(false),
  );

  it("says what it does not understand", () => expect(() => parseLabelSelector("app > 3")).toThrow(/"app > 3" is not understood/));
});
