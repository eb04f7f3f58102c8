// Label selectors as the API server understands them.
import { describe, expect, it } from "vitest";
import { parseLabelSelector, selectsLabels } from "./label-selector.ts";

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

  it.each(["app > 3", "=web", "app=a b", "app in (a", "a@b"])("says that it does not understand %j", (selector) =>
    expect(() => parseLabelSelector(selector)).toThrow(`${JSON.stringify(selector)} is not understood`),
  );
});

describe("selectsLabels", () => {
  it.each([
    [undefined, true],
    [{}, true],
    [{ matchLabels: { app: "web", tier: "front" } }, true],
    [{ matchLabels: { app: "db" } }, false],
    [{ matchLabels: { toString: "x" } }, false],
    [{ matchExpressions: [{ key: "app", operator: "In", values: ["db", "web"] }] }, true],
    [{ matchExpressions: [{ key: "other", operator: "NotIn", values: ["a"] }] }, true],
    [{ matchExpressions: [{ key: "app", operator: "NotIn", values: ["web"] }] }, false],
    [{ matchExpressions: [{ key: "empty", operator: "Exists" }] }, true],
    [{ matchLabels: { app: "web" }, matchExpressions: [{ key: "app", operator: "DoesNotExist" }] }, false],
  ] as const)("%j: %s", (selector, selected) => expect(selectsLabels(selector, labels)).toBe(selected));
});
